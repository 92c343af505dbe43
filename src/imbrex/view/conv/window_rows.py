"""WindowRows: a convolution of few channels whose arrays are copied so that a row of a window is one stretch.

    input    [n, hi, wi, c]   ->   [n, hi + pads, wi + pads, c']      zeros all around, in memory
    filter   [k, y, x, c]     ->   [k, y, x', c']                     zeros beyond x and c

c' is the least power of two with which a step of the window is a whole 16 bytes, and x' such that x' taps of
c' channels fill whole rows of shared memory.  The pixels of a row of taps, and the channels of each, then lie
together, with no condition: what is beyond the image is there, and zero.  One row of taps plays the channels
of a window with a single column; windows that follow one another overlap.

Law: the convolution of the copies, without padding, has the same sums; it gains products with zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from imbrex.chip import VECTOR_BYTES, WARPGROUPS
from imbrex.index.map import Dim, Entry, Map
from imbrex.index.rule import Merge, Pad, Unmerge
from imbrex.index.stack import over
from imbrex.view.conv.implicit_gemm import Axis, Convolution
from imbrex.view.copy.data_tiled import CHUNKS, Items, in_chunks

__all__ = ["WindowRows", "window_rows"]


@dataclass(frozen=True)
class WindowRows:
    """conv: what is computed.  channels: c', taps: x', of elements of so many bytes."""

    conv: Convolution
    channels: int
    taps: int
    element_bytes: int

    @property
    def copied(self) -> Convolution:
        """The convolution of the copies."""
        return replace(self.conv, filter=self.filter.upper, input=self.input.upper, padding=((0, 0), (0, 0)))

    @property
    def filter(self) -> Map:
        """The copy of the filter -> the filter."""
        sizes = dict(self.conv.filter)
        pads = {"x": Pad(0, self.taps - sizes["x"]), "c": Pad(0, self.channels - sizes["c"])}
        return _padded(self.conv.filter, pads, "k y x c")

    @property
    def input(self) -> Map:
        """The copy of the input -> the input."""
        (top, _), (left, _) = self.conv.padding
        height, width = self.conv.height, self.conv.width
        pads = {
            "hi": Pad(top, self._below(height, height.window, 1)),
            "wi": Pad(left, self._below(width, self.taps, self.slots // self.channels)),
            "c": Pad(0, self.channels - dict(self.conv.input)["c"]),
        }
        return _padded(self.conv.input, pads, "n hi wi c")

    @property
    def slots(self) -> int:
        """Elements of 16 bytes."""
        return VECTOR_BYTES // self.element_bytes

    @staticmethod
    def _below(axis: Axis, window: int, multiple: int) -> int:
        """Zeros after the image: what the windows reach, in whole pieces."""
        reached = axis.dilation * (window - 1) + 1 + axis.stride * (axis.out - 1)
        whole = -(-max(reached, axis.before + axis.image) // multiple) * multiple
        return whole - axis.before - axis.image

    def items(self, packed: tuple[Dim, ...], workitems: int = 256) -> Items:
        """Who moves what of a copy, whose last two dims hold whole pieces of 16 bytes."""
        *others, pixels, channels = packed
        together = self.slots // channels.size
        sizes = {"piece": pixels.size // together, "pixel": together}
        cut = over(packed).replacing((Unmerge(), "piece pixel", pixels.name), order=None, **sizes)
        numbered: Entry = (Merge(), "item", " ".join([*(d.name for d in others), "piece"]))
        pieces = cut.passing(numbered, (Merge(), "slot", f"pixel {channels.name}"))
        return in_chunks(pieces, workitems, CHUNKS)


def window_rows(conv: Convolution, element_bytes: int) -> WindowRows | None:
    """How a convolution is copied; None where its channels fill 16 bytes, or its taps are apart."""
    channels, slots = dict(conv.input)["c"], VECTOR_BYTES // element_bytes
    height, width = conv.height, conv.width
    if conv.is_grouped or channels >= slots or width.dilation > 1 or height.window * width.window == 1:
        return None
    powers = (1 << i for i in range(slots.bit_length()))
    counted = next(c for c in powers if c >= channels and width.stride * c % slots == 0)

    def taps(row_bytes: int) -> int:
        row = row_bytes // element_bytes
        return -(-width.window * counted // row) * row // counted

    rates = WARPGROUPS.warpgroup_rates
    assert rates is not None, "its row has them"
    work = rates.rows.taps  # AMD's machines take them, too: nobody measured theirs
    best = min(work, key=lambda row: taps(row) * work[row])
    return WindowRows(conv, counted, taps(best), element_bytes)


def _padded(array: tuple[Dim, ...], pads: dict[str, Pad], names: str) -> Map:
    """An array with pads and its dims in another order."""
    entries = ((pad, name, name) for name, pad in pads.items())
    return over(array).replacing(*entries, order=names.split()).map
