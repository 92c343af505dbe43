"""halo_access: an operand of windows as one box a tile, all taps of the window reading out of it.

Law, checked by evaluation before an answer is given: where C is stored, element (k, d) of a tile is the
operand's element there, and zero where the map says that there is none.  Rows of C that are not stored may
have anything: a raster is wider than the image that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map
from imbrex.view.halo_tile import HaloTile
from imbrex.view.shared_tile import SWIZZLES, Swizzle
from imbrex.view.tensor.form import Box, ElementType, Piece, Refused
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.space import Axis, Space, joined_with, spaces

__all__ = [
    "Halo",
    "Moves",
    "Product",
    "channels_apart",
    "count_of",
    "halo_access",
    "moves_of",
    "offset_of",
    "progressions",
    "reached",
]

Ints = npt.NDArray[np.int64]
BATCH: Final = "gemmG"
INSTRUCTION_ROWS: Final = 64
LOOKED_AT: Final = 24
"""Tiles that are looked at where there are many."""


class Halo(NamedTuple):
    """How the operand lies in shared memory, and the box that TMA fills it with."""

    tile: HaloTile
    box: Box


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
    instruction: int = INSTRUCTION_ROWS

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.operand.upper)

    @property
    def tiles(self) -> int:
        return -(-self.sizes[self.d_name] // self.rows)

    @property
    def grown(self) -> dict[str, int]:
        return self.sizes | {self.d_name: self.tiles * self.rows}


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


def halo_access(product: Product, dtype: ElementType) -> Halo | Refused:
    """The tile and its box; a reason where there is none."""
    reasons = list[str]()
    grown = product.grown
    for found in spaces(product.operand, [var(name, grown[name]) for name in product.sizes]):
        if isinstance(found, Refused):
            return found
        for answer in _halos(found, product, dtype):
            if isinstance(answer, Halo):
                reason = beyond_limits(answer.box, dtype.bytes) or _differs(answer, product)
                if reason is None:
                    return answer
                answer = Refused(reason)
            reasons.append(answer.reason)
    return Refused(reasons[0])


def _halos(space: Space, product: Product, dtype: ElementType) -> Iterator[Halo | Refused]:
    """Without, and with, a row more than the window wants: the padding that its last row runs into."""
    channels, outer = channels_apart(space, product)
    count = count_of(channels, product)
    row: Swizzle | None = next((s for s in reversed(SWIZZLES) if s and count * dtype.bytes % s == 0), None)
    if channels.stride != 1 or not count or row is None:
        yield Refused(f"what lies together along {product.k_name} is not channels, 32 bytes of them or more")
        return
    moves = [moves_of(axis, product, count) for axis in outer]
    if None in moves:
        yield Refused(
            f"{product.rows} rows of the tile do not count through pixels, or not alike at every tap"
        )
        return
    ordered = _ordered([m for m in moves if m], product.rows)
    if isinstance(ordered, Refused):
        yield ordered
        return
    for more in (0, 1):
        yield _halo(channels, ordered, product, count, row, dtype.bytes, space.base, more)


def channels_apart(space: Space, product: Product) -> tuple[Axis, list[Axis]]:
    """The axes inside of the pixels as one, and all others, innermost first."""
    channels, *outer = reversed(space.axes)
    while outer and not outer[0].coordinate.mentions(product.d_name):
        joined = joined_with(outer[0], channels)
        if joined is None:
            break
        channels, outer = joined, outer[1:]
    return channels, outer


def count_of(channels: Axis, product: Product) -> int:
    """How many neighbours along k are channels of one tap; 0 where that is not what k counts."""
    if channels.coordinate.mentions(product.d_name):
        return 0
    along = _along(channels.coordinate, product, k=np.arange(product.sizes[product.k_name]))
    again = np.flatnonzero(along == 0)
    count = int(again[1]) if again.size > 1 else along.size
    return count if np.array_equal(along, np.arange(along.size) % count) else 0


def _along(index: Lin, product: Product, k: Any = 0, d: Any = 0) -> Ints:
    """How far an index moves from a tile's first place, in the first tile of the first batch."""
    values = {BATCH: 0, product.k_name: k, product.d_name: d}
    zero = {BATCH: 0, product.k_name: 0, product.d_name: 0}
    size = np.broadcast_shapes(np.shape(k), np.shape(d))
    return np.broadcast_to(np.asarray(index.eval(values) - index.eval(zero), np.int64), size)


def moves_of(axis: Axis, product: Product, channels: int) -> Moves | None:
    """None where the axis is no digit of the rows, or moves along k with more than the tap."""
    d, k = np.arange(product.rows), np.arange(product.sizes[product.k_name])
    rows, taps = _along(axis.coordinate, product, d=d), _along(axis.coordinate, product, k=k)
    every, count = (int(np.flatnonzero(rows)[0]), int(rows.max()) + 1) if rows.any() else (0, 1)
    counted = d // every % count if every else np.zeros_like(d)
    if not np.array_equal(rows, counted) or not np.array_equal(taps, taps[k // channels * channels]):
        return None
    sizes = {"batch": product.sizes.get(BATCH, 1), "tile": product.tiles}
    batch, tile = (var(name, size) for name, size in sizes.items())
    first = axis.coordinate.subs({BATCH: batch, product.k_name: lin(0), product.d_name: tile * product.rows})
    return Moves(axis, first, every, count, taps[::channels])


def _ordered(moves: Sequence[Moves], rows: int) -> list[Moves] | Refused:
    """The column, the row, and the others in the order in which a box is laid out."""
    moving = sorted((m for m in moves if m.every), key=lambda m: m.every)
    reached = [prod(m.count for m in moving[:i]) for i in range(len(moving) + 1)]
    if not moving or [*(m.every for m in moving), rows] != reached:
        return Refused(f"{rows} rows of the tile are not a box of the array")
    column, *inside = moving
    still = [m for m in moves if not m.every]
    tapped = [m for m in (*inside, *still) if m.span]
    if len(tapped) > 1 or (tapped and tapped[0] in inside[1:]):
        return Refused("the taps of a window move along more than its columns and the next dim")
    line = tapped[:1] or inside[:1]
    return [column, *line, *(m for m in (*inside, *still) if m not in line)]


def _halo(
    channels: Axis,
    ordered: Sequence[Moves],
    product: Product,
    count: int,
    swizzle: Swizzle,
    element_bytes: int,
    base: int,
    more: int,
) -> Halo | Refused:
    column, *others = ordered
    line = others[0].count + others[0].span + more if others else 1
    images, width = prod(m.count for m in others[1:]), column.count
    low = [int(m.taps.min()) for m in ordered]
    shifts = column.taps - low[0] + ((others[0].taps - low[1]) * width if others else 0)
    taps = progressions(shifts - shifts[0])
    if taps is None:
        return Refused("the taps of a window are not evenly apart")
    if product.rows // images % product.instruction:
        each = f"{product.rows // images} rows of an image"
        return Refused(f"{each} are not whole instructions of {product.instruction}")
    places = product.rows // images
    one, first = product.instruction, int(shifts[0])
    tile = HaloTile(images, places, line * width, taps, first, count, element_bytes, swizzle, one)
    lows = [*low, *[0] * len(others)]
    firsts = [m.first + x for m, x in zip(ordered, lows, strict=False)]
    inner = channels.coordinate.subs(
        {BATCH: var("batch", product.sizes.get(BATCH, 1)), product.k_name: lin(0)}
    )
    box = Box(
        sizes=(channels.size, *(m.axis.size for m in ordered)),
        strides=tuple(m.axis.stride for m in ordered),
        base=base,
        box=(tile.row, width, *([line] if others else []), *(m.count for m in others[1:])),
        swizzle=swizzle,
        pieces=tuple(Piece(b.byte_offset, (inner + b.k0, *firsts)) for b in tile.blocks),
        steps=(1,) * (1 + len(ordered)),
    )
    return Halo(tile, box)


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


def _differs(found: Halo, product: Product) -> str | None:
    """Where a sum that is stored would be of another element than the map's; None where none is."""
    tile, sizes = found.tile, product.sizes
    rng = np.random.default_rng(0)
    batches, tiles = sizes.get(BATCH, 1), product.tiles
    places = {(b, t) for b in (0, batches - 1) for t in (0, tiles - 1)}
    places |= {(int(rng.integers(batches)), int(rng.integers(tiles))) for _ in range(LOOKED_AT)}
    taps = np.arange(0, tile.k, tile.channels)
    k = (taps[:, None] + np.unique([0, 1, tile.row - 1, tile.channels - 1])).reshape(-1, 1)
    d = np.arange(tile.d)[None]
    (element,), _ = tile.starts.evaluate([k, d])
    for batch, number in sorted(places):
        row = number * tile.d + d
        inside = row < sizes[product.d_name]
        at = {BATCH: batch, product.k_name: k, product.d_name: np.minimum(row, sizes[product.d_name] - 1)}
        want = offset_of(product.operand, [at[name] for name in sizes])
        kept = [
            0 if i == len(product.stored.upper) - 1 else at.get(n, 0)
            for i, (n, _) in enumerate(product.stored.upper)
        ]
        cares = inside & (offset_of(product.stored, kept) >= 0)
        wrong = (reached(found, element, {"batch": batch, "tile": number}) != want) & cares
        if wrong.any():
            place = np.argwhere(wrong)[0]
            where = {"k": int(k[place[0], 0]), "row": int(row[0, place[1]])}
            return f"what would be read at {where} is not the operand's element"
    return None


def offset_of(map: Map, coords: Sequence[Any]) -> Ints:
    found, exists = map.evaluate(coords)
    offset: Any = 0
    for x, dim in zip(found, map.lower, strict=True):
        offset = offset * dim.size + x
    return np.where(exists, offset, -1)


def reached(found: Halo, element: Ints, env: dict[str, int]) -> Ints:
    """The offset of what lies at an element of shared memory; -1 for zeros, -2 beyond the box."""
    tile, box = found.tile, found.box
    block, rest = np.divmod(element, tile.raster * tile.row)
    place, inner = np.divmod(rest, tile.row)
    beyond = place >= tile.loaded
    coords = [found.box.pieces[0].coords[0].eval(env) + block * tile.row + inner]
    for x, extent in zip(box.pieces[0].coords[1:], box.box[1:], strict=False):
        place, digit = np.divmod(place, extent)
        coords.append(x.eval(env) + digit)
    coords += [x.eval(env) for x in box.pieces[0].coords[1 + len(box.box) - 1 :]]
    offset, exists = box.base, np.True_
    for x, size, stride in zip(coords, box.sizes, (1, *box.strides), strict=True):
        offset, exists = offset + x * stride, exists & (x >= 0) & (x < size)
    return np.where(beyond, -2, np.where(exists, offset, -1))
