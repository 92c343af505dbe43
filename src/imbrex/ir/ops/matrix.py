"""mfma: one matrix instruction, which the work items of a wave execute together."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import E8M0
from imbrex.ir.attrs import Int, Keyword
from imbrex.ir.element import dtype_of
from imbrex.ir.ops.block import verify_index
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.shape import PRIVATE, element_of, shape_of, shape_text, space_of, times
from imbrex.ir.source import InvalidField, expect
from imbrex.view.mma import Instruction, in_packs, instruction

OPERANDS: Final = ("a", "b", "c", "scale_a", "scale_b")
SCALE_WORDS: Final = (1, 2, 4)
"""Scales that a register may hold."""


@irdl_op_definition
class MfmaOp(MiopenOp):
    """c += a * b by a matrix instruction, for every wave of work items (64, or what the instruction says).

    What each index leaves of a, b and c is the work item's elements of the instruction's operands, in the
    order of their registers: `Instruction.a`, `.b` and `.c` say which elements of the matrices those are.
    scale_a, scale_b: where there are some, 1, 2 or 4 neighbours, of which `scale_place` is the one that each
    work item hands over, as `Instruction.scale_a` and `.scale_b` say.  No barrier.
    """

    name = "miopen.mfma"
    a = operand_def(MemRefType)
    a_index = var_operand_def(IndexType)
    b = operand_def(MemRefType)
    b_index = var_operand_def(IndexType)
    c = operand_def(MemRefType)
    c_index = var_operand_def(IndexType)
    scale_a = opt_operand_def(MemRefType)
    scale_a_index = var_operand_def(IndexType)
    scale_b = opt_operand_def(MemRefType)
    scale_b_index = var_operand_def(IndexType)
    instruction = prop_def(Keyword)
    scale_place = opt_prop_def(Int)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def matrix(self) -> Instruction:
        """The instruction of the table, in packs where a and b are; Diagnostic where there is none of this
        name.
        """
        return in_packs(instruction(self.instruction.data), dtype_of(element_of(self.a)).pack)

    def verify_(self) -> None:
        try:
            found = self.matrix
        except Diagnostic as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise InvalidField(f"{error.message}{hint}", "instruction") from None
        counts = (found.a_elements, found.b_elements, found.c_elements)
        operands = ((self.a, self.a_index), (self.b, self.b_index), (self.c, self.c_index))
        for i, ((value, index), count) in enumerate(zip(operands, counts, strict=True)):
            self._verify_operand(i, value, len(index), count, found.name)
        self._verify_scales(found)

    def _verify_scales(self, found: Instruction) -> None:
        """One of each, where the instruction takes some."""
        scales = ((self.scale_a, self.scale_a_index), (self.scale_b, self.scale_b_index))
        given = [(value, len(index)) for value, index in scales if value is not None]
        place = None if self.scale_place is None else self.scale_place.data
        message = "'scale_place', and scales of a and of b, are given together"
        expect(len(given) == (0 if place is None else 2), message, "scale_place")
        for i, (value, index) in enumerate(given, 3):
            expect(found.scale_a is not None, f"{found.name} takes no scales", "instruction")
            have = str(element_of(value))
            expect(have == E8M0.mlir_name, f"scales are {E8M0.mlir_name}, got {have}", "type", i)
            self._verify_private(i, value, index)
            count = times(shape_of(value)[index:])
            expect(count in SCALE_WORDS, f"a register holds 1, 2 or 4 scales, got {count}", "type", i)
            inside = place is not None and count is not None and 0 <= place < count
            expect(inside, f"there is no place {place} in {count} scales", "scale_place")

    def _verify_private(self, position: int, value: SSAValue, index: int) -> None:
        operand, space = OPERANDS[position], space_of(value)
        message = f"'{operand}' is in private memory (#{PRIVATE}), got #{space}"
        expect(space == PRIVATE, message, "type", position)
        verify_index(value, index, position)

    def _verify_operand(self, position: int, value: SSAValue, index: int, count: int, name: str) -> None:
        operand = OPERANDS[position]
        self._verify_private(position, value, index)
        left = shape_of(value)[index:]
        takes = f"{name} takes {count} elements of '{operand}' a work item"
        message = f"{takes}, the index leaves {shape_text(left) or 1}"
        expect(times(left) == count, message, "type", position)
