"""mfma: one matrix instruction, which the work items of a wave execute together."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
)

from imbrex.diagnostic import Diagnostic
from imbrex.ir.attrs import Keyword
from imbrex.ir.ops.block import verify_index
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.shape import PRIVATE, shape_of, shape_text, space_of, times
from imbrex.ir.source import InvalidField, expect
from imbrex.view.mma import Instruction, instruction


@irdl_op_definition
class MfmaOp(MiopenOp):
    """c += a * b by a matrix instruction, for every wave of work items (64, or what the instruction says).

    What each index leaves of a, b and c is the work item's elements of the instruction's operands, in the
    order of their registers: `Instruction.a`, `.b` and `.c` say which elements of the matrices those are.  No
    barrier.
    """

    name = "miopen.mfma"
    a = operand_def(MemRefType)
    a_index = var_operand_def(IndexType)
    b = operand_def(MemRefType)
    b_index = var_operand_def(IndexType)
    c = operand_def(MemRefType)
    c_index = var_operand_def(IndexType)
    instruction = prop_def(Keyword)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def matrix(self) -> Instruction:
        """The instruction of the table; Diagnostic where there is none of this name."""
        return instruction(self.instruction.data)

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

    def _verify_operand(self, place: int, value: SSAValue, index: int, count: int, name: str) -> None:
        operand, space = "abc"[place], space_of(value)
        message = f"'{operand}' is in private memory (#{PRIVATE}), got #{space}"
        expect(space == PRIVATE, message, "type", place)
        verify_index(value, index, place)
        left = shape_of(value)[index:]
        takes = f"{name} takes {count} elements of '{operand}' a work item"
        message = f"{takes}, the index leaves {shape_text(left) or 1}"
        expect(times(left) == count, message, "type", place)
