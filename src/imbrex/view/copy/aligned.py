"""Aligned: an operand of a product, copied so that a tensor map can show it.

    array    [..., along], or [..., k, ..., d]      where the matrix unit wants k together
    packed   [..., along], rounded up to 16 bytes; what is added is zero

`aligned` tells the dims of the copy, None where the array serves as it is: neighbours that lie together, and
all else whole multiples of 16 bytes apart; `items` who moves what.  Where
dims keep their order, a work item moves CHUNKS pieces of 16 bytes of the packed array, in each of which the
lanes of a workgroup lie side by side, so that a wave's accesses are one stretch of memory on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Dim
from imbrex.index.rule import Merge, Unmerge
from imbrex.index.stack import over
from imbrex.view.copy.channels_last import ChannelsLast, is_channels_last
from imbrex.view.copy.data_tiled import CHUNKS, Items, in_chunks
from imbrex.view.mma.hopper import ALONG_ROWS
from imbrex.view.mma.layout import Side

__all__ = ["aligned", "items"]


def aligned(
    array: Sequence[Dim], element_bytes: int, strides: Sequence[int] | None = None, which: Side = "b"
) -> ChannelsLast | None:
    """How an operand is copied, one of whose dims is named "k"; None where it serves as it is.

    strides: where it has gaps.  which: what the matrix unit takes it as; A may come from registers.
    """
    dims = tuple(array)
    wants_k = element_bytes not in ALONG_ROWS[which] or is_channels_last(dims, "k")
    found = ChannelsLast(dims, "k" if wants_k else dims[-1].name, max(1, VECTOR_BYTES // element_bytes))
    if strides is None:
        is_apart = found.packed[-1].size == dict(dims)[found.channel]
    else:
        far = (s for d, s in zip(dims[:-1], strides, strict=False) if d.size > 1)
        is_apart = all(s * element_bytes % VECTOR_BYTES == 0 for s in far)
    return None if is_apart and is_channels_last(dims, found.channel) else found


def items(of: ChannelsLast, element_bytes: int, workitems: int = 256) -> Items:
    """Who moves what."""
    if not is_channels_last(of.array, of.channel):
        return of.items(element_bytes, workitems)
    slots = max(1, VECTOR_BYTES // element_bytes)
    count = prod(d.size for d in of.packed) // slots
    *others, along = of.packed
    sizes = {"chunk": along.size // slots, "slot": slots}
    split = over(of.packed).replacing((Unmerge(), " ".join(sizes), along.name), order=None, **sizes)
    numbered = split.passing((Merge(), "item", " ".join((*(d.name for d in others), "chunk"))))
    return in_chunks(numbered, workitems, min(CHUNKS, -(-count // workitems)))
