"""Sums of a part of a tile in the workspace: where they lie, and how its owner adds those of the others.

Where every tile has as many parts, and registers hold the sums of several, these are on their way to an owner
together.  They are added in the order of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.ir import SSAValue

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Embed, PassThrough
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, shape_of
from imbrex.view.work.streamk import received_at_a_time

__all__ = ["Slots", "at_a_time", "gather", "moved"]


@dataclass(frozen=True)
class Slots:
    """Where partial sums and flags lie: `sums[position, *index]` is the whole of a work item's."""

    sums: SSAValue
    flags: SSAValue
    index: Sequence[SSAValue]
    vector: int | None = None


def gather(position: SSAValue, others: int, tile: SSAValue, slots: Slots, into: Run) -> None:
    """`tile` += the sums of the other parts of the tile at a position, so many of every tile."""
    element, shape = element_of(tile), [size or 0 for size in shape_of(tile)]
    together = min(others, at_a_time(tile))
    held = [into.alloc("thread_other", element, shape, PRIVATE) for _ in range(together)]
    sums = into.view(slots.sums, [_parts_of_tiles(slots.sums, 1 + others)], "tile_sums")

    def receive(run: Run, first: SSAValue, count: int) -> None:
        for more in range(count):
            number = run.sum(first, more) if more else first
            run.add(moved(sums, [position, number, *slots.index], held[more], [], slots.vector))
        for each in held[:count]:
            run.add(moved(each, [], tile, [], None, beta=1.0))

    rest = others % together
    whole = others - rest
    into.loop("part", 1, 1 + whole, together, partial(receive, count=together))
    receive(into, into.index(1 + whole), rest)


def at_a_time(tile: SSAValue) -> int:
    """Others' sums that registers hold beside those of a tile."""
    return received_at_a_time(prod(size or 0 for size in shape_of(tile)) * element_bytes(element_of(tile)))


def moved(
    source: SSAValue,
    source_index: Sequence[SSAValue],
    dest: SSAValue,
    dest_index: Sequence[SSAValue],
    vector: int | None,
    beta: float | None = None,
) -> ThreadwiseCopyOp:
    """A copy of sums; with beta = 1 they are added to what is there."""
    given = properties({"vector": vector, "beta": beta})
    return ThreadwiseCopyOp.build(operands=[source, source_index, dest, dest_index], properties=given)


def _parts_of_tiles(sums: SSAValue, parts: int) -> Layer:
    """Slots as parts of tiles: those of a tile are neighbours."""
    slots, items, registers = (size or 0 for size in shape_of(sums))
    dims = [Dim("slot", slots), Dim("workitem", items), Dim("register", registers)]
    return layer_over(
        dims,
        (Embed((parts, 1)), "tile part", "slot"),
        (PassThrough(), "workitem", "workitem"),
        (PassThrough(), "register", "register"),
        tile=slots // parts,
        part=parts,
    )
