"""Workgroups that share output tiles: what each of them does, and the flags by which they tell each other."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType, i32
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)

from imbrex.index.expr import Index
from imbrex.index.map import Map
from imbrex.ir.attrs import Int, Keyword
from imbrex.ir.ops.block import verify_index
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.known import expect_known
from imbrex.ir.shape import element_of, shape_of, space_of
from imbrex.ir.source import expect
from imbrex.view.work.pairs import BOUNDS, Bound
from imbrex.view.work.segment import QUANTITIES, Quantity, SegmentWalk
from imbrex.view.work.streamk import SPLIT, Mode, Plan, Tiles
from imbrex.view.work.workgroup import ALONG, Along, begun, numbered


@irdl_op_definition
class SegmentOp(MiopenOp):
    """A number that the plan gives a workgroup; `view.work.segment` has the quantities and the plans.

    workgroup: hardware's number for the quantity `slot`, and what this gave for the others.  position: the
    number of the segment for the quantity `output`, and what this gave for those that depend on it.
    """

    name = "miopen.segment"
    workgroup = operand_def(IndexType)
    position = operand_def(IndexType)
    quantity = prop_def(Keyword)
    schedule = prop_def(Keyword)
    workgroups = prop_def(Int)
    outputs = prop_def(Int)
    k_tiles = prop_def(Int)
    section = prop_def(Int)
    result = result_def(IndexType)

    @property
    def walk_(self) -> SegmentWalk:
        """The way through the section that the numbers mean."""
        mode: Mode = next(m for m in SPLIT if m == self.schedule.data)
        plan = Plan(Tiles(self.outputs.data, 1, self.k_tiles.data), self.workgroups.data, mode)
        return SegmentWalk(plan, self.section.data)

    @property
    def quantity_(self) -> Quantity:
        return next(q for q in QUANTITIES if q == self.quantity.data)

    def verify_(self) -> None:
        expect_known(self.quantity, QUANTITIES, "quantity")
        expect_known(self.schedule, SPLIT, "schedule")
        for key in ("workgroups", "outputs", "k_tiles"):
            value = self.properties[key]
            assert isinstance(value, Int)
            expect(value.data > 0, f"'{key}' is positive, got {value.data}", key)
        count = len(self.walk_.plan.sections)
        expect(0 <= self.section.data < count, f"the plan has {count} sections", "section")


@irdl_op_definition
class BoundOp(MiopenOp):
    """The bound of a loop over k tiles, from the first one and how many there are: `view.work.pairs`.

    turn: of tiles that the loop takes together, usually two.
    """

    name = "miopen.bound"
    first = operand_def(IndexType)
    count = operand_def(IndexType)
    bound = prop_def(Keyword)
    k_tiles = prop_def(Int)
    turn = opt_prop_def(Int)
    result = result_def(IndexType)

    @property
    def turn_(self) -> int:
        return 2 if self.turn is None else self.turn.data

    @property
    def bound_(self) -> Bound:
        return next(b for b in BOUNDS if b == self.bound.data)

    def verify_(self) -> None:
        expect_known(self.bound, BOUNDS, "bound")
        expect(self.k_tiles.data > 0, f"'k_tiles' is positive, got {self.k_tiles.data}", "k_tiles")


@irdl_op_definition
class GroupOp(MiopenOp):
    """The number of tiles in a group of an order, from an i32 in global memory: `usual` where that is not
    positive, and `most` where it would be more.
    """

    name = "miopen.group"
    given = operand_def(MemRefType)
    usual = prop_def(Int)
    most = prop_def(Int)
    result = result_def(IndexType)

    def verify_(self) -> None:
        is_number = shape_of(self.given) == (1,) and element_of(self.given) == i32
        expect(is_number and space_of(self.given) == 0, "a group is one i32 in global memory", "type", 0)
        for key, value in (("usual", self.usual), ("most", self.most)):
            expect(value.data > 0, f"'{key}' is positive, got {value.data}", key)


@irdl_op_definition
class TileOp(MiopenOp):
    """The number of the output tile at a position in the order of tiles, see `view.work.workgroup`.

    rows: instead of `group`, what `miopen.group` gave.
    """

    name = "miopen.tile"
    position = operand_def(IndexType)
    rows = opt_operand_def(IndexType)
    batches = prop_def(Int)
    m_tiles = prop_def(Int)
    n_tiles = prop_def(Int)
    group = prop_def(Int)
    along = prop_def(Keyword)
    ways = prop_def(Int)
    result = result_def(IndexType)

    def map_(self, group: Index | None = None) -> Map:
        """The map for the group that is given, or for its own."""
        along: Along = next(x for x in ALONG if x == self.along.data)
        sizes = self.batches.data, self.m_tiles.data, self.n_tiles.data
        return numbered(begun(*sizes, self.group.data if group is None else group, along, self.ways.data))

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return self.batches.data * self.m_tiles.data * self.n_tiles.data

    def verify_(self) -> None:
        expect_known(self.along, ALONG, "along")
        for key, value in self.properties.items():
            if isinstance(value, Int):
                expect(value.data > 0, f"'{key}' is positive, got {value.data}", key)


@irdl_op_definition
class WithinOp(MiopenOp):
    """1 where a number is one of `count` from `first` on, else 0: a loop from 0 below that is a condition."""

    name = "miopen.within"
    number = operand_def(IndexType)
    first = prop_def(Int)
    count = prop_def(Int)
    result = result_def(IndexType)

    def verify_(self) -> None:
        expect(self.first.data >= 0, f"'first' is no negative number, got {self.first.data}", "first")
        expect(self.count.data > 0, f"'count' is positive, got {self.count.data}", "count")


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
    """All work items wait until the flag at an index is 1, and see what was written before; it becomes 0.

    end: where it is given, all flags from that index up to this one are waited for: of a list of flags.
    """

    name = "miopen.await"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    flags = operand_def(MemRefType)
    flags_index = var_operand_def(IndexType)
    end = opt_operand_def(IndexType)

    def verify_(self) -> None:
        _verify_flag(self)
        if self.end is not None:
            expect(len(self.flags_index) == 1, "'end' is of a list of flags", "type", 0)


@irdl_op_definition
class JoinOp(MiopenOp):
    """Goes on where `count` workgroups of the launch before have ended, neighbours.  A GPU runs both launches
    as one, in which these meet: the number of arrivals is at an index, and zero before and after.
    """

    name = "miopen.join"
    flags = operand_def(MemRefType)
    flags_index = var_operand_def(IndexType)
    count = prop_def(Int)

    def verify_(self) -> None:
        _verify_flag(self)
        expect(self.count.data > 1, f"'count' is more than one workgroup, got {self.count.data}", "count")


def _verify_flag(op: SignalOp | AwaitOp | JoinOp) -> None:
    expect(space_of(op.flags) == 0, "flags are in global memory", "type", 0)
    verify_index(op.flags, len(op.flags_index), 0)
