"""Depthwise windows of channels that come last, read by a CPU where they lie: which do, and what that costs.

cycles = vectors that come from L2 for each row of taps, where L1 has no place for what a row of sums meets
         + pieces of neighbours, each of which lies apart from the next

and, of what of the arrays is beyond L2, beside those vectors,

         + lines * FAR + pieces * PIECE * (lines of a piece)^LENGTH

A workgroup goes along its columns, and of some of them along its channels, before it goes to the next row:
one that has all channels reads and writes arrays as they lie, in one piece.  Parts of columns were no faster.
"""

from __future__ import annotations

from math import prod
from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.cpu.crowding import LINE, stays_near
from imbrex.config.cpu.one_pass import side_by_side
from imbrex.config.strips import Box, Shape

__all__ = ["lies", "met_size", "reading_cycles", "wide_slots"]

VECTORS: Final = (1, 2, 3, 4, 6, 8)
"""Vectors of channels of a workgroup, which may also have all."""
ANEW: Final = 2.0
"""Cycles of a vector that comes from L2 once more: 0.5 to 0.6 ns on a Xeon (Emerald Rapids), by all channels
of 28x28, 14x14 and 7x7 instead of some.
"""
APART: Final = 1.4
"""Cycles of a piece of arrays that L2 holds: 0.4 ns there, by 16 channels at a time instead of 48."""
FAR: Final = 8.0
"""Cycles of a line from beyond L2."""
PIECE: Final = 8.0
LENGTH: Final = 0.6
"""What each piece costs besides: there 2.3 to 3.3 ns of one line, 4 of three, since what the hardware fetches
ahead begins anew.
"""
NARROW: Final = 8
"""Columns of taps that, with the sums that they meet, registers surely hold."""


def wide_slots(shape: Shape, lanes: int) -> set[int]:
    """Channels of a workgroup: so many vectors, of which there is a whole number, or all."""
    if not _may_lie(shape) or shape.channels % lanes:
        return set()
    return {lanes * v for v in VECTORS if shape.channels % (lanes * v) == 0} | {shape.channels}


def lies(shape: Shape, box: Box, lanes: int) -> bool:
    """Are windows read where they lie, as `is_in_place` of the device and `stays_near` say?"""
    if not _may_lie(shape) or box.slots % lanes:
        return False
    if box.slots == shape.channels:
        return True
    rows, taps, across = shape.conv.height.window, shape.conv.width.window, met_size(shape, box)[1]
    return stays_near(shape.channels * shape.element_bytes, rows, across, taps)


def _may_lie(shape: Shape) -> bool:
    """Is a group a channel, and its element of the sums' type?"""
    is_deep, is_wide = shape.filters * shape.depth > 1, shape.conv.width.window >= NARROW
    is_sum = shape.direction == "backward_weight"
    return shape.is_channels_last and shape.element_bytes >= 4 and not (is_deep or is_wide or is_sum)


def met_size(shape: Shape, box: Box) -> tuple[int, int]:
    """Rows and columns of a workgroup's windows."""
    axes, written = (shape.conv.height, shape.conv.width), (box.rows, box.columns)
    height, width = (
        ((size - 1) * (1 if shape.is_back else axis.stride) + (axis.window - 1) * axis.dilation) // phases + 1
        for axis, size, phases in zip(axes, written, shape.phases, strict=True)
    )
    return height, width


def reading_cycles(shape: Shape, box: Box, machine: CpuMachine, fetched: float | None = None) -> float:
    """Cycles of a workgroup besides those of its multiply-adds.  fetched: those in which its windows go into
    a ring, where they are not read in place.
    """
    read, across = met_size(shape, box)
    near = _anew(shape, box, across, machine) if fetched is None else fetched
    written = prod(shape.written_size) * shape.channels
    whole_bytes = (prod(shape.read_size) * shape.channels + written) * shape.element_bytes
    far = min(1.0, max(0.0, dict(shape.conv.input)["n"] * whole_bytes / machine.l2_bytes - 1))
    lines = FAR * far * whole_bytes / LINE * box.rows * box.columns * box.slots / written
    if box.slots == shape.channels:
        return side_by_side(near, lines)
    piece_lines = max(1.0, box.slots * shape.element_bytes / LINE)
    piece = APART * (1 - far) + PIECE * piece_lines**LENGTH * far
    return side_by_side(near, lines) + (read * across + box.rows * box.columns) * piece


def _anew(shape: Shape, box: Box, across: int, machine: CpuMachine) -> float:
    """Cycles of vectors that come from L2 for each row of taps, if any do."""
    height = shape.conv.height
    taps = height.window / shape.phases[0]
    met_bytes = (taps * height.dilation * across + box.columns) * box.slots * shape.element_bytes
    vectors = box.rows * taps * across * box.slots / machine.lanes(4)
    return ANEW * vectors if met_bytes > _spread(shape, box) * machine.l1_bytes else 0.0


def _spread(shape: Shape, box: Box) -> float:
    """The part of a cache's sets that a workgroup's channels of all pixels can lie in."""
    if box.slots == shape.channels:
        return 1.0
    lines, apart = (-(-channels * shape.element_bytes // LINE) for channels in (box.slots, shape.channels))
    return min(1.0, lines / (apart & -apart))
