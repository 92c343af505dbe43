"""Meaning of workgroups that share tiles, run one after the other in hardware's order.

Whoever waits must find its flag raised: with one workgroup at a time nobody else would raise it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from imbrex.index.expr import Lin, var
from imbrex.ir.meaning.fault import Fault
from imbrex.ir.meaning.memory import View
from imbrex.ir.ops.schedule import BoundOp, GroupOp, SegmentOp, TileOp
from imbrex.view.work import pairs
from imbrex.view.work.segment import Quantity, SegmentWalk

POSITION = "position"


def number(op: SegmentOp, workgroup: int, position: int) -> int:
    """What the plan says."""
    walk = op.walk_
    return int(_index(walk, op.quantity_).eval({"workgroup": workgroup, POSITION: position}))


def group(op: GroupOp, given: View) -> int:
    """The number of tiles in a group."""
    found = int(given.load([0]))
    return min(found if found > 0 else op.usual.data, op.most.data)


def tile(op: TileOp, position: int, rows: int | None = None) -> int:
    """The output tile at a position."""
    ((found,), _) = op.map_(rows).evaluate([position])
    return int(found)


def bound(op: BoundOp, first: int, count: int) -> int:
    """The bound of a loop."""
    found = pairs.bound(op.bound_, var("first", first + 1), var("count", count + 1), op.turn_)
    return int(found.eval({"first": first, "count": count}))


def lowered(flags: View, index: list[Any]) -> None:
    """The flag was 1 and is 0 now."""
    found = flags.load(index)
    if not (found == 1).all():
        raise Fault(f"a workgroup waits for flag {[int(i) for i in index]}, which nobody has raised")
    flags.store(found * 0, index)


def all_lowered(flags: View, first: int, end: int | None = None) -> None:
    """The same of all flags from the first up to `end`, or of the first alone."""
    for index in (first,) if end is None else range(first, end):
        lowered(flags, [index])


@lru_cache(maxsize=256)
def _index(walk: SegmentWalk, quantity: Quantity) -> Lin:
    positions = max(walk.size("output"), walk.size("segments"))
    return walk.index(quantity, var("workgroup", walk.plan.workgroups), var(POSITION, positions))
