"""The table of AMD's and NVIDIA's matrix instructions: shapes, types, layouts, builtins, chips, cycles."""

from imbrex.view.mma.cells import Element, Place, element_at, elements, places, places_of, register_text
from imbrex.view.mma.instruction import BITS, BUILTIN_TYPES, Instruction, Operand
from imbrex.view.mma.table import CHIPS, in_registers, instruction, instructions, nearest, on_chip, taking

__all__ = [
    "BITS",
    "BUILTIN_TYPES",
    "CHIPS",
    "Element",
    "Instruction",
    "Operand",
    "Place",
    "element_at",
    "elements",
    "in_registers",
    "instruction",
    "instructions",
    "nearest",
    "on_chip",
    "places",
    "places_of",
    "register_text",
    "taking",
]
