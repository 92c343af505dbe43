"""Workgroups that share output tiles: what each of them does, and the flags by which they tell each other."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def

from imbrex.ir.attrs import Int, Word
from imbrex.ir.ops.block import verify_index
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.grid import expect_word
from imbrex.ir.shape import space_of
from imbrex.ir.source import expect
from imbrex.view.segment import QUANTITIES, Quantity, Walk
from imbrex.view.streamk import MODES, Mode, Plan, Tiles


@irdl_op_definition
class SegmentOp(MiopenOp):
    """A number that the plan gives a workgroup; `imbrex.view.segment` has the quantities and the plans.

    workgroup: hardware's number for the quantity `slot`, and what this gave for the others.  place: the
    number of the segment for the quantity `output`, and what this gave for those that depend on it.  The
    bounds of loops take first and count instead.
    """

    name = "miopen.segment"
    workgroup = operand_def(IndexType)
    place = operand_def(IndexType)
    quantity = prop_def(Word)
    schedule = prop_def(Word)
    workgroups = prop_def(Int)
    outputs = prop_def(Int)
    k_tiles = prop_def(Int)
    section = prop_def(Int)
    result = result_def(IndexType)

    @property
    def walk_(self) -> Walk:
        """The way through the section that the numbers mean."""
        mode: Mode = next(m for m in MODES if m == self.schedule.data)
        plan = Plan(Tiles(self.outputs.data, 1, self.k_tiles.data), self.workgroups.data, mode)
        return Walk(plan, self.section.data)

    @property
    def quantity_(self) -> Quantity:
        return next(q for q in QUANTITIES if q == self.quantity.data)

    def verify_(self) -> None:
        expect_word(self.quantity, QUANTITIES, "quantity")
        expect_word(self.schedule, MODES, "schedule")
        for key in ("workgroups", "outputs", "k_tiles"):
            value = self.properties[key]
            assert isinstance(value, Int)
            expect(value.data > 0, f"'{key}' is positive, got {value.data}", key)
        count = len(self.walk_.plan.sections)
        expect(0 <= self.section.data < count, f"the plan has {count} sections", "section")


@irdl_op_definition
class SignalOp(MiopenOp):
    """The flag at an index becomes 1; whoever sees that sees all that the workgroup wrote before."""

    name = "miopen.signal"
    flags = operand_def(MemRefType)
    flags_index = var_operand_def(IndexType)

    def verify_(self) -> None:
        _verify_flag(self)


@irdl_op_definition
class AwaitOp(MiopenOp):
    """All work items wait until the flag at an index is 1, and see what was written before; it becomes 0."""

    name = "miopen.await"
    flags = operand_def(MemRefType)
    flags_index = var_operand_def(IndexType)

    def verify_(self) -> None:
        _verify_flag(self)


def _verify_flag(op: SignalOp | AwaitOp) -> None:
    expect(space_of(op.flags) == 0, "flags are in global memory", "type", 0)
    verify_index(op.flags, len(op.flags_index), 0)
