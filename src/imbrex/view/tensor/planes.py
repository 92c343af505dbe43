"""plane_access: an operand of backward weight in lines of its planes, which all taps of a window read from.

    row of shared memory    of neighbouring lines, which are one stretch of the plane: a box, of all channels
    tap (y, x)              of pixel p of line r is pixel p + x - 1 of line r + y, zero beyond its ends

Law, checked by evaluation before an answer is given: at each tap that is the operand's element, and zero
where the map says that there is none.  An operand without a window has a single tap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final, Literal

import numpy as np

from imbrex.cached import cached_property
from imbrex.index.expr import var
from imbrex.index.map import Map
from imbrex.view.stage.plane_stage import COLUMNS, LINE_BYTES, LineTile, PlaneStage
from imbrex.view.tensor.box import along_inner, boxed
from imbrex.view.tensor.check import misplaced, offset_of, offsets, sampled
from imbrex.view.tensor.form import Box, ElementType, Piece, Refused, first_right
from imbrex.view.tensor.limit import beyond_limits
from imbrex.view.tensor.space import Space, spaces
from imbrex.view.tensor.tiling import BATCH, INNER, ROW, Run

__all__ = ["Planes", "plane_access"]

LOOKED_AT: Final = 8
"""Steps that are looked at where there are many."""


@dataclass(frozen=True)
class Planes:
    """map: (gemmG?, gemmK, gemmM or gemmN) -> the array: A, `tiles` times the filters of a tile at one tap,
    or B, a tile's channels at all taps.  Lines that B's stage does not have in a step are those of the
    image's step before or after it.
    """

    map: Map
    stage: PlaneStage
    which: Literal["a", "b"]
    tiles: int = 1

    @property
    def d_name(self) -> str:
        return "gemmM" if self.which == "a" else "gemmN"

    @property
    def tile(self) -> LineTile:
        return self.stage.output if self.which == "a" else self.stage.input

    @property
    def taps(self) -> tuple[int, int]:
        """Rows and columns of the window."""
        return (1, 1) if self.which == "a" else (self.stage.window, COLUMNS)

    @property
    def first(self) -> int:
        """The row of the window that wants the first line that is loaded for line 0."""
        return self.stage.before if self.which == "b" and self.stage.streams else 0

    @property
    def variables(self) -> dict[str, int]:
        sizes = dict(self.map.upper)
        steps = -(-sizes["gemmK"] // self.stage.depth)
        return {"batch": sizes.get(BATCH, 1), "tile": self.tiles, "step": steps, "part": 1}

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The lines of a step."""
        return tuple(self._run(*at) for at in product(range(self.tile.images), range(self.tile.lines)))

    def _run(self, image: int, line: int) -> Run:
        """A line of all channels: what pixels want at their own column of a row of the window."""
        tile, counts, (_, columns) = self.tile, self.variables, self.taps
        tap = self.first + max(0, line - self.stage.rows + 1)
        pixel = (image * self.stage.rows + line + self.first - tap) * tile.line
        at = {
            BATCH: var("batch", counts["batch"]),
            "gemmK": var("step", counts["step"]) * self.stage.depth + pixel + var(INNER, tile.line),
            self.d_name: var("tile", self.tiles) * tile.d
            + var(ROW, tile.d)
            + (tap * columns + columns // 2) * tile.d,
        }
        return Run(at, tile.d, tile.line)


def plane_access(planes: Planes, dtype: ElementType) -> Box | Refused:
    """The boxes of a step; a reason where there are none."""
    sizes = dict(planes.map.upper)

    def wrong(form: Box) -> str | None:
        at = planes.runs[:1] * len(form.pieces)  # a piece begins alike in all of its rows
        reason = beyond_limits(form, dtype.bytes) or misplaced(form, at, planes.variables, dtype.bytes)
        return reason or _differs(form, planes)

    found = spaces(planes.map, [var(name, size) for name, size in sizes.items()])
    return first_right((_form(space, planes) for space in found), wrong)


def _form(space: Space | Refused, planes: Planes) -> Box | Refused:
    if isinstance(space, Refused):
        return space
    tile, (rows, columns) = planes.tile, planes.taps
    size = dict(planes.map.upper)[planes.d_name]
    if (rows, columns) != (1, 1) and size != rows * columns * tile.d:
        return Refused(f"{size} columns are not {rows} x {columns} taps of {tile.d} channels")
    if reason := along_inner(space.axes[-1], "gemmK"):
        return Refused(reason)
    form = boxed(space, planes.runs, LINE_BYTES, "gemmK")
    return _in_rows(form, tile) if isinstance(form, Box) else form


def _in_rows(form: Box, tile: LineTile) -> Box | Refused:
    """Boxes of rows of shared memory, given those of lines."""
    width, count = form.sizes[0], tile.abreast
    high = next((i for i, stride in enumerate(form.strides, 1) if stride == width), 0)
    if width != tile.width or not high or form.sizes[high] % count:
        return Refused(f"planes are not groups of {count} lines of {tile.width} pixels")
    sizes = {0: width * count, high: form.sizes[high] // count}
    strides = {high - 1: width * count}
    pieces = list[Piece]()
    for image, group, row in product(range(tile.images), range(tile.groups), range(tile.rows)):
        line = max(0, group * count - tile.skipped)
        lies = form.pieces[image * tile.lines + line]
        at = {0: lies.coords[0] + row * tile.stored.row, high: lies.coords[high] // count}
        coords = tuple(at.get(i, x) for i, x in enumerate(lies.coords))
        first = ((image * tile.groups + group) * tile.rows + row) * tile.row_bytes
        pieces.append(replace(lies, byte_offset=first, coords=coords))
    return replace(
        form,
        sizes=_with(form.sizes, sizes),
        strides=_with(form.strides, strides),
        box=_with(form.box, {0: tile.stored.row}),
        pieces=tuple(pieces),
    )


def _with(values: Sequence[int], others: dict[int, int]) -> tuple[int, ...]:
    return tuple(others.get(i, x) for i, x in enumerate(values))


def _differs(form: Box, planes: Planes) -> str | None:
    """The tap at which another element is reached; None where it is the operand's own."""
    stage, tile, (_, columns) = planes.stage, planes.tile, planes.taps
    names = "batch", "tile", "step"
    batch, of_tile, step = sampled([planes.variables[name] for name in names], LOOKED_AT)
    env: dict[str, Any] = dict(zip(names, (batch, of_tile, step), strict=True)) | {"part": 0}
    channel, pixel = np.arange(tile.d)[:, None], np.arange(tile.line)
    own = of_tile * tile.d if planes.taps == (1, 1) else 0
    for image, of_line, y, x in product(range(tile.images), range(stage.rows), *map(range, planes.taps)):
        k = step * stage.depth + (image * stage.rows + of_line) * tile.line + pixel
        d = own + (y * columns + x) * tile.d + channel
        at = {BATCH: batch, "gemmK": k, planes.d_name: d}
        want = offset_of(planes.map, [at[name] for name, _ in planes.map.upper])
        seen, line = pixel + x - columns // 2, of_line + y - planes.first
        hop = line // stage.rows if stage.streams else 0
        strip = step // max(1, stage.streams) % stage.strips + hop
        at_step = np.where((strip >= 0) & (strip < stage.strips), step + hop * stage.streams, 0)
        line += tile.skipped - hop * stage.rows
        inside = (seen >= 0) & (seen < tile.width) & (strip >= 0) & (strip < stage.strips)
        element = np.where(inside, line % tile.abreast * tile.width + seen, 0)
        first = (image * tile.groups + line // tile.abreast) * tile.rows
        found: Any = np.full(want.shape, -1)
        for row, piece in enumerate(form.pieces[first : first + tile.rows]):
            here = env | {"step": at_step, ROW: channel, INNER: element % tile.stored.row}
            found = np.where(inside & (element // tile.stored.row == row), offsets(form, piece, here), found)
        if (found != want).any():
            return f"at the tap ({y}, {x}) of a window what lies beside a line's pixel is not what it wants"
    return None
