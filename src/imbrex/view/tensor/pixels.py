"""An operand of windows by tiles of pixels: the box of a tile's pixels at one tap, and how taps move it.

d = pixel of the tile      digits of it count along axes of the array, fastest first, as rows of a box do
k = tap, channel           a tap moves along the same axes; channels are neighbours in memory
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_tile import longest_row
from imbrex.view.tensor.box import boxed
from imbrex.view.tensor.check import Ints, offset_of
from imbrex.view.tensor.form import Box, ElementType, Piece, Refused
from imbrex.view.tensor.space import Space, joined_with, spaces
from imbrex.view.tensor.tiling import BATCH, INNER, ROW, Run

__all__ = ["Movement", "Moves", "Product", "movements", "progressions", "wanted"]

TAP: Final = "tap of the window"


@dataclass(frozen=True)
class Product:
    """operand: (gemmG?, k, d) -> array.  stored: (gemmG?, d, columns) -> C.  rows: of d in a tile, which has
    all of k; channels: of a tap.  instruction: rows that one instruction reads.
    """

    operand: Map
    stored: Map
    rows: int
    channels: int
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
    def taps(self) -> int:
        return self.sizes[self.k_name] // self.channels

    @property
    def run(self) -> Run:
        """The pixels of a tile at a tap."""
        batch, first = var("batch", self.batches), var("tile", self.tiles) * self.rows
        tap = var(TAP, self.taps) * self.channels
        at = {BATCH: batch, self.k_name: tap + var(INNER, self.channels)}
        corner = {BATCH: batch, self.k_name: tap, self.d_name: first}
        return Run({**at, self.d_name: first + var(ROW, self.rows)}, self.rows, self.channels, corner=corner)


class Moves(NamedTuple):
    """An axis of a box: its extent for a tile's pixels, its first coordinate at the first tap, and how far
    each tap is from there.
    """

    axis: int
    extent: int
    first: Lin
    taps: Ints

    @property
    def span(self) -> int:
        return int(self.taps.max() - self.taps.min())

    @property
    def lowest(self) -> Lin:
        """The first place at the tap that is furthest back."""
        return self.first + int(self.taps.min())


class Movement(NamedTuple):
    """The box of a tile's pixels at any tap, and its axes beside channels: those that count through the
    pixels, fastest first, and the others.
    """

    form: Box
    moving: Sequence[Moves]
    still: Sequence[Moves]

    def box(self, tile: HaloTile, extents: Sequence[tuple[Moves, Lin, int]]) -> Box:
        """The box of a tile at all taps.  extents: of the axes beside channels, each with its first
        coordinate and its extent.
        """
        (inner, *_), axes = self.form.pieces[0].coords, [moves.axis for moves, _, _ in extents]
        firsts = [first for _, first, _ in extents]
        return replace(
            self.form,
            sizes=(self.form.sizes[0], *(self.form.sizes[axis] for axis in axes)),
            strides=tuple(self.form.strides[axis - 1] for axis in axes),
            box=(tile.row, *(count for _, _, count in extents)),
            pieces=tuple(Piece(block.byte_offset, (inner + block.k0, *firsts)) for block in tile.blocks),
        )


def movements(product: Product, dtype: ElementType) -> Iterator[Movement | Refused]:
    """How an operand may be seen by tiles of pixels; reasons why it is not."""
    sizes = product.sizes | {product.d_name: product.tiles * product.rows}
    for space in spaces(product.operand, [var(name, sizes[name]) for name in product.sizes]):
        yield space if isinstance(space, Refused) else _movement(space, product, dtype)


def _movement(space: Space, product: Product, dtype: ElementType) -> Movement | Refused:
    space, row = _joined(space, product.d_name), longest_row(product.channels * dtype.bytes)
    if space.axes[-1].stride != 1 or not row or product.sizes[product.k_name] % product.channels:
        return Refused(f"what lies together along {product.k_name} is not channels, 32 bytes of them or more")
    form = boxed(space, [product.run], row, product.k_name)
    if isinstance(form, Refused):
        return form
    (inner, *coords), extents = form.pieces[0].coords, form.box[1:]
    if inner.mentions(TAP) or max(form.steps) > 1:
        return Refused(f"{product.rows} rows of the tile do not count through pixels of the same channels")
    moves = [
        _moves(1 + i, count, x, product) for i, (count, x) in enumerate(zip(extents, coords, strict=True))
    ]
    return Movement(form, [m for m in moves if m.extent > 1], [m for m in moves if m.extent == 1])


def _joined(space: Space, d_name: str) -> Space:
    """What lies inside of the pixels as one axis."""
    *outer, channels = space.axes
    while outer and not outer[-1].coordinate.mentions(d_name) and (one := joined_with(outer[-1], channels)):
        channels = one
        outer.pop()
    return Space((*outer, channels), space.base)


def _moves(axis: int, extent: int, coordinate: Lin, product: Product) -> Moves:
    first = coordinate.subs({TAP: lin(0)})
    moved: Any = (coordinate - first).eval({"batch": 0, "tile": 0, TAP: np.arange(product.taps)})
    return Moves(axis, extent, first, np.broadcast_to(moved, product.taps))


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


def wanted(product: Product, batch: Ints, k: Ints, row: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The offset of the operand's element, -1 where there is none; does it go into a sum that is stored?"""
    d = product.d_name
    at: dict[str, Any] = {BATCH: batch, product.k_name: k, d: np.minimum(row, product.sizes[d] - 1)}
    want = offset_of(product.operand, [at[name] for name in product.sizes])
    last = len(product.stored.upper) - 1
    kept = [0 if i == last else at.get(n, 0) for i, (n, _) in enumerate(product.stored.upper)]
    return want, (row < product.sizes[d]) & (offset_of(product.stored, kept) >= 0)
