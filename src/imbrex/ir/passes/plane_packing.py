"""Plane packing: a part of a launch that copies planes to channels last through shared memory, and the launch
that copies them back.

    registers = array, as it lies       shared = registers             barrier
    registers = shared, turned          packed = registers

    registers = packed                  shared, turned = registers     barrier
    registers = shared                  array, as it lies = registers

All loads of a work item are under way before the first one is waited for.  See `view.copy.plane_tiles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Slice, Unmerge
from imbrex.ir.ops.memory import LdsBarrierOp
from imbrex.ir.passes.packing import Body, copy, launch
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import LDS, PRIVATE, element_of, shape_of
from imbrex.view.copy.plane_tiles import PlaneTiles
from imbrex.view.copy.turned_tile import TurnedTile

__all__ = ["turned", "unpack_planes"]


def turned(tile: TurnedTile, source: SSAValue, dest: SSAValue, hint: str) -> Body:
    """A workgroup's tiles, from one view by (workgroup, workitem, turn, slot) to the other.

    Of the shared memory that it is given it may overwrite all.
    """
    element = element_of(source)

    def body(into: Run, coords: Sequence[SSAValue]) -> None:
        workgroup, item, memory = coords
        (elements,) = shape_of(memory)
        assert elements is not None
        above = _rows(tile.shared, elements)
        put = into.view(memory, (*tile.put.layers, *above), "put")
        taken = into.view(memory, (*tile.taken.layers, *above), "taken")
        held = into.alloc(f"thread_{hint}", element, [tile.read_turns, tile.slots], PRIVATE)
        into.add(copy(source, [workgroup, item], held, []))
        into.add(copy(held, [], put, [item]))
        into.add(LdsBarrierOp.build())
        turned = into.alloc(f"thread_{hint}_turned", element, [tile.written_turns, tile.slots], PRIVATE)
        into.add(copy(taken, [item], turned, []))
        into.add(copy(turned, [], dest, [workgroup, item]))

    return body


def unpack_planes(packed: SSAValue, array: SSAValue, tiles: PlaneTiles, hint: str, run: Run) -> None:
    """A launch that fills the array from the packed one."""
    tile, element = tiles.tile, element_of(array)
    source = run.view(packed, tiles.written.layers, f"packed_{hint}")
    dest = run.view(array, tiles.read.layers, hint)

    def body(into: Run, coords: Sequence[SSAValue]) -> None:
        item, sizes = coords[1], [d.size for d in tile.shared_back]
        memory = into.alloc("shared_planes", element, sizes, LDS)
        given = into.view(memory, tile.given.layers, "given")
        taken = into.view(memory, tile.taken_back.layers, "taken")
        held = into.alloc(f"thread_{hint}_turned", element, [tile.written_turns, tile.slots], PRIVATE)
        into.add(copy(source, coords, held, []))
        into.add(copy(held, [], given, [item]))
        into.add(LdsBarrierOp.build())
        turned = into.alloc(f"thread_{hint}", element, [tile.read_turns, tile.slots], PRIVATE)
        into.add(copy(taken, [item], turned, []))
        into.add(copy(turned, [], dest, coords))

    launch(tiles.workgroups, tile.workitems, body, run)


def _rows(dims: Sequence[Dim], elements: int) -> tuple[Layer, ...]:
    """Rows of shared memory over all that the launch has of it."""
    used = prod(d.size for d in dims)
    whole = (Dim("element", elements),)
    cut = (layer_over(whole, (Slice(0, used), "element", "element")),) if used < elements else ()
    below = cut[0].upper if cut else whole
    names = " ".join(d.name for d in dims)
    return (layer_over(below, (Unmerge(), names, "element"), order=None, **dict(dims)), *cut)
