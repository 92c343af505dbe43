"""Depthwise windows of channels that come last, read by a CPU where they lie: which do, and what that costs.

cycles = vectors that come from L2 for each row of taps, where L1 has no place for what a row of sums meets
         + pieces of neighbours, each of which lies apart from the next

or, of arrays beyond L2, whose lines take longer than those vectors and hide them,

cycles = lines * FAR + pieces * PIECE * (lines of a piece)^LENGTH

A workgroup goes along its columns, and of some of them along its channels, before it goes to the next row:
one that has all columns and channels reads and writes arrays as they lie, in one piece.
"""

from __future__ import annotations

from math import prod
from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.cpu.crowding import stays_near
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
"""What each piece costs besides: there 2.3 to 3.3 ns of one line, 4 of three, 80 to 100 of 180 lines, since
what the hardware fetches ahead begins anew.
"""
LINE: Final = 64
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
    is_far = dict(shape.conv.input)["n"] * whole_bytes > machine.l2_bytes
    slot_bytes = box.slots * shape.element_bytes
    if box.slots < shape.channels:
        pieces, piece_bytes = read * across + box.rows * box.columns, float(slot_bytes)
    else:
        piece_bytes = (across + box.columns) / 2 * slot_bytes
        pieces = read * (across < shape.read_size[1]) + box.rows * (box.columns < shape.written_size[1])
    if not is_far:
        return near + APART * pieces * (box.slots < shape.channels)
    lines = whole_bytes / LINE * box.rows * box.columns * box.slots / written
    return max(near, FAR * lines) + PIECE * pieces * max(1.0, piece_bytes / LINE) ** LENGTH


def _anew(shape: Shape, box: Box, across: int, machine: CpuMachine) -> float:
    """Cycles of vectors that come from L2 for each row of taps, if any do."""
    height = shape.conv.height
    taps = height.window / shape.phases[0]
    met_bytes = (taps * height.dilation * across + box.columns) * box.slots * shape.element_bytes
    vectors = box.rows * taps * across * box.slots / machine.lanes(4)
    return ANEW * vectors if met_bytes > machine.l1_bytes else 0.0
