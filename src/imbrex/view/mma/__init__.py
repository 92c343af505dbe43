"""The table of AMD's and NVIDIA's matrix instructions: shapes, types, layouts, builtins, chips, cycles."""

from imbrex.view.mma.cdna import in_packs
from imbrex.view.mma.cells import (
    Element,
    LaneRegister,
    element_at,
    element_text,
    elements,
    lane_registers,
    lane_registers_of,
    register_text,
)
from imbrex.view.mma.instruction import BITS, BUILTIN_TYPES, OPERANDS, SCALED, Instruction, Operand
from imbrex.view.mma.table import CHIPS, in_registers, instruction, instructions, nearest, on_chip, taking

__all__ = [
    "BITS",
    "BUILTIN_TYPES",
    "CHIPS",
    "OPERANDS",
    "SCALED",
    "Element",
    "Instruction",
    "LaneRegister",
    "Operand",
    "element_at",
    "element_text",
    "elements",
    "in_packs",
    "in_registers",
    "instruction",
    "instructions",
    "lane_registers",
    "lane_registers_of",
    "nearest",
    "on_chip",
    "register_text",
    "taking",
]
