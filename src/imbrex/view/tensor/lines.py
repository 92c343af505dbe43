"""line_access: an operand of windows line by line, each line of pixels read at all columns of the window.

    pixel     d = line of the result, pixel      64 rows of an instruction, or several times that, are a line
    tap       k = tap, channel                   a tap is a row of the window and a column of it
    step      a line that is read: row y of the window reads for line r of the result at step r + y

Law, checked by evaluation before an answer is given: where C is stored, what is read at step r + y and column
x is the operand's element of line r at the tap (y, x), and zero where the map says that there is none; so it
is for every step whose line does not exist, which then is not read.  Behind a line there are zeros.
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
from imbrex.view.tensor.check import sampled
from imbrex.view.tensor.form import Box, ElementType, Refused, first_right
from imbrex.view.tensor.halo import Halo, reached
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.pixels import (
    Movement,
    Moves,
    Product,
    movements,
    progressions,
    wanted,
)

__all__ = ["Lines", "line_access"]

LOOKED_AT: Final = 12
"""Tiles that are looked at where there are many."""


@dataclass(frozen=True)
class Lines:
    """tile, box: of a line; coordinates are over `batch`, `tile` and `step`.  exists: is there such a line?

    taps: of each tap of the window, in the order of k, its row and its column.
    """

    tile: HaloTile
    box: Box
    exists: Guard
    taps: tuple[tuple[int, int], ...]

    @property
    def slots(self) -> int:
        """Rows of the window."""
        return 1 + max(row for row, _ in self.taps)

    @property
    def columns(self) -> int:
        """Columns of the window."""
        return 1 + max(column for _, column in self.taps)


def line_access(product: Product, line: int, dtype: ElementType) -> Lines | Refused:
    """How tiles of lines of so many rows come into shared memory; a reason where they do not."""
    answers = (_lines(seen, product, line, dtype) for seen in movements(product, dtype))
    return first_right(answers, lambda it: beyond_limits(it.box, dtype.bytes) or _differs(it, product, line))


def _lines(seen: Movement | Refused, product: Product, line: int, dtype: ElementType) -> Lines | Refused:
    if isinstance(seen, Refused):
        return seen
    if len(seen.moving) < 2 or prod(m.extent for m in seen.moving[:-1]) != line:
        return Refused(f"{product.rows} rows of the tile are not lines of {line}")
    (column, *inside, high), still = seen.moving, seen.still
    taps = _taps(high, column)
    across = progressions(np.unique(column.taps - column.taps.min()))
    if taps is None or across is None or len(across) > 1 or any(m.span for m in (*inside, *still)):
        return Refused("the taps of a window are not neighbouring rows, each of the same columns")
    swizzle = longest_row(product.channels * dtype.bytes)
    tile = HaloTile(1, line, line, across, 0, product.channels, dtype.bytes, swizzle)
    top = high.lowest + var("step", product.rows // line + max(y for y, _ in taps))
    extents = [*((m, m.lowest, m.extent) for m in (column, *inside)), (high, top, 1)]
    extents += [(m, m.lowest, m.extent) for m in still]
    return Lines(tile, seen.box(tile, extents), Guard(top, seen.form.sizes[high.axis]), taps)


def _taps(high: Moves, column: Moves) -> tuple[tuple[int, int], ...] | None:
    """Row and number of the column of each tap; None where a row lacks columns, or is lacking."""
    rows = high.taps - high.taps.min()
    shifts, numbers = np.unique(column.taps, return_inverse=True)
    found = tuple((int(y), int(x)) for y, x in zip(rows, numbers, strict=True))
    whole = {(y, x) for y in range(high.span + 1) for x in range(len(shifts))}
    return found if set(found) == whole and len(found) == len(whole) else None


def _differs(found: Lines, product: Product, line: int) -> str | None:
    """Where a sum that is stored would be of another element than the map's; None where none is.

    All tiles that are looked at and all of their steps at once, a tap after the other.
    """
    batches, tiles = sampled((product.batches, product.tiles), LOOKED_AT)[..., None]
    lines, tile = product.rows // line, found.tile
    steps = np.arange(lines + found.slots - 1)[:, None, None]
    env = {"batch": batches, "tile": tiles, "step": steps}
    top, rows = found.exists.index.eval(env), np.int64(lin(found.exists.size).const)
    inner, pixel = np.unique([0, 1, tile.row - 1, tile.channels - 1])[:, None], np.arange(line)
    for tap, (y, x) in enumerate(found.taps):
        result = steps - y
        (element,), _ = tile.starts.evaluate([x * tile.channels + inner, pixel])
        row = tiles * product.rows + np.clip(result, 0, lines - 1) * line + pixel
        want, cares = wanted(product, batches, tap * tile.channels + inner, row)
        got = np.where((top >= 0) & (top < rows), reached(Halo(tile, found.box), element, env), -1)
        wrong = (np.maximum(got, -1) != want) & cares & (result >= 0) & (result < lines)
        if wrong.any():
            seen, step, *_ = np.argwhere(wrong)[0]
            return f"what would be read at step {step} of tile {tiles.flat[seen]} is not the operand's"
    return None
