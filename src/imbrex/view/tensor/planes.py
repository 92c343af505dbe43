"""plane_access: an operand of backward weight in lines of its planes, which all taps of a window read from.

    row of shared memory    of neighbouring lines, which are one stretch of the plane: a box, of all channels
    tap (y, x)              of pixel p of line r is pixel p + x - 1 of line r + y - 1, zero beyond its ends

Law, checked by evaluation before an answer is given: at each tap that is the operand's element, and zero
where the map says that there is none.  An operand without a window has a single tap, its own pixel.
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
from imbrex.view.stage.plane_stage import LINE_BYTES, WINDOW, PlaneStage
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
    or B, a tile's channels at all taps.  Lines of B that are not the step's are those of the image's step
    before or after it.
    """

    map: Map
    stage: PlaneStage
    which: Literal["a", "b"]
    tiles: int = 1

    @property
    def d_name(self) -> str:
        return "gemmM" if self.which == "a" else "gemmN"

    @property
    def window(self) -> int:
        """Rows, and columns, of the window."""
        return 1 if self.which == "a" else WINDOW

    @property
    def variables(self) -> dict[str, int]:
        sizes = dict(self.map.upper)
        steps = -(-sizes["gemmK"] // self.stage.depth)
        return {"batch": sizes.get(BATCH, 1), "tile": self.tiles, "step": steps, "part": 1}

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The lines of a step, of all channels: what pixels want at the tap that is their own."""
        stage, counts, own = self.stage, self.variables, self.window**2 // 2 * self.stage.channels
        pixel = var("step", counts["step"]) * stage.depth + var(INNER, stage.line)
        channel = var("tile", self.tiles) * stage.channels + var(ROW, stage.channels) + own
        at = {BATCH: var("batch", counts["batch"]), self.d_name: channel}
        return tuple(
            Run(at | {"gemmK": pixel + line * stage.line}, stage.channels, stage.line)
            for line in range(stage.rows)
        )


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
    stage, window, size = planes.stage, planes.window, dict(planes.map.upper)[planes.d_name]
    if window > 1 and size != window**2 * stage.channels:
        return Refused(f"{size} columns are not {window} x {window} taps of {stage.channels} channels")
    if reason := along_inner(space.axes[-1], "gemmK"):
        return Refused(reason)
    form = boxed(space, planes.runs, LINE_BYTES, "gemmK")
    return _in_rows(form, stage) if isinstance(form, Box) else form


def _in_rows(form: Box, stage: PlaneStage) -> Box | Refused:
    """Boxes of rows of shared memory, given those of lines."""
    width, count = form.sizes[0], stage.abreast
    high = next((i for i, stride in enumerate(form.strides, 1) if stride == width), 0)
    if width != stage.width or not high or form.sizes[high] % count:
        return Refused(f"planes are not groups of {count} lines of {stage.width} pixels")
    pieces = list[Piece]()
    for first, row in product(form.pieces[::count], range(stage.group_rows)):
        at = {0: first.coords[0] + row * stage.stored.row, high: first.coords[high] // count}
        coords = tuple(at.get(i, x) for i, x in enumerate(first.coords))
        pieces.append(replace(first, byte_offset=len(pieces) * stage.row_bytes, coords=coords))
    return replace(
        form,
        sizes=_with(form.sizes, {0: width * count, high: form.sizes[high] // count}),
        strides=_with(form.strides, {high - 1: width * count}),
        box=_with(form.box, {0: stage.stored.row}),
        pieces=tuple(pieces),
    )


def _with(values: Sequence[int], others: dict[int, int]) -> tuple[int, ...]:
    return tuple(others.get(i, x) for i, x in enumerate(values))


def _differs(form: Box, planes: Planes) -> str | None:
    """The tap at which another element is reached; None where it is the operand's own."""
    stage, window = planes.stage, planes.window
    names = "batch", "tile", "step"
    batch, of_tile, step = sampled([planes.variables[name] for name in names], LOOKED_AT)
    env: dict[str, Any] = dict(zip(names, (batch, of_tile, step), strict=True)) | {"part": 0}
    channel, pixel = np.arange(stage.channels)[:, None], np.arange(stage.line)
    own = of_tile * stage.channels if window == 1 else 0
    for of_line, y, x in product(range(stage.rows), range(window), range(window)):
        k, d = (step * stage.rows + of_line) * stage.line + pixel, (y * window + x) * stage.channels + channel
        at = {BATCH: batch, "gemmK": k, planes.d_name: own + d}
        want = offset_of(planes.map, [at[name] for name, _ in planes.map.upper])
        seen, line = pixel + x - window // 2, of_line + y - window // 2
        hop, line = divmod(line, stage.rows)
        strip = step // stage.streams % stage.strips + hop
        inside = (seen >= 0) & (seen < stage.width) & (strip >= 0) & (strip < stage.strips)
        element = np.where(inside, line % stage.abreast * stage.width + seen, 0)
        first, at_step = line // stage.abreast * stage.group_rows, step + hop * stage.streams
        found: Any = np.full(want.shape, -1)
        for row, piece in enumerate(form.pieces[first : first + stage.group_rows]):
            here = env | {"step": at_step, ROW: channel, INNER: element % stage.stored.row}
            found = np.where(inside & (element // stage.stored.row == row), offsets(form, piece, here), found)
        if (found != want).any():
            return f"at the tap ({y}, {x}) of a window what lies beside a line's pixel is not what it wants"
    return None
