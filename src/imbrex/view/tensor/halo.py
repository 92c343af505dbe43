"""An operand of windows whose pixels come once, so that all taps read out of what one box brings.

halo_access   a box has all pixels that any tap wants of a tile
line_access   a box has a line of pixels, read at all columns of the window, whose row y reads for line r of
              the result at step r + y.  Lines that do not exist are not read; behind one there are zeros

Law, checked by evaluation before an answer is given: where C is stored, what is read for element (k, d) of a
tile is the operand's element there, and zero where the map says that there is none.  Rows of C that are not
stored may have anything: a raster is wider than the image that it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from imbrex.index.expr import lin, var
from imbrex.index.rule import Guard
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_tile import longest_row
from imbrex.view.tensor.check import offsets, sampled
from imbrex.view.tensor.form import Box, ElementType, Refused, first_right
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.pixels import Movement, Moves, Product, movements, progressions, wanted
from imbrex.view.tensor.tiling import INNER, ROW

__all__ = ["Halo", "halo_access", "line_access"]

LOOKED_AT: Final = 24
"""Tiles that are looked at where there are many; of lines, half as many."""


@dataclass(frozen=True)
class Halo:
    """tile, box: of what comes at a time; coordinates are over `batch`, `tile` and, of lines, `step`.

    taps: of each tap of the window, in the order of k, the row of it that wants other lines, and its number
    among those that read out of one box.  exists: of lines, what says that there is such a line.
    """

    tile: HaloTile
    box: Box
    taps: tuple[tuple[int, int], ...]
    exists: tuple[Guard, ...] = ()

    @property
    def slots(self) -> int:
        """Rows of the window, of lines, each of as many taps."""
        return 1 + max(row for row, _ in self.taps)


def halo_access(product: Product, dtype: ElementType) -> Halo | Refused:
    """How tiles come into shared memory; a reason where they do not.  With, where it has to be, a row more
    than the window wants: the padding that its last row runs into.
    """
    seen = ((it, more) for it in movements(product, dtype) for more in (0, 1))
    answers = (_halo(it, product, dtype.bytes, more) for it, more in seen)
    return first_right(answers, lambda it: beyond_limits(it.box, dtype.bytes) or _differs(it, product))


def line_access(product: Product, line: int, dtype: ElementType) -> Halo | Refused:
    """The same of tiles of lines of so many rows, line by line."""
    answers = (_lines(seen, product, line, dtype.bytes) for seen in movements(product, dtype))
    return first_right(answers, lambda it: beyond_limits(it.box, dtype.bytes) or _differs(it, product))


def _halo(seen: Movement | Refused, product: Product, element_bytes: int, more: int) -> Halo | Refused:
    if isinstance(seen, Refused):
        return seen
    column, *inside = seen.moving
    line = [m for m in (*inside, *seen.still) if m.span] or inside
    if len(line) > 1 or any(m not in line for m in inside):
        return Refused("the taps of a window move along more than its columns and the next dim")
    count = line[0].extent + line[0].span + more if line else 1
    shifts = column.taps - column.taps.min()
    if line:
        shifts = shifts + (line[0].taps - line[0].taps.min()) * column.extent
    taps, one = progressions(shifts - shifts[0]), product.instruction
    if taps is None:
        return Refused("the taps of a window are not evenly apart")
    if product.rows % one:
        return Refused(f"{product.rows} rows of an image are not whole instructions of {one}")
    shape = product.rows, count * column.extent, taps, int(shifts[0]), product.channels, element_bytes
    tile = HaloTile(*shape, longest_row(product.channels * element_bytes), one)
    counts = [(column, column.extent), *((m, count) for m in line)]
    counts += [(m, m.extent) for m in seen.still if m not in line]
    box = seen.box(tile, [(m, m.lowest, extent) for m, extent in counts])
    return Halo(tile, box, tuple((0, number) for number in range(product.taps)))


def _lines(seen: Movement | Refused, product: Product, line: int, element_bytes: int) -> Halo | Refused:
    if isinstance(seen, Refused):
        return seen
    if len(seen.moving) < 2 or prod(m.extent for m in seen.moving[:-1]) != line:
        return Refused(f"{product.rows} rows of the tile are not lines of {line}")
    (column, *inside, high), still = seen.moving, seen.still
    taps = _taps(high, column)
    across = progressions(np.unique(column.taps - column.taps.min()))
    if taps is None or across is None or len(across) > 1 or any(m.span for m in (*inside, *still)):
        return Refused("the taps of a window are not neighbouring rows, each of the same columns")
    swizzle = longest_row(product.channels * element_bytes)
    tile = HaloTile(line, line, across, 0, product.channels, element_bytes, swizzle)
    top = high.lowest + var("step", product.rows // line + max(y for y, _ in taps))
    extents = [*((m, m.lowest, m.extent) for m in (column, *inside)), (high, top, 1)]
    extents += [(m, m.lowest, m.extent) for m in still]
    return Halo(tile, seen.box(tile, extents), taps, (Guard(top, seen.form.sizes[high.axis]),))


def _taps(high: Moves, column: Moves) -> tuple[tuple[int, int], ...] | None:
    """Row and number of the column of each tap; None where a row lacks columns, or is lacking."""
    rows = high.taps - high.taps.min()
    shifts, numbers = np.unique(column.taps, return_inverse=True)
    found = tuple((int(y), int(x)) for y, x in zip(rows, numbers, strict=True))
    whole = {(y, x) for y in range(high.span + 1) for x in range(len(shifts))}
    return found if set(found) == whole and len(found) == len(whole) else None


def _differs(found: Halo, product: Product) -> str | None:
    """Where a sum that is stored would be of another element than the map's; None where none is.

    All tiles that are looked at and all of their steps at once, a tap after the other.
    """
    tile, box, lines = found.tile, found.box, product.rows // found.tile.d
    many = LOOKED_AT // 2 if found.exists else LOOKED_AT
    batches, tiles = sampled((product.batches, product.tiles), many)[..., None]
    steps = np.arange(lines + found.slots - 1)[:, None, None]
    env = {"batch": batches, "tile": tiles, "step": steps}
    is_read, beyond = np.True_, -1 if found.exists else -2  # there are zeros behind a line, garbage elsewhere
    for guard in found.exists:
        top = guard.index.eval(env)
        is_read = (top >= 0) & (top < lin(guard.size).const)
    channel, pixel = np.unique([0, 1, tile.row - 1, tile.channels - 1])[:, None], np.arange(tile.d)
    for tap, (y, x) in enumerate(found.taps):
        result = steps - y
        row = tiles * product.rows + np.clip(result, 0, lines - 1) * tile.d + pixel
        want, cares = wanted(product, batches, tap * tile.channels + channel, row)
        (element,), _ = tile.starts.evaluate([x * tile.channels + channel, pixel])
        block, rest = np.divmod(element, tile.raster * tile.row)
        position, inner = np.divmod(rest, tile.row)
        reached = offsets(box, box.pieces[0], {**env, ROW: position, INNER: block * tile.row + inner})
        got = np.where(is_read, np.where(position >= tile.loaded, beyond, reached), -1)
        wrong = (got != want) & cares & (result >= 0) & (result < lines)
        if wrong.any():
            seen, step, *_ = np.argwhere(wrong)[0]
            return (
                f"what would be read at step {step} of tile {tiles.flat[seen]} is not the operand's element"
            )
    return None
