"""Strided: an array with gaps as a view of the memory between its first element and its last.

    rows of 100, 128 apart                    places in memory, place = 128 row + column
    4 matrices, their rows in turn, no gap    [rows, 4, columns], its dims in another order
    one matrix for all of a batch             no dim for the batch

Law: the element at some coordinates lies at the sum of coordinate * stride, and below the view there is no
element that the view cannot reach behind all of its own: who counts the elements of the array counts what
memory there is.  Gaps are no coordinates of the view, so that nothing reads or writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from imbrex.index.map import Dim, Layer, Map, layer_over
from imbrex.index.rule import Broadcast, Embed, PassThrough

__all__ = ["is_dense", "strided"]


def is_dense(dims: Sequence[Dim], strides: Sequence[int]) -> bool:
    """Are these the strides of a row-major array without gaps?"""
    own = [prod(d.size for d in dims[i + 1 :]) for i in range(len(dims))]
    return all(d.size == 1 or x == y for d, x, y in zip(dims, strides, own, strict=True))


def strided(dims: Sequence[Dim], strides: Sequence[int]) -> Map:
    """Map from coordinates of these dims to an array without gaps that holds them."""
    apart = [(d, s) for d, s in zip(dims, strides, strict=True) if s > 0]
    below = _whole(sorted(apart, key=lambda of: -of[1])) or _flat(apart)
    if len(apart) == len(dims):
        return Map((_in_order(below, dims),))
    kept = [d for d, _ in apart]
    below = _in_order(below, kept)
    shared = [(Broadcast(), d.name, "") for d in dims if d not in kept]
    entries = [(PassThrough(), d.name, d.name) for d in kept]
    top = layer_over(kept, *shared, *entries, order=[d.name for d in dims], **dict(dims))
    is_whole = below.lower == tuple(kept)
    return Map((top,) if is_whole else (top, below))


def _whole(ordered: Sequence[tuple[Dim, int]]) -> Layer | None:
    """The dims in another order, where that leaves no gap between them."""
    dims, strides = [d for d, _ in ordered], [s for _, s in ordered]
    if not is_dense(dims, strides):
        return None
    return layer_over(dims, *((PassThrough(), d.name, d.name) for d in dims))


def _flat(apart: Sequence[tuple[Dim, int]]) -> Layer:
    """Places in memory, counted from the first element."""
    reach = 1 + sum((d.size - 1) * s for d, s in apart)
    entry = (Embed(tuple(s for _, s in apart)), " ".join(d.name for d, _ in apart), "place")
    dims = [d for d, _ in apart]
    return layer_over([Dim("place", reach)], entry, order=[d.name for d in dims], **dict(dims))


def _in_order(layer: Layer, dims: Sequence[Dim]) -> Layer:
    """The layer with its upper dims in this order."""
    return Layer(tuple(dims), layer.lower, layer.steps)
