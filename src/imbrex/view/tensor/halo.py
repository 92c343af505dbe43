"""halo_access: an operand of windows as one box a tile, all taps of the window reading out of it.

Law, checked by evaluation before an answer is given: where C is stored, element (k, d) of a tile is the
operand's element there, and zero where the map says that there is none.  Rows of C that are not stored may
have anything: a raster is wider than the image that it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final, NamedTuple

import numpy as np

from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_tile import longest_row
from imbrex.view.tensor.check import Ints, offsets, sampled
from imbrex.view.tensor.form import Box, ElementType, Refused, first_right
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.pixels import (
    Movement,
    Moves,
    Product,
    movements,
    progressions,
    wanted,
)
from imbrex.view.tensor.tiling import INNER, ROW

__all__ = ["Halo", "halo_access", "reached"]

LOOKED_AT: Final = 24
"""Tiles that are looked at where there are many."""


class Halo(NamedTuple):
    """How the operand lies in shared memory, and the box that TMA fills it with."""

    tile: HaloTile
    box: Box


def halo_access(product: Product, dtype: ElementType) -> Halo | Refused:
    """The tile and its box; a reason where there is none.  With, where it has to be, a row more than the
    window wants: the padding that its last row runs into.
    """
    seen = ((it, more) for it in movements(product, dtype) for more in (0, 1))
    answers = (_halo(it, product, dtype.bytes, more) for it, more in seen)
    return first_right(answers, lambda it: beyond_limits(it.box, dtype.bytes) or _differs(it, product))


def _ordered(seen: Movement) -> list[Moves] | Refused:
    """The column, the row, and the others in the order in which a box is laid out."""
    column, *inside = seen.moving
    tapped = [m for m in (*inside, *seen.still) if m.span]
    if len(tapped) > 1 or (tapped and tapped[0] in inside[1:]):
        return Refused("the taps of a window move along more than its columns and the next dim")
    line = tapped[:1] or inside[:1]
    return [column, *line, *(m for m in (*inside, *seen.still) if m not in line)]


def _halo(seen: Movement | Refused, product: Product, element_bytes: int, more: int) -> Halo | Refused:
    if isinstance(seen, Refused):
        return seen
    ordered = _ordered(seen)
    if isinstance(ordered, Refused):
        return ordered
    column, *others = ordered
    line = others[0].extent + others[0].span + more if others else 1
    images, width = prod(m.extent for m in others[1:]), column.extent
    low = [int(m.taps.min()) for m in ordered]
    shifts = column.taps - low[0] + ((others[0].taps - low[1]) * width if others else 0)
    taps, first = progressions(shifts - shifts[0]), int(shifts[0])
    positions, one = product.rows // images, product.instruction
    if taps is None:
        return Refused("the taps of a window are not evenly apart")
    if positions % one:
        return Refused(f"{positions} rows of an image are not whole instructions of {one}")
    swizzle = longest_row(product.channels * element_bytes)
    shape = images, positions, line * width, taps, first, product.channels, element_bytes, swizzle, one
    counts = [width, line, *(m.extent for m in others[1:])]
    extents = [(m, m.lowest, count) for m, count in zip(ordered, counts, strict=False)]
    return Halo(tile := HaloTile(*shape), seen.box(tile, extents))


def _differs(found: Halo, product: Product) -> str | None:
    """Where a sum that is stored would be of another element than the map's; None where none is."""
    tile = found.tile
    taps = np.arange(0, tile.k, tile.channels)
    k = (taps[:, None] + np.unique([0, 1, tile.row - 1, tile.channels - 1])).reshape(-1, 1)
    d = np.arange(tile.d)[None]
    (element,), _ = tile.starts.evaluate([k, d])
    batches, tiles = sampled((product.batches, product.tiles), LOOKED_AT)
    row = tiles * tile.d + d
    want, cares = wanted(product, batches, k, row)
    wrong = (reached(found, element, {"batch": batches, "tile": tiles}) != want) & cares
    if wrong.any():
        seen, of_k, of_d = np.argwhere(wrong)[0]
        where = {"k": int(k[of_k, 0]), "row": int(row[seen, 0, of_d])}
        return f"what would be read at {where} is not the operand's element"
    return None


def reached(found: Halo, element: Ints, env: Mapping[str, Ints]) -> Ints:
    """The offset of what lies at an element of shared memory; -1 for zeros, -2 beyond the box."""
    tile, box = found.tile, found.box
    block, rest = np.divmod(element, tile.raster * tile.row)
    position, inner = np.divmod(rest, tile.row)
    at = {**env, ROW: position, INNER: block * tile.row + inner}
    return np.where(position >= tile.loaded, -2, offsets(box, box.pieces[0], at))
