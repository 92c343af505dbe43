"""The strips of a depthwise convolution: how much of it a work item computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from imbrex.chip import VECTOR_BYTES, WARPGROUPS, GpuMachine, Machine
from imbrex.index.map import Dim
from imbrex.problem.conv import Direction
from imbrex.view.conv.implicit_gemm import Axis, Convolution
from imbrex.view.conv.slide import Slide
from imbrex.view.conv.strips import Strips
from imbrex.view.work.numbering import Shared

__all__ = [
    "MOST_ROW_BYTES",
    "Box",
    "Shape",
    "box_of",
    "filter_row_bytes",
    "filter_strips",
    "has_whole_strides",
    "strips_of",
    "strips_that_serve",
]

ROWS = (28, 14, 7, 4, 2, 1)
"""Rows of a strip, at most."""
HIGH = 14
"""Higher strips are narrow, unless registers hold all that they need."""
FEW_TAPS = 3
"""Rows of a window that need no high strip."""
HELD = 50
"""Elements of a filter in a work item's registers, where channels are neighbours."""
HELD_OF_ALL = 96
"""Elements of a filter, sums and a row of a window in the registers of a work item."""
SLOT_BYTES = 8
"""Bytes of neighbouring channels: more would be fewer lanes for as many bytes."""
TALL_ROWS, MOST_IN_ROW = 4, 40
"""Most rows of a strip, and of a window, where registers hold a row of taps only."""
MOST_TAPS = 64
"""Most taps of a window, which a work item has in registers, or sums of."""
MOST_ROW_BYTES = 262144
"""Most bytes that `filter_row_bytes` may say: a CPU's thread has pixels of whole rows."""
WORKITEMS = (256, 224, 192, 160, 128)
"""Work items of a workgroup, as good as each other; one that divides all leaves none idle."""


class Box(NamedTuple):
    """What a work item has of the array that is written."""

    slots: int
    columns: int
    rows: int
    images: int = 1
    lanes: int = 1


@dataclass(frozen=True)
class Shape:
    """The convolution, which way, and the bytes of an element."""

    conv: Convolution
    direction: Direction
    element_bytes: int

    @property
    def is_back(self) -> bool:
        return self.direction == "backward_data"

    @property
    def filters(self) -> int:
        """Channels of a group that are written."""
        return dict(self.conv.filter)["c" if self.is_back else "k"]

    @property
    def depth(self) -> int:
        """Channels of a group that are read."""
        return dict(self.conv.filter)["k" if self.is_back else "c"]

    @property
    def channels(self) -> int:
        """Channels that are written, of all groups."""
        return self.filters * dict(self.conv.filter)["g"]

    @property
    def is_channels_last(self) -> bool:
        """Does memory run along the channels that are read?"""
        return fastest(self.read) in ("g", "c", "k")

    @property
    def read(self) -> tuple[Dim, ...]:
        """The array of windows."""
        return self.conv.output if self.is_back else self.conv.input

    @property
    def read_size(self) -> tuple[int, int]:
        """Rows and columns of it."""
        return self._size(self.is_back)

    @property
    def written_size(self) -> tuple[int, int]:
        """Rows and columns of the array that strips cut."""
        return self._size(not self.is_back)

    @property
    def phases(self) -> tuple[int, int]:
        """Rows, and columns, that are written until one meets the taps of the first again."""
        return self.conv.strides if self.is_back else (1, 1)

    def _size(self, is_output: bool) -> tuple[int, int]:
        axes = self.conv.height, self.conv.width
        height, width = (axis.out if is_output else axis.image for axis in axes)
        return height, width


def fastest(dims: Sequence[Dim]) -> str:
    """The name of the dim along which memory runs."""
    return [d.name for d in dims if d.size > 1 or d.name == "g"][-1]


def strips_of(shape: Shape, box: Box | None = None) -> Strips:
    """The strips of these boxes, or of those that are chosen where nobody says for which machine."""
    box = box or box_of(shape, WARPGROUPS)
    conv = shape.conv
    height = slide(conv.height, shape.is_back, box.rows)
    width = slide(conv.width, shape.is_back, box.columns)
    sizes = dict(conv.filter) | dict(conv.input)
    vector = 1
    if box.slots == 1 and fastest(shape.read) in ("wi", "wo"):
        vector = width.aligned(VECTOR_BYTES // shape.element_bytes)
    is_sum = shape.direction == "backward_weight"
    images, turns = (1, box.images) if is_sum else (box.images, None)
    made = Strips(
        height, width, sizes["n"], sizes["g"], box.slots, box.lanes, images, vector, WORKITEMS[0], turns
    )
    if not is_sum:
        made = replace(made, filters=shape.filters, depth=shape.depth)
    total = prod(made.numbering.sizes.values())
    return made if is_sum else replace(made, workitems=_dividing(total))


def filter_strips(shape: Shape, box: Box) -> Strips:
    """The gradient of filters where a workgroup has all that some of them meet: what the convolution forward
    would have, of all images.
    """
    forward = replace(shape, direction="forward")
    return strips_of(forward, box._replace(images=dict(shape.conv.input)["n"]))


def filter_row_bytes(shape: Shape, slots: int) -> int:
    """Bytes of the pixels that a row of so many filters' outputs meets, and of that row, as f32."""
    height, width = shape.conv.height, shape.conv.width
    pitch = width.out + (width.window - 1) * width.dilation // width.stride
    met = (1 + (height.window - 1) * height.dilation // height.stride) * height.stride * width.stride
    return 4 * pitch * (met * max(1, slots // shape.filters) * shape.depth + slots)


def _dividing(total: int) -> int:
    return next((w for w in WORKITEMS if total % w == 0), WORKITEMS[0])


def is_tall(shape: Shape) -> bool:
    """Is a window so large that registers hold a row of its taps only?"""
    return shape.conv.height.window * shape.conv.width.window > MOST_TAPS


def is_served(shape: Shape) -> bool:
    """Large windows are for what has the same taps everywhere, and a row of them that registers hold."""
    conv = shape.conv
    has_rows = shape.direction == "forward" or (shape.is_back and conv.strides[0] == 1)
    return not is_tall(shape) or (has_rows and conv.width.window <= MOST_IN_ROW)


def has_whole_strides(shape: Shape) -> bool:
    """Has each axis of an image as many elements as a stride, so that a strip of a gradient may have some?"""
    return all(axis.stride <= axis.image for axis in (shape.conv.height, shape.conv.width))


def slide(axis: Axis, is_back: bool, strip: int) -> Slide:
    read, written = (axis.out, axis.image) if is_back else (axis.image, axis.out)
    return Slide(
        read, written, axis.window, axis.stride, axis.dilation, axis.before, min(strip, written), is_back
    )


def box_of(shape: Shape, machine: Machine) -> Box:
    """What is chosen where nobody says it: of the strips that suit memory and registers the one with most
    rows that leaves all multiprocessors busy.  A machine of whose lanes nothing is known is taken for the one
    that they were timed on.
    """
    timed = machine if isinstance(machine, GpuMachine) and machine.lane_rates is not None else WARPGROUPS
    assert timed.lane_rates is not None, timed
    busy = timed.lane_rates.busy_items * timed.compute_units
    a_round = timed.lane_rates.round_workgroups * timed.compute_units
    boxes = strips_that_serve(shape)
    box = next((b for b in boxes if _items(shape, b) >= busy), boxes[-1])
    return box._replace(images=_turns(shape, box, a_round)) if shape.direction == "backward_weight" else box


def strips_that_serve(shape: Shape) -> tuple[Box, ...]:
    """The boxes that suit memory and registers, of one image each, those with most rows first."""
    return tuple(dict.fromkeys(_with_rows(shape, rows) for rows in ROWS))


def _turns(shape: Shape, box: Box, a_round: int) -> int:
    """Work items of a sum with which rounds of so many workgroups take least, each one turn for the fold."""
    numbering = strips_of(shape, box._replace(images=1)).numbering
    assert isinstance(numbering, Shared), numbering
    blocks, needed = numbering.sizes["g_block"], numbering.shares
    return min(range(1, needed + 1), key=lambda t: (-(-blocks * -(-needed // t) // a_round) * (t + 1), -t))


def _with_rows(shape: Shape, most: int) -> Box:
    """The strip with at most so many rows, and as few as their window needs."""
    conv = shape.conv
    groups, taps = dict(conv.filter)["g"], conv.height.window * conv.width.window
    strides = conv.strides if shape.is_back else (1, 1)
    (rows, columns), read = shape.written_size, shape.read_size
    is_last = fastest(shape.read) == "g"
    if is_tall(shape):
        taps, most = 2 * conv.width.window, min(most, TALL_ROWS)
    rows = even(rows, min(most, _most_rows(shape)), strides[0], conv.height.window)
    if not is_last:
        wide = 4 if read[1] % 4 == columns % 4 == 0 and rows <= HIGH else 2
        return Box(1, min(columns, wide + -wide % strides[1]), rows)
    slots = max(s for s in (4, 2, 1) if s == 1 or (s * taps <= HELD and groups % s == 0))
    slots = min(slots, SLOT_BYTES // shape.element_bytes)
    lanes = min(32, 1 << (-(-groups // slots) - 1).bit_length())
    held = slots * (taps + 4 * conv.height.window + conv.width.window + 3)
    is_high = rows > HIGH and held > HELD_OF_ALL
    is_narrow = is_high or (shape.direction == "forward" and conv.strides[1] > 1)
    return Box(slots, even(columns, 2 if is_narrow else 4, strides[1], conv.width.window), rows, 1, lanes)


def _most_rows(shape: Shape) -> int:
    """Rows of the strips that were fastest on an H200: a stride's windows overlap little."""
    conv = shape.conv
    if max(conv.strides) > 1:
        return 4 if fastest(shape.read) == "g" else 2
    if conv.height.window <= FEW_TAPS or shape.direction == "backward_weight":
        return 7
    return ROWS[0]


def _items(shape: Shape, box: Box) -> int:
    return prod(strips_of(shape, box._replace(images=1)).numbering.sizes.values())


def even(size: int, most: int, multiple: int, window: int) -> int:
    """Among whole multiples up to `most`, at least one, the strip whose windows together are smallest."""
    if size <= most:
        return size
    found = range(multiple, max(most, multiple) + 1, multiple)
    return min(found, key=lambda strip: (-(-size // strip) * (strip + window - 1), -strip))
