"""WindowRows: a convolution of few channels whose arrays are copied so that a row of a window is one stretch.

    image    [n, h, w, c]   ->   [n, h + pads, w + pads, c']      zeros all around, in memory
    seen as                      [n, h + pads, windows, row]      windows that overlap
    filter   [k, y, x, c]   ->   [k, y, 1, row]                   zeros beyond x and c

c' is the least power of two with which a step of the window is a whole 16 bytes, and a row has x' taps of c'
channels, such that they fill whole rows of shared memory.  The pixels of a row of taps, and the channels of
each, then lie together, with no condition: what is beyond the image is there, and zero.  A row plays the
channels of a window with a single column; windows that follow one another overlap.

The image is the input; in backward data it is the output, whose taps come the other way round.
Law: the convolution of the copies, without padding, has the same sums; it gains products with zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES, WARPGROUPS
from imbrex.index.map import Dim, Entry, Map
from imbrex.index.rule import Embed, Merge, Pad, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.conv.implicit_gemm import Axis, Convolution
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.data_tiled import CHUNKS, Items, in_chunks

__all__ = ["MOST_BYTES", "Image", "WindowRows", "window_rows"]

Image: TypeAlias = Literal["input", "output"]
"""The array whose pixels windows read."""


MOST_BYTES: Final = 64
"""Bytes of a pixel's channels, up to which several taps of a row are worth a stretch of their own."""


@dataclass(frozen=True)
class WindowRows:
    """conv: what is computed.  image: the array whose windows have rows.  channels: c', taps: x', of elements
    of so many bytes.
    """

    conv: Convolution
    image: Image
    channels: int
    taps: int
    element_bytes: int

    @property
    def copied(self) -> Convolution:
        """The convolution of the copies."""
        arrays = {"filter": self.filter.upper, self.image: self.rows.upper}
        height, before = self.conv.height, self.conv.height.span if self.is_turned else 0
        return replace(self.conv, **arrays, strides=(height.stride, 1), padding=((before, 0), (0, 0)))

    @property
    def is_turned(self) -> bool:
        """Is it the gradient of the input, in which taps come the other way round?"""
        return self.image == "output"

    @property
    def channel(self) -> str:
        """The dim that sums run over."""
        return "k" if self.is_turned else "c"

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.taps * self.channels

    @property
    def filter(self) -> Map:
        """The copy of the filter -> the filter."""
        sizes, name = dict(self.conv.filter), self.channel
        more = self.taps - sizes["x"]
        taps = Pad(more, 0) if self.is_turned else Pad(0, more)
        pads = {"x": taps, name: Pad(0, self.channels - sizes[name])}
        padded = over(self.conv.filter).replacing(*((pad, dim, dim) for dim, pad in pads.items()))
        if self.is_turned:
            padded = padded.replacing((Embed((-1,), self.taps - 1), "x", "x"), x=self.taps)
        rows = padded.passing((Merge(), "row", f"x {name}"))
        order = ["c" if self.is_turned else "k", "y", "x", name]
        split: Entry = (Unmerge(), f"x {name}", "row")
        return rows.replacing(split, order=order, **{"x": 1, name: self.row}).map

    @cached_property
    def packed(self) -> tuple[Dim, ...]:
        """The copy of the image in memory."""
        (above, below), (before, after) = self._pads
        height, width = self._names
        more = {height: above + below, width: before + after}
        sizes = {name: size + more.get(name, 0) for name, size in self._array}
        return (*(Dim(name, sizes[name]) for name in ("n", height, width)), Dim(self.channel, self.channels))

    @property
    def placed(self) -> Map:
        """The copy of the image -> the image."""
        pads = dict(zip(self._names, (Pad(*pair) for pair in self._pads), strict=True))
        pads[self.channel] = Pad(0, self.channels - dict(self._array)[self.channel])
        entries = ((pad, name, name) for name, pad in pads.items())
        return over(self._array).replacing(*entries, order=[d.name for d in self.packed]).map

    @property
    def rows(self) -> Map:
        """Windows and their rows -> the copy of the image."""
        height, width = self._names
        _, across = self._axes
        sizes = {width: across.out, self.channel: self.row}
        flat = over(self.packed).passing((Merge(), "flat", f"{width} {self.channel}"))
        moved: Entry = (Embed((across.stride * self.channels, 1)), f"{width} {self.channel}", "flat")
        return flat.replacing(moved, order=["n", height, width, self.channel], **sizes).map

    @property
    def filter_copy(self) -> Boxes:
        """How the filter is copied."""
        return Boxes(self.filter, self.items(over(self.filter.upper)))

    @property
    def image_copy(self) -> Boxes:
        """How the image is copied."""
        flat: Entry = (Merge(), "flat", f"{self._names[1]} {self.channel}")
        return Boxes(self.placed, self.items(over(self.packed).replacing(flat)))

    @property
    def slots(self) -> int:
        """Elements of 16 bytes."""
        return VECTOR_BYTES // self.element_bytes

    @property
    def _array(self) -> tuple[Dim, ...]:
        return self.conv.output if self.is_turned else self.conv.input

    @property
    def _names(self) -> tuple[str, str]:
        return ("ho", "wo") if self.is_turned else ("hi", "wi")

    @property
    def _axes(self) -> tuple[Axis, Axis]:
        """Rows and columns of the image."""
        height, width = self.conv.height, self.conv.width
        return (height.turned, width.turned) if self.is_turned else (height, width)

    @property
    def _pads(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Zeros around the image: before it those of the convolution, behind it what the windows reach."""
        height, width = self._axes
        return _around(height, height.span + 1), _around(width, self.taps, -(-self.slots // self.channels))

    def items(self, array: Stack, workitems: int = 256) -> Items:
        """Who moves what of an array whose last dim holds whole pieces of 16 bytes."""
        *others, last = array.upper
        sizes = {"piece": last.size // self.slots, "slot": self.slots}
        cut = array.replacing((Unmerge(), "piece slot", last.name), order=None, **sizes)
        numbered: Entry = (Merge(), "item", " ".join([*(d.name for d in others), "piece"]))
        return in_chunks(cut.passing(numbered), workitems, CHUNKS)


def _around(axis: Axis, reach: int, multiple: int = 1) -> tuple[int, int]:
    """Zeros before and behind an axis of the image, of which a window reads `reach` from where it begins;
    what there is then is whole pieces.
    """
    end = max(reach + axis.stride * (axis.out - 1), axis.before + axis.image)
    return axis.before, -(-end // multiple) * multiple - axis.before - axis.image


def window_rows(conv: Convolution, element_bytes: int, image: Image = "input") -> WindowRows | None:
    """How a convolution is copied; None where its channels are many, or its taps are apart.

    image: "output" of the gradient of the input, whose windows have to move by one pixel and to begin no
    later than the output.
    """
    slots, height, width = VECTOR_BYTES // element_bytes, conv.height, conv.width
    channels = dict(conv.output)["k"] if image == "output" else dict(conv.input)["c"]
    if conv.is_grouped or width.dilation > 1 or height.window * width.window == 1:
        return None
    if channels * element_bytes > MOST_BYTES:
        return None
    if image == "output" and (conv.strides != (1, 1) or min(height.turned.before, width.turned.before) < 0):
        return None
    powers = (1 << i for i in range(MOST_BYTES.bit_length()))
    counted = next(c for c in powers if c >= channels and width.stride * c % slots == 0)

    def taps(row_bytes: int) -> int:
        row = row_bytes // element_bytes
        return -(-width.window * counted // row) * row // counted

    rates = WARPGROUPS.warpgroup_rates
    assert rates is not None, "its row has them"
    work = rates.rows.taps  # AMD's machines take them, too: nobody measured theirs
    best = min(work, key=lambda row: taps(row) * work[row])
    return WindowRows(conv, image, counted, taps(best), element_bytes)
