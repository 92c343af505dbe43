"""Which output tiles a workgroup computes, and over which steps of K: one tile, or the segments of a plan.

Without a schedule a workgroup computes the tile that has its number.  With one it walks through the sections
of the plan, and what it does at a segment depends on whether others work at the same tile:

    for each segment of the section:
        sum over the steps [first, end) of K
        if somebody else owns the tile:   sums -> own slot in the workspace; raise the own flag
        for each workgroup after this one that has a part of the tile, if this one owns it:
            wait for its flag, and lower it; add its sums
        if this one owns the tile:        store, with alpha, beta and all that belongs to a result

Partial sums are added in the order of k, so that a result does not depend on timing.  Each launch leaves the
flags as it found them, all zero.

The order of tiles (`view.work.workgroup`) stands between a tile's position and its number.  A plan counts
positions, so that whoever is waited for has started earlier whatever the order is: it moves tiles, not
workgroups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd, prod
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, SSAValue

from imbrex.chip import VECTOR_BYTES
from imbrex.config.block_plan import WavesBlock
from imbrex.index.map import Dim, layer_over
from imbrex.index.rule import Merge, PassThrough
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.ops.schedule import AwaitOp, BoundOp, GroupOp, SegmentOp, SignalOp, TileOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.passes.partial_sums import Slots, at_a_time, gather, moved
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.gemm.tile import Grid
from imbrex.view.work.pairs import Bound
from imbrex.view.work.segment import Quantity, SegmentWalk
from imbrex.view.work.streamk import ADDED, SPLIT, Plan, Tiles
from imbrex.view.work.workgroup import RasterOrder

StepFrom: TypeAlias = Callable[[SSAValue, Run, int], SSAValue]
"""Emits the number of the step so many behind one."""


@dataclass(frozen=True)
class Part:
    """A workgroup's part of one output tile.  walk: None where it is all steps of K, known beforehand.

    slot: of the workgroup's partial sums.  output: the tile's number; position: of the tile in the plan.
    is_alone: is it the only part that the workgroup computes?
    """

    slot: SSAValue
    output: SSAValue
    steps: int
    position: SSAValue
    walk: SegmentWalk | None = None
    is_alone: bool = True

    @property
    def others(self) -> int:
        """Parts that every owner of a tile adds; 0 where owners differ."""
        return 0 if self.walk is None else self.walk.plan.others

    def number(self, into: Run, quantity: Quantity) -> SSAValue:
        """What the plan says of this part."""
        assert self.walk is not None, "a whole tile needs no numbers"
        return _number(self.walk, into, quantity, self.slot, self.position)

    def bound(
        self, into: Run, bound: Bound, first: SSAValue, count: SSAValue, turn: int | None = None
    ) -> SSAValue:
        """The bound of a loop over so many steps."""
        given = properties({"bound": bound, "k_tiles": self.steps, "turn": turn})
        op = BoundOp.build(operands=[first, count], result_types=[IndexType()], properties=given)
        op.result.name_hint = bound
        return into.add(op).result

    def counted(self, into: Run) -> tuple[SSAValue, SSAValue, StepFrom]:
        """The first step, how many there are, and the one so many behind a step: the last where none is."""
        first, count = self.number(into, "first"), self.number(into, "count")
        last = self.bound(into, "whole", first, count)

        def least(step: SSAValue, into: Run, ahead: int) -> SSAValue:
            return self.bound(into, "lesser", into.sum(step, ahead), last)

        return first, count, least

    def loop(self, into: Run, body: Callable[[Run, SSAValue], None]) -> None:
        """Every step of this part."""
        if self.walk is None:
            into.loop("step", 0, self.steps, 1, body)
        else:
            first, end = self.number(into, "first"), self.number(into, "end")
            into.loop_between("step", first, end, 1, body)

    def when(self, into: Run, number: SSAValue, body: Callable[[Run], None]) -> None:
        """The body where a number that is 0 or 1 is 1."""
        into.loop_between("once", into.index(0), number, 1, lambda run, _: body(run))


@dataclass(frozen=True)
class Scheduled:
    """How the workgroups of a product share its tiles, and in which order they begin them.

    plan: None for one tile a workgroup.  given: where a kernel finds the group of its order.
    """

    grid: Grid
    plan: Plan | None
    order: RasterOrder
    given: SSAValue | None = None

    @staticmethod
    def of(op: GridwiseGemmExOp, grid: Grid, before: Run) -> Scheduled:
        """`before` stands outside of the launch."""
        schedule = op.schedule_
        order = schedule.order or RasterOrder()
        given = _flags(before, 1, "wgm") if order.is_runtime else None
        if not schedule.is_shared:
            return Scheduled(grid, None, order, given)
        if schedule.workgroups is None:
            raise InvalidOp(op, "'workgroups' is needed where workgroups share tiles", "schedule")
        if schedule.mode not in SPLIT:
            raise InvalidOp(op, f"{schedule.mode} is for the pipeline 'warpgroup'", "schedule", "mode")
        is_of_waves = isinstance(op.plan.data, WavesBlock)
        if schedule.mode in ADDED and not (is_of_waves and order.is_plain):
            said = "is for waves that multiply matrices, and begins tiles in the order of their numbers"
            raise InvalidOp(op, f"{schedule.mode} {said}", "schedule", "mode")
        plan = Plan(Tiles(grid.workgroups, 1, grid.k_steps), schedule.workgroups, schedule.mode)
        if plan.mode in ADDED:
            plan = replace(plan, workgroups=plan.pieces * plan.tiles.outputs)
        return Scheduled(grid, plan, order, given)

    @property
    def workgroups(self) -> int:
        """How many are launched."""
        return self.grid.workgroups if self.plan is None else self.plan.workgroups

    @property
    def has_parts(self) -> bool:
        """Are there output tiles of several workgroups?"""
        return self.plan is not None and any(not walk.is_whole for walk in self._walks)

    def each(self, run: Run, wg: SSAValue, body: Callable[[Run, Part], None]) -> None:
        """`body` for every part of the workgroup, in the order of time."""
        if self.plan is None:
            body(run, Part(wg, self._tile(run, wg, self._group(run)), self.grid.k_steps, wg))
            return
        slot, group = _number(self._walks[0], run, "slot", wg, run.index(0)), self._group(run)
        for walk in self._walks:
            if walk.most_segments:
                end = _number(walk, run, "segments", slot, run.index(0))
                run.loop_between(
                    "segment", run.index(0), end, 1, partial(self._part, walk, slot, group, body)
                )

    def workspace(self, before: Run, element: Attribute, sizes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
        """Room for the partial sums of every workgroup, and the flags."""
        assert self.plan is not None
        return self.sums(before, element, sizes), _flags(before, self.plan.workgroups, "flags")

    def arrivals(self, before: Run) -> SSAValue:
        """A number for each output tile: workgroups that are there."""
        assert self.plan is not None
        return _flags(before, self.plan.tiles.outputs, "arrivals")

    def number(self, into: Run, quantity: Quantity, workgroup: SSAValue) -> SSAValue:
        """What the plan says of a workgroup with a piece of K: the slot of hardware's number, else of it."""
        return _number(self._walks[0], into, quantity, workgroup, into.index(0))

    def sums(self, before: Run, element: Attribute, sizes: Sequence[int]) -> SSAValue:
        """Room for the partial sums of every workgroup."""
        op = WorkspaceOp.build(result_types=[memref(element, [self.workgroups, *sizes], 0)])
        op.result.name_hint = "partial_sums"
        return before.add(op).result

    @property
    def _walks(self) -> list[SegmentWalk]:
        assert self.plan is not None
        return [SegmentWalk(self.plan, number) for number in range(len(self.plan.sections))]

    def _part(
        self,
        walk: SegmentWalk,
        slot: SSAValue,
        group: SSAValue | None,
        body: Callable[[Run, Part], None],
        into: Run,
        segment: SSAValue,
    ) -> None:
        position = _number(walk, into, "output", slot, segment)
        output, own = self._tile(into, position, group), None if walk.is_whole else walk
        body(into, Part(slot, output, self.grid.k_steps, position, own, is_alone=False))

    def _group(self, into: Run) -> SSAValue | None:
        """The number that memory gives; None where the order has its own."""
        if self.given is None:
            return None
        order, grid = self.order, self.grid
        most = grid.m_blocks if order.along == "m" else grid.n_blocks
        given = properties({"usual": order.group, "most": most})
        op = GroupOp.build(operands=[self.given], result_types=[IndexType()], properties=given)
        op.result.name_hint = "rows"
        return into.add(op).result

    def _tile(self, into: Run, position: SSAValue, group: SSAValue | None) -> SSAValue:
        """The tile at a position; in the order of their numbers it is the position."""
        if self.order.is_plain:
            return position
        grid, order = self.grid, self.order
        ways = order.xcds if self.plan is None or order.xcds == 1 else self.plan.ways(order.xcds)
        sizes = {"batches": grid.g, "m_tiles": grid.m_blocks, "n_tiles": grid.n_blocks}
        given = properties({**sizes, "group": order.group, "along": order.along, "ways": ways})
        op = TileOp.build(
            operands=[position, [] if group is None else [group]],
            result_types=[IndexType()],
            properties=given,
        )
        op.result.name_hint = "tile"
        return into.add(op).result


def _flags(before: Run, count: int, hint: str) -> SSAValue:
    """Numbers that are zeros where nobody has said otherwise."""
    op = WorkspaceOp.build(result_types=[memref(i32, [count], 0)], properties=properties({"zeroed": True}))
    op.result.name_hint = hint
    return before.add(op).result


def work_item_slots(
    sharing: Scheduled, before: Run, tile: SSAValue, items: int, item: SSAValue
) -> Slots | None:
    """Room for the registers `tile` of every work item; neighbouring ones write neighbouring vectors."""
    if not sharing.has_parts:
        return None
    element = element_of(tile)
    count = prod(size or 0 for size in shape_of(tile))
    vector = gcd(count, VECTOR_BYTES // element_bytes(element))
    sums, flags = sharing.workspace(before, element, [count // vector, items, vector])
    names = ("slot", "group", "workitem", "neighbour")
    dims = [Dim(n, s or 0) for n, s in zip(names, shape_of(sums), strict=True)]
    layer = layer_over(
        dims,
        (PassThrough(), "slot", "slot"),
        (PassThrough(), "workitem", "workitem"),
        (Merge(), "register", "group neighbour"),
        order=["slot", "workitem", "register"],
    )
    return Slots(before.view(sums, [layer], "partial_sums"), flags, [item], vector)


def finished(
    into: Run,
    part: Part,
    tile: SSAValue,
    slots: Slots | None,
    store: Callable[[Run], None],
    at_once: bool = False,
) -> None:
    """What becomes of the sums in `tile`: stored, or sent to the owner of the output tile.

    at_once: the owner waits for all of them before it adds the first, and of tiles in equal numbers of parts
    has several on their way at a time, so that a way to memory and back is not one for each.
    """
    if part.walk is None:
        store(into)
        return
    assert slots is not None, "parts of tiles need a workspace"

    def send(run: Run) -> None:
        run.add(moved(tile, [], slots.sums, [part.slot, *slots.index], slots.vector))
        run.add(SignalOp.build(operands=[slots.flags, [part.slot]]))

    def receive(run: Run, other: SSAValue) -> None:
        if not at_once:
            run.add(AwaitOp.build(operands=[slots.flags, [other], []]))
        run.add(moved(slots.sums, [other, *slots.index], tile, [], slots.vector, beta=1.0))

    part.when(into, part.number(into, "sends"), send)
    first, end = part.number(into, "next"), part.number(into, "last")
    if at_once:
        into.add(AwaitOp.build(operands=[slots.flags, [first], [end]]))
    if at_once and min(part.others, at_a_time(tile)) > 1:
        part.when(into, part.number(into, "owns"), partial(gather, part.position, part.others, tile, slots))
    else:
        into.loop_between("other", first, end, 1, receive)
    part.when(into, part.number(into, "owns"), store)


def _number(
    walk: SegmentWalk, into: Run, quantity: Quantity, workgroup: SSAValue, position: SSAValue
) -> SSAValue:
    plan = walk.plan
    given = properties(
        {
            "quantity": quantity,
            "schedule": plan.mode,
            "workgroups": plan.workgroups,
            "outputs": plan.tiles.outputs,
            "k_tiles": plan.tiles.k,
            "section": walk.number,
        }
    )
    op = SegmentOp.build(operands=[workgroup, position], result_types=[IndexType()], properties=given)
    op.result.name_hint = HINTS.get(quantity, quantity)
    return into.add(op).result


HINTS: dict[Quantity, str] = {
    "output": "output_tile",
    "first": "first_step",
    "end": "end_step",
    "next": "next_slot",
    "last": "end_slot",
}
"""Names of values that say more than the quantity does."""
