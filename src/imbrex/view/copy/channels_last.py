"""ChannelsLast: an array copied so that one of its dims, the channels, runs fastest.

    array    [outer..., channel, inner...]     n c hi wi, or k c y x, with a g anywhere
    packed   [outer..., inner..., channel]     n hi wi c, and so on: a transpose of channel and inner

The packed channels are rounded up to a multiple; those beyond the array's own are zero.  Two maps say it:

    placed   packed -> array: what the copy reads, guarded where channels are added
    items    (workgroup, workitem, other, slot) -> packed: who moves what

A work item moves a box of 16 bytes along inner, neighbours in the array, by 16 bytes along the channels,
neighbours in the packed array, as far as the sizes allow.  Eight work items lie side by side along the
channels, so that a wave reads rows of 128 bytes and writes rows of 128 bytes; more where inner is short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import NamedTuple

from imbrex.chip import LINE_BYTES, VECTOR_BYTES
from imbrex.index.map import Dim, Entry, Layer, Map, joined_names, replacing
from imbrex.index.rule import Merge, Pad, PassThrough, Slice, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.copy.data_tiled import Items
from imbrex.view.gemm.product import overhang

__all__ = ["ChannelsLast", "is_channels_last"]


def is_channels_last(array: Sequence[Dim], channel: str) -> bool:
    """Are neighbouring channels neighbours in memory?  Dims of one element do not count."""
    position = [d.name for d in array].index(channel)
    return prod(d.size for d in array[position + 1 :]) == 1


class Box(NamedTuple):
    """Work items of a workgroup along inner and channels, and what each has of both."""

    inner_lanes: int
    other: int
    channel_lanes: int
    slots: int


@dataclass(frozen=True)
class ChannelsLast:
    """array: dims in memory order, one of them named `channel`.  multiple: of channels, once packed."""

    array: tuple[Dim, ...]
    channel: str
    multiple: int = 1

    @property
    def packed(self) -> tuple[Dim, ...]:
        """The dims of the packed array."""
        channels = dict(self.array)[self.channel]
        rounded = Dim(self.channel, -(-channels // self.multiple) * self.multiple)
        return (*self._outer, *self.inner, rounded)

    def spread(self, multiple: int) -> tuple[Layer, ...]:
        """The packed array -> memory in which each pixel, or tap, begins a multiple of so many channels after
        the one before; nothing where they do.  What lies between is nobody's.
        """
        *others, channels = self.packed
        count = channels.size
        pitch = Dim(channels.name, -(-count // multiple) * multiple)
        kept: Entry = (Slice(0, count), channels.name, channels.name)
        return () if pitch == channels else (replacing((*others, pitch), kept),)

    @property
    def moved(self) -> int:
        """Elements that the copy reads and writes."""
        return prod(d.size for d in self.array) + prod(d.size for d in self.packed)

    @property
    def ahead(self) -> tuple[Dim, ...]:
        """Dims of the array ahead of the channel."""
        return self.array[: [d.name for d in self.array].index(self.channel)]

    def has_planes(self, slots: int) -> bool:
        """Does a plane follow each channel in memory, and are channels whole packs of so many, none added?"""
        channels, after = self.packed[-1].size, self.array[len(self.ahead) + 1 :]
        is_whole = slots > 0 and channels % slots == 0 and channels == dict(self.array)[self.channel]
        return is_whole and bool(after) and [d.name for d in after] == [d.name for d in self.inner]

    @property
    def placed(self) -> Map:
        """Packed array -> array."""
        added = self.packed[-1].size - dict(self.array)[self.channel]
        pads = [(Pad(0, added), self.channel, self.channel)] if added else []
        return over(self.array).replacing(*pads, order=[d.name for d in self.packed]).map

    def items(self, element_bytes: int, workitems: int = 256, most: int | None = None) -> Items:
        """Who moves what, of elements of so many bytes; guarded where boxes overhang.

        most: a multiple of what a work item has along inner.
        """
        slots = max(1, VECTOR_BYTES // element_bytes)
        channels, positions = self.packed[-1].size, prod(d.size for d in self.inner)
        together = positions if most is None else gcd(positions, most)
        other = 1 if is_channels_last(self.array, self.channel) else gcd(together, slots)
        spare = workitems // min(workitems, _power_of_two(-(-positions // other)))
        lanes = min(max(LINE_BYTES // VECTOR_BYTES, spare), _power_of_two(-(-channels // slots)))
        boxes = self._boxes(Box(workitems // lanes, other, lanes, slots))
        return Items(boxes.map, dict(boxes.upper)["workgroup"], workitems, other, slots)

    def _boxes(self, box: Box) -> Stack:
        """(workgroup, workitem, other, slot) over the packed array."""
        merged = self._merged()
        boxes = {"box": dict(merged.upper)["inner"] // box.other, "other": box.other}
        cut = merged.replacing((Unmerge(), "box other", "inner"), order=None, **boxes)
        tile = {"box": box.inner_lanes, "channel": box.channel_lanes * box.slots}
        padded = cut.under(*overhang(cut.upper, **tile))
        sizes = dict(padded.upper)
        split = padded.replacing(
            (Unmerge(), "inner_tile inner_lane", "box"),
            (Unmerge(), "channel_tile channel_lane slot", "channel"),
            inner_tile=sizes["box"] // tile["box"],
            inner_lane=box.inner_lanes,
            channel_tile=sizes["channel"] // tile["channel"],
            channel_lane=box.channel_lanes,
            slot=box.slots,
        )
        outer = ["outer"] if "outer" in sizes else []
        tiles = " ".join((*outer, "inner_tile", "channel_tile"))
        return split.passing((Merge(), "workgroup", tiles), (Merge(), "workitem", "inner_lane channel_lane"))

    @property
    def _outer(self) -> tuple[Dim, ...]:
        """The group, and what is before the channel; none where it runs fastest already, and is only rounded
        up.
        """
        return () if is_channels_last(self.array, self.channel) else self._others[: self._before]

    @property
    def inner(self) -> tuple[Dim, ...]:
        """What comes after the outer dims, but for the channel."""
        return self._others[len(self._outer) :]

    @property
    def _others(self) -> tuple[Dim, ...]:
        """All but the channel, the group first: its images are then images of their own."""
        others = [d for d in self.array if d.name != self.channel]
        if is_channels_last(self.array, self.channel):
            return tuple(others)
        return tuple(sorted(others, key=lambda d: d.name != "g"))

    @property
    def _before(self) -> int:
        """How many of the others come before the channel, once the group is first."""
        names = [d.name for d in self.array]
        position = names.index(self.channel)
        return position + ("g" in names[position:])

    def _merged(self) -> Stack:
        """(outer, inner, channel) over the packed array; no outer where there are no such dims."""
        parts = (("outer", self._outer), ("inner", self.inner))
        merges: list[Entry] = [(Merge(), name, joined_names(dims)) for name, dims in parts if dims]
        return over(self.packed).layer(*merges, (PassThrough(), "channel", self.channel))


def _power_of_two(least: int) -> int:
    """The first power of two that is no less."""
    return 1 << (least - 1).bit_length()
