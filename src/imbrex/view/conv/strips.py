"""Strips: what a work item has of a depthwise convolution, and where it lies.

`slots` neighbouring channels of a strip of `columns` by `rows` of one array, the window of the other array
that they meet, of `images` images.  Lanes lie side by side along what memory runs along: channels where they
come last, `lanes` work items of them; else strips of a row.  All maps start with what the numbering numbers:

    window    (workgroup, workitem, image or turn, row, column, slot)     rows and columns of a strip's window
    strip     the same                                                    rows and columns of a strip
    filter    (workgroup, workitem, place)         all taps of the slots, in the order of memory

Of groups of several channels slots are those that are written; `windows` and `taps` have the channels of a
slot's group that are read as a dim of their own, depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from imbrex.cached import cached_property
from imbrex.index.map import Dim, Entry, Layer, replacing, unchanged
from imbrex.index.rule import Broadcast, Embed, Fixed, Merge, Pad, PassThrough, Quotient, Slice, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.conv.slide import Alike, Piece, Slide
from imbrex.view.work.numbering import Each, Numbering, Shared

__all__ = ["Strips"]

NONE: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True)
class Strips:
    """count, groups: images and groups of the arrays.  images, slots: of a work item.  lanes: along
    channels, side by side.  vector: columns that one access may bring.  turns: of a work item that adds up
    over strips; None where each strip is one work item's.  filters, depth: channels of a group that are
    written, and that are read.
    """

    height: Slide
    width: Slide
    count: int
    groups: int
    slots: int
    lanes: int
    images: int
    vector: int
    workitems: int
    turns: int | None = None
    filters: int = 1
    depth: int = 1

    @cached_property
    def numbering(self) -> Numbering:
        sizes = {
            "n_tile": -(-self.count // self.images),
            "g_block": -(-self.channels // (self.lanes * self.slots)),
            "h_strip": self.height.strips,
            "w_strip": self.width.strips,
            "g_lane": self.lanes,
        }
        return (
            Each(sizes, self.workitems) if self.turns is None else Shared(sizes, self.workitems, self.turns)
        )

    @property
    def channels(self) -> int:
        """Channels that are written, of all groups."""
        return self.groups * self.filters

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return self.width.pieces(self.vector)

    @property
    def low(self) -> tuple[int, int]:
        """The first row and column of a window, the column such that its vectors are whole."""
        return self.height.reads[0], self.pieces[0].first // self.vector * self.vector

    @property
    def window_size(self) -> tuple[int, int]:
        """Rows and columns of a window."""
        last = self.pieces[-1]
        columns = last.first + last.width - self.low[1]
        return self.height.reads[-1] - self.low[0] + 1, columns + -columns % self.vector

    def window(self, dims: Sequence[Dim], rows: str, columns: str) -> tuple[Layer, ...]:
        """Window over an array with these dims, whose rows and columns have these names."""
        axes = {rows: ("row", "h_strip", self.height, 0), columns: ("column", "w_strip", self.width, 1)}
        pads: dict[str, Entry] = {}
        slid: dict[str, Entry] = {}
        for name, (inner, strip, axis, i) in axes.items():
            low, extent = self.low[i], self.window_size[i]
            before = max(0, -low)
            after = max(0, (axis.strips - 1) * axis.step + low + extent - axis.read)
            pads[name] = _pad(before, after, name)
            slid[name] = (Embed((axis.step, 1), low + before), f"{strip} {inner}", name)
        return self._array(dims, pads, slid, {"row": self.window_size[0], "column": self.window_size[1]})

    def tall_window(self, dims: Sequence[Dim], rows: str, columns: str) -> tuple[Layer, ...]:
        """The same by taps: (.., image, tap, row, column, slot), the row of a window that a row of a strip
        meets at a row of taps.
        """
        axis, extent = self.height, self.window_size[1]
        _, by_row, by_tap = axis.slopes
        assert axis.stride == 1 or not axis.is_back, "the taps of strides are not those of their neighbours"
        origin = axis.before if axis.is_back else -axis.before
        low = origin + min(0, by_tap * (axis.taps - 1))
        last = origin + (axis.strips - 1) * axis.step + (axis.strip - 1) * by_row
        before, after = max(0, -low), max(0, last + max(0, by_tap * (axis.taps - 1)) + 1 - axis.read)
        left, width = max(0, -self.low[1]), self.width
        right = max(0, (width.strips - 1) * width.step + self.low[1] + extent - width.read)
        pads = {rows: _pad(before, after, rows), columns: _pad(left, right, columns)}
        slid: dict[str, Entry] = {
            rows: (Embed((axis.step, by_tap, by_row), origin + before), "h_strip tap row", rows),
            columns: (Embed((width.step, 1), self.low[1] + left), "w_strip column", columns),
        }
        return self._array(dims, pads, slid, {"tap": axis.taps, "row": axis.strip, "column": extent})

    def windows(self, dims: Sequence[Dim], rows: str, columns: str) -> tuple[Layer, ...]:
        """The same by all taps: (.., image, row, y, column, x, slot), what each element of a strip meets, if
        anything: under the strides of a gradient of images not every tap meets one.
        """
        axes = {
            rows: ("h_strip row y", self.height),
            columns: ("w_strip column x", self.width),
        }
        pads: dict[str, Entry] = {}
        slid: dict[str, Entry] = {}
        sizes = dict[str, int]()
        for name, (numbers, axis) in axes.items():
            by_strip, by_row, by_tap = axis.slopes
            origin, reach = axis.before if axis.is_back else -axis.before, by_tap * (axis.taps - 1)
            before = max(0, -origin - min(0, reach))
            last = origin + (axis.strips - 1) * by_strip + (axis.strip - 1) * by_row + max(0, reach)
            if axis.is_back and axis.stride > 1:
                pads[name], sizes[name] = (Quotient(axis.stride, before), name, name), before + last + 1
            else:
                pads[name] = _pad(before, max(0, last + 1 - axis.read), name)
            slid[name] = (Embed((by_strip, by_row, by_tap), origin + before), numbers, name)
        height, width = self.height, self.width
        box = {"row": height.strip, "y": height.taps, "column": width.strip, "x": width.taps}
        box["depth"] = self.depth
        return self._array(dims, pads, slid, box, sizes)

    def taps(self, dims: Sequence[Dim]) -> tuple[Layer, ...]:
        """The filter as (.., y, x, depth, slot)."""
        cut = self._cut(dims, "y x depth g_block g_lane slot")
        return cut.under(*self.numbering.layers(cut.upper)).layers

    def strip(self, dims: Sequence[Dim], rows: str, columns: str) -> tuple[Layer, ...]:
        axes = {rows: ("row", "h_strip", self.height), columns: ("column", "w_strip", self.width)}
        pads: dict[str, Entry] = {}
        cut: dict[str, Entry] = {}
        for name, (inner, strip, axis) in axes.items():
            pads[name] = _pad(0, axis.strips * axis.strip - axis.written, name)
            cut[name] = (Unmerge(), f"{strip} {inner}", name)
        return self._array(dims, pads, cut, {"row": self.height.strip, "column": self.width.strip})

    def filter(self, dims: Sequence[Dim], order: str) -> tuple[Layer, ...]:
        """order: of "slot", "y" and "x" in a place; without "y", the row of taps is a number before it."""
        placed = over(dims).under(*self.places(dims, order))
        return placed.under(*self.numbering.layers(placed.upper)).layers

    def places(self, dims: Sequence[Dim], order: str) -> tuple[Layer, ...]:
        """Map from (place, g_block, g_lane) to the filter."""
        tap = ["y"] if "y" not in order.split() else []
        cut = self._cut(dims, "g_block g_lane slot y x")
        return cut.layer(*unchanged(tap), (Merge(), "place", order), *unchanged(["g_block", "g_lane"])).layers

    def _cut(self, dims: Sequence[Dim], order: str) -> Stack:
        """A filter's channels as those of blocks, lanes and slots, over the layers that count them up."""
        below, sizes = self._padded(dims, {}, "depth" in order.split()), self.numbering.sizes
        counts = {"g_block": sizes["g_block"], "g_lane": sizes["g_lane"], "slot": self.slots}
        return below.replacing((Unmerge(), " ".join(counts), "g"), order=order.split(), **counts)

    def piece(self, dims: Sequence[Dim], piece: Piece) -> Layer:
        """Only these columns of a window that is seen by these dims, in memory or in registers."""
        first = piece.first - self.low[1]
        return replacing(dims, (Slice(first, first + piece.width), "column", "column"))

    def registers(self, rows: int | None = None) -> tuple[Dim, ...]:
        """Registers of a row of a window, or of a strip with so many rows."""
        if rows is None:
            return Dim("column", self.window_size[1]), Dim("slot", self.slots)
        return Dim("row", rows), Dim("column", self.width.strip), Dim("slot", self.slots)

    def met_columns(self, along: Literal["n", "k"]) -> Iterator[tuple[Alike, Layer, Layer]]:
        """What taps of a row multiply, those together that do so alike, as operands of a product: columns are
        along n or k, taps along the other.  Registers of a window's row as (slot, k, n), of a strip as
        (row, slot, m, n) or as (row, slot, k, m), m 1.  Sums over columns of strides are a product a tap: in
        one, which goes column by column, they have taken 1.2 times as long.
        """
        window, strip = self.registers(), self.registers(self.height.strip)
        across, order = ("k", "row slot m n") if along == "n" else ("n", "row slot k m")
        is_joined = along == "n" or self.width.stride == 1
        for taps in self.width.alike(self.low[1], self.width.taps if is_joined else 1):
            run, sizes = taps.run, {along: taps.run.length, across: taps.taps}
            seen: Entry = (Embed((taps.step, run.step), run.first), f"{across} {along}", "column")
            own: Entry = (Embed((run.stride,), run.start), along, "column")
            yield (
                taps,
                replacing(window, seen, order=["slot", "k", "n"], **sizes),
                replacing(strip, own, (Broadcast(), "m", ""), order=order.split(), m=1, **sizes),
            )

    def _array(
        self,
        dims: Sequence[Dim],
        pads: dict[str, Entry],
        cuts: dict[str, Entry],
        box: dict[str, int],
        padded: Mapping[str, int] = NONE,
    ) -> tuple[Layer, ...]:
        """padded: sizes above pads that do not settle them."""
        pads = {**pads, "n": _pad(0, -self.count % self.images, "n")}
        below = self._padded(dims, pads, "depth" in box, padded)
        images: Entry = (Unmerge(), "n_tile image", "n")
        channels: Entry = (Unmerge(), "g_block g_lane slot", "g")
        inner = {"image": self.images, **box, "slot": self.slots}
        sizes = {**self.numbering.sizes, **inner}
        cut = below.replacing(*cuts.values(), images, channels, order=list(sizes), **sizes)
        return cut.under(*self.numbering.layers(cut.upper)).layers

    def _padded(
        self, dims: Sequence[Dim], pads: dict[str, Entry], is_deep: bool, sizes: Mapping[str, int] = NONE
    ) -> Stack:
        """Channels that are written, of all groups, as "g", counted up to whole lanes, and other pads.

        is_deep: channels of a group that are read are "depth"; else there are none, or one.  sizes: above
        pads that do not settle them.
        """
        more = self.numbering.sizes["g_block"] * self.lanes * self.slots - self.channels
        written, read = ("c", "k") if self.height.is_back else ("k", "c")
        names = {d.name for d in dims}
        ours: list[Entry] = []
        if read in names:
            ours.append((PassThrough(), "depth", read) if is_deep else (Fixed(0), "", read))
        if self.filters == 1:
            ours += [(Fixed(0), "", written)] if written in names else []
            return over(dims).replacing(*ours, _pad(0, more, "g"), *pads.values(), order=None, **sizes)
        ours += [(PassThrough(), "member", written)] if written in names else [(Broadcast(), "member", "")]
        apart = over(dims).replacing(*ours, member=self.filters).passing((Merge(), "g", "g member"))
        return apart.replacing(_pad(0, more, "g"), *pads.values(), order=None, **sizes)


def _pad(before: int, after: int, name: str) -> Entry:
    """No pad where there is none: what lies outside of all numbers has a guard of its own."""
    return (Pad(before, after) if before or after else PassThrough(), name, name)
