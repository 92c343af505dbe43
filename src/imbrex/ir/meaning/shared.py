"""Meaning of workgroups that share tiles, run one after the other in hardware's order.

Whoever waits must find its flag raised: with one workgroup at a time nobody else would raise it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from imbrex.index.expr import Lin, var
from imbrex.ir.meaning.memory import View
from imbrex.ir.ops.schedule import SegmentOp
from imbrex.view.segment import BOUNDS, Quantity, Walk

PLACE = "place"


def number(op: SegmentOp, workgroup: int, place: int) -> int:
    """What the plan says."""
    walk = op.walk_
    return int(_index(walk, op.quantity_).eval({"workgroup": workgroup, PLACE: place}))


def lowered(flags: View, index: list[Any]) -> None:
    """The flag was 1 and is 0 now."""
    found = flags.load(index)
    assert (found == 1).all(), f"a workgroup waits for flag {index}, which nobody has raised"
    flags.store(found * 0, index)


@lru_cache(maxsize=256)
def _index(walk: Walk, quantity: Quantity) -> Lin:
    if quantity in BOUNDS:
        steps = walk.plan.tiles.k
        return walk.index(quantity, var("workgroup", steps), var(PLACE, steps + 1))
    places = max(walk.size("output"), walk.size("segments"))
    return walk.index(quantity, var("workgroup", walk.plan.workgroups), var(PLACE, places))
