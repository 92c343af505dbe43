"""The strips of a depthwise convolution on any machine, and what windows cost as vectors of a CPU.

cycles = vectors fetched into rings * copy + vectors of sums * (taps * depth / fma_per_cycle + store)
         + taps that are brought into a workgroup's order

Vectors are of channels where these come last; else of pixels, of all filters of a group.  The gradient of
filters is of filters where these fill vectors, else of pixels:

cycles = vectors of pixels * (sums * multiply-add + what planes cost each) + sums * what adding up lanes costs
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from imbrex.chip import CpuMachine, Machine
from imbrex.config.cpu.team import team
from imbrex.config.strips import (
    MOST_ROW_BYTES,
    Box,
    Shape,
    box_of,
    filter_row_bytes,
    filter_strips,
    strips_of,
    strips_that_serve,
)
from imbrex.config.windows_in_place import lies, met_size, reading_cycles, wide_slots
from imbrex.view.conv.strips import Strips

__all__ = ["chosen_box", "served_boxes", "window_cycles", "window_team", "workgroup_strips"]

PARTS = (1, 2, 4, 8)
"""Parts of the rows, each of a workgroup's own; of the columns, where a group has several channels."""
VECTORS = (1, 2, 4)
"""Vectors of channels of a workgroup."""
RING = 0.75
"""Share of L1 that the rows of a ring may take; more wherever a single vector's do."""
SPREAD = 0.75
"""What one more vector costs, of `copy`, whose lanes are one channel of each group."""
TURNED = 8
"""Least lanes of a vector that an instruction turns."""
PLANE = 1.4
"""What a vector of pixels costs, of `copy`, on its way into a ring; under strides of more than two all are
gathered.
"""
TURNS = 2.0
"""What two phases, whose columns take turns, cost of each vector that is stored."""
TURN = 5.2
"""What a vector of one to be turned costs on its way from planes to lanes, or back."""
FILTER_TURN = 6.0
"""The same on its way to the planes of a gradient, which are more than L1 holds."""
PLANES = 6.0
"""Cycles of a vector of pixels on its way into the planes of a gradient."""
TOTAL = 8.0
"""Cycles of adding up the lanes of a sum of pixels, and storing it."""
LINES = 1.75
"""Loads that one of a vector of pixels counts for where it meets one filter: most straddle two lines."""
PLANES_BYTES = 131072
"""Bytes of planes at a time, `planes_bytes` of the device."""
FILTERS = 100.0
"""Cycles of a workgroup of filters besides."""
TAP = 1.25
"""Cycles of each lane of a depthwise tap's vector: 20 of 16 lanes; 8 on a Zen 1 took no more than half."""
HELD = 8.0
"""Cycles of a vector of taps, of lanes whose taps lie in order; of others they are gathered."""


def chosen_box(shape: Shape, machine: Machine) -> Box:
    """What is chosen where nobody says it."""
    if not isinstance(machine, CpuMachine):
        return box_of(shape, machine)
    return min(served_boxes(shape, machine), key=lambda box: window_team(shape, box, machine))


def window_team(shape: Shape, box: Box, machine: CpuMachine) -> float:
    """Cycles of the busiest thread."""
    alone = window_cycles(shape, box, machine)
    return team(alone, _workgroups(shape, box), machine.threads, machine).cycles


def served_boxes(shape: Shape, machine: Machine) -> tuple[Box, ...]:
    """The boxes that suit memory and registers."""
    if not isinstance(machine, CpuMachine):
        return strips_that_serve(shape)
    (rows, columns), lanes = shape.written_size, machine.lanes(4)
    slots = _slots(shape, lanes)
    if _is_filters(shape):
        fewest = min(slots)
        fitting = (s for s in sorted(slots) if s == fewest or filter_row_bytes(shape, s) <= MOST_ROW_BYTES)
        return tuple(Box(s, columns, rows) for s in fitting)
    boxes = _boxes_of_pixels(shape, slots | wide_slots(shape, lanes))
    ringed = [box for box in boxes if box.slots in slots and not lies(shape, box, lanes)]
    held = {box: _ring_bytes(shape, box, lanes) for box in ringed}
    most = max(RING * machine.l1_bytes, min(held.values(), default=0))
    return tuple(box for box in boxes if lies(shape, box, lanes) or held.get(box, most + 1) <= most)


def _boxes_of_pixels(shape: Shape, slots: set[int]) -> list[Box]:
    """The boxes of so many channels; of columns parts, too, where a group has several channels."""
    (rows, columns), (down, across) = shape.written_size, shape.phases
    heights = _parts(rows, PARTS, down)
    return [
        Box(s, w, r)
        for w in _parts(columns, PARTS if _is_deep(shape) else (1,), across)
        for s in sorted(slots)
        for r in heights
    ]


def _parts(size: int, parts: tuple[int, ...], unit: int) -> list[int]:
    """An axis in so many parts, of whole units, the largest first."""
    return sorted({_part(size, part, unit) for part in parts}, reverse=True)


def _part(size: int, parts: int, unit: int) -> int:
    """One of so many parts of an axis, of whole units, or all of it."""
    share = -(-size // parts)
    return min(size, share + -share % unit)


def _slots(shape: Shape, lanes: int) -> set[int]:
    """Channels of a workgroup: whole vectors of whole groups, or of wide ones parts of one or all of it; of
    planes those of a group, too, whose vectors are of pixels.
    """
    filters, channels = shape.filters, shape.channels
    of_group: set[int] = set() if shape.is_channels_last else {filters}
    if filters < lanes:
        return of_group | {min(lanes // filters * filters * v, channels) for v in VECTORS}
    if of_group:
        return of_group
    return {filters} | {lanes * v for v in VECTORS if filters % (lanes * v) == 0}


def _is_by_lanes(shape: Shape, box: Box) -> bool:
    """Do vectors run along channels: where these come last, or rows have fewer pixels than they?"""
    is_narrow = box.columns < box.slots == shape.filters
    return shape.is_channels_last or box.slots > shape.filters or is_narrow


def _is_deep(shape: Shape) -> bool:
    return shape.filters * shape.depth > 1


def window_cycles(shape: Shape, box: Box, machine: CpuMachine) -> float:
    """Cycles of all workgroups on one thread."""
    if _is_filters(shape):
        return _filter_cycles(shape, box, machine)
    conv, prices, lanes = shape.conv, machine.prices, machine.lanes(4)
    rows, columns = box.rows, box.columns
    by_column = 1 if shape.is_back else conv.width.stride
    read, across = met_size(shape, box)
    vectors, depth, phases = float(-(-box.slots // lanes)), shape.depth, prod(shape.phases)
    taps = conv.height.window * conv.width.window * depth
    if _is_by_lanes(shape, box):
        fetch = read * across * _fetched(shape, box, vectors, lanes) * prices.copy
        if shape.is_channels_last and not _is_deep(shape):
            fetch = _reading(shape, box, machine, fetch)
        sums, store = rows * columns * vectors, prices.store_in_place
        if not shape.is_channels_last:
            turned = vectors if box.slots > shape.filters else -(-depth // lanes)
            fetch += read * turned * -(-across // lanes) * lanes * TURN
            store += -(-columns // lanes) * lanes / columns * TURN
    else:
        pixels = by_column * -(-across // (by_column * lanes)) * depth
        fetch = read * pixels * (PLANE * prices.copy if by_column <= 2 else prices.gather)
        run = shape.phases[1]
        sums = rows * -(-columns // (lanes * run)) * run * box.slots
        store = prices.store_in_place + (0 if run == 1 else TURNS if run == 2 else prices.gather)
        vectors = box.slots / lanes
    each = 1 / machine.fma_per_cycle
    if box.slots > 1 and (not _is_by_lanes(shape, box) or shape.filters >= box.slots):
        each += prices.broadcast  # taps, and vectors that straddle lines; or elements that all filters meet
    hold = taps * lanes * TAP
    if _is_deep(shape):
        hold = taps * vectors * (HELD if _is_in_order(shape) else prices.coordinate)
    return _workgroups(shape, box) * (fetch + sums * (taps / phases * each + store) + hold)


def _reading(shape: Shape, box: Box, machine: CpuMachine, fetched: float) -> float:
    """Cycles in which a workgroup's windows of channels come: where they lie, but for a last workgroup of
    fewer channels, or in so many cycles through a ring.
    """
    ringed = reading_cycles(shape, box, machine, fetched)
    if not lies(shape, box, machine.lanes(4)):
        return ringed
    whole, left = divmod(shape.channels, box.slots)
    taps = shape.conv.height.window * shape.conv.width.window
    in_place = reading_cycles(shape, box, machine) + taps * (box.slots - machine.lanes(4)) * TAP
    return (whole * in_place + ringed * (left > 0)) / (whole + (left > 0))


def _filter_cycles(shape: Shape, box: Box, machine: CpuMachine) -> float:
    """The same of the gradient of filters, whose workgroups have all pixels of some channels."""
    height, width, lanes = shape.conv.height, shape.conv.width, machine.lanes(4)
    images, last = dict(shape.conv.input)["n"], shape.is_channels_last
    channels = max(1, box.slots // shape.filters) * shape.depth
    pitch = box.columns + (width.window - 1) * width.dilation // width.stride
    below = (height.window - 1) * height.dilation // height.stride
    each = PLANES if width.stride <= 2 else machine.prices.gather
    windows = (box.rows + below) * height.stride * width.stride * channels
    fetch = windows * -(-pitch // lanes) * (FILTER_TURN * lanes / min(lanes, channels) if last else each)
    parts = -(-(windows + box.rows * box.slots) * pitch * 4 // PLANES_BYTES)
    sums = box.slots * shape.depth * height.window * width.window
    if last and not _is_deep(shape):
        sums, fetch = sums / lanes, windows / lanes * pitch * machine.prices.copy
        multiplied = (sums + box.slots / lanes) * box.rows * box.columns
    elif _is_by_filters(shape, lanes):
        vectors = -(-box.slots // lanes)
        fetch += box.rows * box.columns * vectors * (machine.prices.copy if last else FILTER_TURN)
        sums = sums / box.slots * vectors
        multiplied = sums * box.rows * box.columns
    else:
        turned = FILTER_TURN * lanes / min(lanes, box.slots)
        fetch += box.rows * -(-pitch // lanes) * box.slots * (turned if last else PLANES)
        met = LINES if shape.filters == 1 else 1.0
        multiplied = sums * -(-((box.rows - 1) * pitch + box.columns) // lanes) * met
    totals = sums * TOTAL * (images * parts if parts > 1 else 1) + FILTERS
    return _workgroups(shape, box) * (images * (fetch + multiplied / machine.fma_per_cycle) + totals)


def _is_by_filters(shape: Shape, lanes: int) -> bool:
    """Do vectors run along filters, as `by_filters` of the device says: where these fill them?"""
    return shape.filters % lanes == 0 or shape.filters > 2 * lanes


def _is_in_order(shape: Shape) -> bool:
    """Do the taps of a lane lie as they are held, d behind y and x along lanes, else before them?"""
    last = "c" if shape.is_channels_last else "x"
    return not shape.is_back and shape.conv.filter[-1].name == last


def _fetched(shape: Shape, box: Box, vectors: float, lanes: int) -> float:
    """Vectors of a pixel that go into the ring."""
    if not _is_deep(shape):
        return vectors
    if shape.filters >= box.slots:
        return -(-shape.depth // lanes)
    return vectors * (1 if _is_turned(shape, lanes) else 1 + SPREAD * (shape.depth - 1))


def _is_turned(shape: Shape, lanes: int) -> bool:
    """Is a vector of all that neighbouring groups read turned in its register for each channel of a group?"""
    return lanes >= TURNED and lanes % shape.filters == 0 and lanes // shape.filters * shape.depth <= lanes


def _is_filters(shape: Shape) -> bool:
    return shape.direction == "backward_weight"


def _workgroups(shape: Shape, box: Box) -> int:
    return prod(workgroup_strips(shape, box).numbering.sizes.values())


def workgroup_strips(shape: Shape, box: Box) -> Strips:
    """The strips of a CPU's workgroups, each of one work item."""
    made = filter_strips(shape, box) if _is_filters(shape) else strips_of(shape, box)
    return replace(made, workitems=1)


def _ring_bytes(shape: Shape, box: Box, lanes: int) -> int:
    """Bytes of the rows of a window, of so many channels, as wide as sums are."""
    height, width = shape.conv.height, shape.conv.width
    if not _is_deep(shape):
        across, each = shape.read_size[1] + width.window, box.slots
    else:
        across = met_size(shape, box)[1]
        each = box.slots * (1 if _is_turned(shape, lanes) else shape.depth)
        if shape.filters >= box.slots:
            each = shape.depth
    return ((height.window - 1) * height.dilation // shape.phases[0] + 1) * across * each * 4
