"""An operand of windows by tiles of pixels: what counts along a tile's rows, its taps and their channels.

d = pixel of the tile      digits of it move along axes of the array, each as `Moves` says
k = tap, channel           a tap moves along the same axes; channels are neighbours in memory
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_tile import Swizzle, longest_row
from imbrex.view.tensor.form import Box, ElementType, Piece, Refused
from imbrex.view.tensor.space import Axis, Space, joined_with, spaces

__all__ = [
    "Bools",
    "Ints",
    "Movement",
    "Moves",
    "Product",
    "counting",
    "movements",
    "offset_of",
    "progressions",
    "sampled",
    "wanted",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
BATCH: Final = "gemmG"


@dataclass(frozen=True)
class Product:
    """operand: (gemmG?, k, d) -> array.  stored: (gemmG?, d, columns) -> C.  rows: of d in a tile, which has
    all of k.  instruction: rows that one instruction reads.
    """

    operand: Map
    stored: Map
    rows: int
    k_name: str = "gemmK"
    d_name: str = "gemmM"
    instruction: int = ROWS

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.operand.upper)

    @property
    def batches(self) -> int:
        return self.sizes.get(BATCH, 1)

    @property
    def tiles(self) -> int:
        return -(-self.sizes[self.d_name] // self.rows)

    @property
    def grown(self) -> dict[str, int]:
        return self.sizes | {self.d_name: self.tiles * self.rows}


@dataclass(frozen=True)
class Channels:
    """What lies inside of the pixels, as one axis, and all other axes, innermost first.

    count: channels of one tap.  row: bytes of a row of shared memory, which whole ones fill.
    """

    axis: Axis
    outer: Sequence[Axis]
    count: int
    row: Swizzle

    def first(self, product: Product) -> Lin:
        """The coordinate of a batch's first channel."""
        batch = var("batch", product.batches)
        return self.axis.coordinate.subs({BATCH: batch, product.k_name: lin(0)})


@dataclass(frozen=True)
class Moves:
    """An axis along the tile's rows, as a digit of their number, and from tap to tap.

    first: the coordinate at a tile's first row and first tap.
    """

    axis: Axis
    first: Lin
    every: int
    count: int
    taps: Ints

    @property
    def span(self) -> int:
        return int(self.taps.max() - self.taps.min())

    @property
    def lowest(self) -> Lin:
        """The coordinate at a tile's first row, and at the tap that is furthest back."""
        return self.first + int(self.taps.min())


@dataclass(frozen=True)
class Movement:
    """An operand's channels, how all other axes of its array move, innermost first, and its first element."""

    channels: Channels
    moves: Sequence[Moves]
    base: int

    def box(self, product: Product, tile: HaloTile, extents: Sequence[tuple[Axis, Lin, int]]) -> Box:
        """The box of a tile.  extents: of the axes beside channels, each with its first coordinate and its
        places.
        """
        inner, (axes, firsts, counts) = self.channels.first(product), zip(*extents, strict=True)
        return Box(
            sizes=(self.channels.axis.size, *(axis.size for axis in axes)),
            strides=tuple(axis.stride for axis in axes),
            base=self.base,
            box=(tile.row, *counts),
            swizzle=self.channels.row,
            pieces=tuple(Piece(b.byte_offset, (inner + b.k0, *firsts)) for b in tile.blocks),
            steps=(1,) * (1 + len(axes)),
        )


def movements(product: Product, dtype: ElementType) -> Iterator[Movement | Refused]:
    """How an operand may be seen by tiles of pixels; reasons why it is not."""
    grown = product.grown
    for space in spaces(product.operand, [var(name, grown[name]) for name in product.sizes]):
        yield space if isinstance(space, Refused) else _movement(space, product, dtype)


def _movement(space: Space, product: Product, dtype: ElementType) -> Movement | Refused:
    channels = _channels(space, product, dtype)
    if isinstance(channels, Refused):
        return channels
    moves = [_moves(axis, product, channels.count) for axis in channels.outer]
    if None in moves:
        return Refused(
            f"{product.rows} rows of the tile do not count through pixels, or not alike at every tap"
        )
    return Movement(channels, [m for m in moves if m], space.base)


def counting(moves: Sequence[Moves], rows: int) -> list[Moves]:
    """Moves along the rows of a tile, fastest first; none where they do not count through all rows."""
    moving = sorted((m for m in moves if m.every), key=lambda m: m.every)
    reached = [prod(m.count for m in moving[:i]) for i in range(len(moving) + 1)]
    return moving if [*(m.every for m in moving), rows] == reached else []


def _channels(space: Space, product: Product, dtype: ElementType) -> Channels | Refused:
    """The channels of a tap; a reason where they do not lie together, 32 bytes of them or more."""
    axis, outer = _apart(space, product)
    count = _count(axis, product)
    row = longest_row(count * dtype.bytes)
    if axis.stride != 1 or not count or not row:
        return Refused(f"what lies together along {product.k_name} is not channels, 32 bytes of them or more")
    return Channels(axis, outer, count, row)


def _apart(space: Space, product: Product) -> tuple[Axis, list[Axis]]:
    channels, *outer = reversed(space.axes)
    while outer and not outer[0].coordinate.mentions(product.d_name):
        joined = joined_with(outer[0], channels)
        if joined is None:
            break
        channels, outer = joined, outer[1:]
    return channels, outer


def _count(channels: Axis, product: Product) -> int:
    """How many neighbours along k are channels of one tap; 0 where that is not what k counts."""
    if channels.coordinate.mentions(product.d_name):
        return 0
    along = _along(channels.coordinate, product, k=np.arange(product.sizes[product.k_name]))
    again = np.flatnonzero(along == 0)
    count = int(again[1]) if again.size > 1 else along.size
    return count if np.array_equal(along, np.arange(along.size) % count) else 0


def _along(index: Lin, product: Product, k: Any = 0, d: Any = 0) -> Ints:
    """How far an index moves from a tile's first row, in the first tile of the first batch."""
    values = {BATCH: 0, product.k_name: k, product.d_name: d}
    zero = {BATCH: 0, product.k_name: 0, product.d_name: 0}
    size = np.broadcast_shapes(np.shape(k), np.shape(d))
    return np.broadcast_to(np.asarray(index.eval(values) - index.eval(zero), np.int64), size)


def _moves(axis: Axis, product: Product, channels: int) -> Moves | None:
    """None where the axis is no digit of the rows, or moves along k with more than the tap."""
    d, k = np.arange(product.rows), np.arange(product.sizes[product.k_name])
    rows, taps = _along(axis.coordinate, product, d=d), _along(axis.coordinate, product, k=k)
    every, count = (int(np.flatnonzero(rows)[0]), int(rows.max()) + 1) if rows.any() else (0, 1)
    counted = d // every % count if every else np.zeros_like(d)
    if not np.array_equal(rows, counted) or not np.array_equal(taps, taps[k // channels * channels]):
        return None
    batch, tile = var("batch", product.batches), var("tile", product.tiles)
    first = axis.coordinate.subs({BATCH: batch, product.k_name: lin(0), product.d_name: tile * product.rows})
    return Moves(axis, first, every, count, taps[::channels])


def progressions(values: Ints) -> tuple[tuple[int, int], ...] | None:
    """Values from 0 on as sums of evenly spaced digits, slowest first; None where they are not."""
    if values.size == 1:
        return ()
    step = int(values[1])
    even = values == np.arange(values.size) * step
    count = int(np.flatnonzero(~even)[0]) if not even.all() else values.size
    if values.size % count:
        return None
    table = values.reshape(-1, count)
    if not np.array_equal(table - table[:, :1], np.broadcast_to(table[0], table.shape)):
        return None
    outer = progressions(table[:, 0])
    return None if outer is None else (*outer, (count, step))


def sampled(counts: Sequence[int], more: int) -> Ints:
    """Numbers below each of the counts, in the same order, along the first of three dims: the ends in every
    combination, and `more` random ones.
    """
    random = np.random.default_rng(0)
    found = set(itertools.product(*({0, n - 1} for n in counts)))
    found |= {tuple(int(random.integers(n)) for n in counts) for _ in range(more)}
    return np.array(sorted(found)).T[:, :, None, None]


def wanted(product: Product, batch: Ints, k: Ints, row: Ints) -> tuple[Ints, Bools]:
    """The offset of the operand's element, -1 where there is none; does it go into a sum that is stored?"""
    d = product.d_name
    at: dict[str, Any] = {BATCH: batch, product.k_name: k, d: np.minimum(row, product.sizes[d] - 1)}
    want = offset_of(product.operand, [at[name] for name in product.sizes])
    last = len(product.stored.upper) - 1
    kept = [0 if i == last else at.get(n, 0) for i, (n, _) in enumerate(product.stored.upper)]
    return want, (row < product.sizes[d]) & (offset_of(product.stored, kept) >= 0)


def offset_of(map: Map, coords: Sequence[Any]) -> Ints:
    """The element's number in the array, -1 where a guard of the map says that there is none."""
    found, exists = map.evaluate(coords)
    offset: Any = 0
    for x, dim in zip(found, map.lower, strict=True):
        offset = offset * dim.size + x
    return np.where(exists, offset, -1)
