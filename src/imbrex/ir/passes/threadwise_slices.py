"""Copies between global memory and LDS in slices: each work item's own, or direct.

staged   global -> registers, in vectors along the dimension in which memory runs
         registers -> registers, transposed, where LDS wants its vectors along k and memory ran the other way
         registers -> LDS, in vectors along k
direct   global -> LDS: LDS takes what a wave loads in the order of its lanes, so the lanes follow the buffer
         and the global index is what the inverse of the buffer's layout says
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.ir import Attribute, SSAValue

from imbrex.index.map import Dim, Layer, Map, layer_over, unchanged
from imbrex.index.rule import Embed, PassThrough
from imbrex.ir.chain import map_of, names_of
from imbrex.ir.element import loaded
from imbrex.ir.ops.block import BlockwiseCopyOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.passes import tiling
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, shape_of, space_of
from imbrex.ir.source import InvalidOp
from imbrex.view.gemm import tile
from imbrex.view.gemm.tile import CopySplit
from imbrex.view.stage import lds

Viewed = Callable[[SSAValue, Sequence[Layer], str], SSAValue]
"""A value through layers, made once for each name."""


def staged(
    op: BlockwiseCopyOp, index: Sequence[SSAValue], item: SSAValue, items: int, viewed: Viewed, run: Run
) -> None:
    """The work items' parts of a copy to registers, from registers, or through registers."""
    is_held, is_kept = (space_of(v) == PRIVATE for v in (op.source, op.dest))
    tiled, lead = (op.dest, len(op.dest_index)) if is_held else (op.source, len(index))
    k, d = (size or 0 for size in shape_of(tiled)[lead:])
    split = tiling.slices(op, op.properties, (k, d), items)
    held = op.source if is_held else op.dest
    if not is_held:
        if not is_kept:
            held = run.alloc("thread_staged", loaded(element_of(op.dest)), split.shape(k, d), PRIVATE)
        source = viewed(op.source, *_layers(op.source, split, split.vector_dim))
        read = properties({"vector": op.source_data_per_read})
        run.add(_copy(source, [*index, item], held, [], read))
    if not is_kept:
        dest = viewed(op.dest, *_layers(op.dest, split, 0))
        write = properties({"vector": op.dest_data_per_write, "store_method": op.store_method})
        run.add(_copy(_turned(held, split, run), [], dest, [*op.dest_index, item], write))


def direct(op: BlockwiseCopyOp, index: Sequence[SSAValue], item: SSAValue, items: int, run: Run) -> None:
    """Each wave's lanes load what belongs at neighbouring positions of LDS."""
    vector = op.source_data_per_read.data if op.source_data_per_read is not None else 1
    buffer, stored = map_of(op.dest)
    if stored is None or op.dest_index:
        raise InvalidOp(op, "a direct copy fills the whole of a buffer that is seen as (k, m) or (k, n)")
    size = prod(d.size for d in stored.lower)
    if size % (items * vector):
        message = f"{items} work items with vectors of {vector} do not fill {size} elements of LDS"
        raise InvalidOp(op, message, "source_data_per_read")
    positions = Map(lds.linear(stored.lower, items, vector))
    if op.piece is not None:
        positions = Map((*_piece(positions.upper, *op.piece.data), *positions.layers))
    try:
        wanted = positions.then(stored.inverse())
    except ValueError as error:
        raise InvalidOp(op, f"the layout in LDS cannot be inverted: {error}", "direct") from None
    lead = [Dim(n, s or 0) for n, s in zip(names_of(op.source), shape_of(op.source), strict=True)][
        : len(index)
    ]
    source = run.view(op.source, wanted.with_leading(lead).layers, "direct")
    dest = run.view(buffer, positions.layers, "direct")
    given = properties({"vector": vector, "direct": True})
    run.add(_copy(source, [*index, item], dest, [item], given))


def _piece(dims: Sequence[Dim], number: int, pieces: int) -> tuple[Layer, ...]:
    """Repeats of one of so many pieces, as equal as they are."""
    item, repeat, element = dims
    first, end = (repeat.size * n // pieces for n in (number, number + 1))
    kept = unchanged([item.name, element.name])
    entry = (Embed((1,), first), repeat.name, repeat.name)
    return (layer_over(dims, *kept, entry, order=[d.name for d in dims], repeat=end - first),)


def _layers(value: SSAValue, split: CopySplit, vector_dim: int) -> tuple[tuple[Layer, ...], str]:
    """A tile (.., k, m or n) as slices, and a name for the view."""
    side = names_of(value)[-1]
    names = (*names_of(value)[:-2], "k", side)
    dims = [Dim(n, s) for n, s in zip(names, shape_of(value), strict=True) if s is not None]
    return tile.copy_slices(dims, side, split, vector_dim), f"slices_{side}"


def _turned(held: SSAValue, split: CopySplit, run: Run) -> SSAValue:
    """Registers with neighbours in k last; those that are so already stay as they are."""
    if split.vector_dim == 0:
        return held
    names = ("k_repeat", "repeat", "k_item", "item")
    dims = [Dim(n, s) for n, s in zip(names, shape_of(held), strict=True) if s is not None]
    order = ["k_repeat", "repeat", "item", "k_item"]
    layer = layer_over(dims, *((PassThrough(), n, n) for n in names), order=order)
    seen = run.view(held, [layer], "turned")
    made = run.alloc("thread_turned", element_of(held), [d.size for d in layer.upper], PRIVATE)
    run.add(_copy(seen, [], made, [], {}))
    return made


def _copy(
    source: SSAValue,
    source_index: Sequence[SSAValue],
    dest: SSAValue,
    dest_index: Sequence[SSAValue],
    given: Mapping[str, Attribute],
) -> ThreadwiseCopyOp:
    return ThreadwiseCopyOp.build(operands=[source, source_index, dest, dest_index], properties=dict(given))
