"""PlaneTiles: an array copied to channels last through memory that a workgroup shares.

    array    [outer..., channel, plane...]     n c hi wi: all channels of an image are one stretch of memory
    packed   [.., plane..., channel]           see `view.copy.channels_last`

A workgroup brings pieces of 16 bytes to shared memory as they lie, and reads them turned
(`view.copy.turned_tile`).  Its tiles are either of two kinds:

    whole planes    of several channels, which together are a stretch of whole pieces where one plane is none:
                    rows begin anywhere, and no box of registers is 16 bytes wide on both sides
    lines           some of each plane at a time: a line is a stretch of it that is whole pieces, of which all
                    elements are packed, or every second or third: 16 bytes of a plane that is copied whole,
                    or the rows of an image from one that windows of one tap read to the next; pieces at its
                    end of which nothing is taken are not read

    read     (workgroup, workitem, turn, slot) -> array       neighbours in memory, guarded beyond the last
    written  (workgroup, workitem, turn, slot) -> packed      guarded likewise

Law: what is read, put, taken and written by one work item after the other goes from `placed` of an element to
the element.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import Final, NamedTuple

from imbrex.chip import LINE_BYTES, VECTOR_BYTES
from imbrex.index.map import Dim, Entry, Layer, Map, joined_names, layer_over
from imbrex.index.query import vector_width
from imbrex.index.rule import Embed, Merge, PassThrough, Slice, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.copy.turned_tile import TurnedTile, launched

__all__ = ["PlaneTiles", "line_tiles", "plane_tiles"]


class Limits(NamedTuple):
    """Bytes: most of a tile in shared memory, and of a workgroup that are enough.  least_rows: of a tile."""

    most_bytes: int
    enough_bytes: int
    least_rows: int


WHOLE: Final = Limits(32 * 1024, 12 * 1024, 2)
"""Several workgroups have room at a time; rows, where the channels allow more, are a sector of the caches."""
LINES: Final = Limits(16 * 1024, 8 * 1024, 4)
"""Rows are two sectors of the caches."""


@dataclass(frozen=True)
class PlaneTiles:
    """of: what is copied.  plane: its dims in memory, after the channel.  below: layers from the copy to
    memory.

    tile: its `inside` is the plane, whose `within` leads from packed positions to it where the array that is
    packed is a part of one that lies so; or, of lines, how many they are, and what is read of a span.  span:
    elements of a line; 0 where tiles are whole planes.
    """

    of: ChannelsLast
    plane: tuple[Dim, ...]
    tile: TurnedTile
    span: int = 0
    below: tuple[Layer, ...] = ()

    @property
    def workgroups(self) -> int:
        return -(-self._all_tiles // self.tile.tiles)

    @property
    def read(self) -> Map:
        """(workgroup, workitem, turn, slot) -> array."""
        return launched(self._lines if self.span else self._stretch, "piece", self.tile.workitems).map

    @property
    def written(self) -> Map:
        """(workgroup, workitem, turn, slot) -> packed."""
        of, tile = self.of, self.tile
        counts = {"part": self._parts, "row": tile.rows, "slot": tile.slots}
        sizes = {"block": self._blocks, "position": tile.positions}
        blocks = (
            over(of.packed)
            .passing((Unmerge(), " ".join(counts), of.channel), **counts)
            .passing((Merge(), "position", joined_names(of.inner)))
            .passing((Unmerge(), " ".join(sizes), "position"), **sizes)
        )
        return Map((*tile.stored(self._launched_over(blocks)).layers, *self.below))

    @property
    def _stretch(self) -> Stack:
        """(workgroup, piece, slot) -> array: of whole planes, one piece after the other."""
        tile = self.tile
        elements = over(self._memory).passing((Merge(), "element", joined_names(self._memory)))
        whole = elements.padded(element=-elements.upper[-1].size % (tile.pieces * tile.slots))
        sizes = {"workgroup": self.workgroups, "piece": tile.pieces, "slot": tile.slots}
        return whole.passing((Unmerge(), " ".join(sizes), "element"), **sizes)

    @property
    def _lines(self) -> Stack:
        """(workgroup, piece, slot) -> array: the pieces of lines that are read."""
        tile = self.tile
        line, column = tile.inside
        channels: Entry = (Unmerge(), "part row channel", self.of.channel)
        lines: Entry = (Unmerge(), "block line piece slot", "element")
        counts = {"part": self._parts, "row": tile.rows, "channel": tile.slots}
        counts |= {"block": self._blocks, "line": line.size, "slot": tile.slots}
        elements = over(self._memory).passing((Merge(), "element", joined_names(self.plane)))
        split = elements.passing(channels, lines, piece=self.span // tile.slots, **counts)
        kept = split.passing((Slice(0, column.size // tile.slots), "piece", "piece"))
        return self._launched_over(kept).passing((Merge(), "piece", "tile row channel line piece"))

    def _launched_over(self, below: Stack) -> Stack:
        """(workgroup, tile) over all tiles."""
        tiles = below.passing((Merge(), "tile", f"{joined_names(self.of.ahead)} part block".strip()))
        sizes = {"workgroup": self.workgroups, "tile": self.tile.tiles}
        spare = -self._all_tiles % self.tile.tiles  # of the last workgroup, which do not exist
        return tiles.padded(tile=spare).passing((Unmerge(), " ".join(sizes), "tile"), **sizes)

    @property
    def _all_tiles(self) -> int:
        return prod(d.size for d in self.of.ahead) * self._parts * self._blocks

    @property
    def _parts(self) -> int:
        """Tiles beside each other along the channels."""
        return self.of.packed[-1].size // (self.tile.rows * self.tile.slots)

    @property
    def _blocks(self) -> int:
        """Tiles after one another along a plane."""
        return prod(d.size for d in self.plane) // (self.span * self.tile.inside[0].size) if self.span else 1

    @property
    def _memory(self) -> tuple[Dim, ...]:
        """The array in memory."""
        return (*self.of.ahead, Dim(self.of.channel, dict(self.of.array)[self.of.channel]), *self.plane)


def plane_tiles(
    of: ChannelsLast, element_bytes: int, within: Layer | None = None, workitems: int = 256
) -> PlaneTiles | None:
    """Tiles of whole planes, where that is how to copy: a box of registers has no 16 bytes of the plane, rows
    have, and a tile fits; None elsewhere.

    within: packed rows and columns -> those of the plane in memory.
    """
    slots = VECTOR_BYTES // element_bytes
    if not of.has_planes(slots):
        return None
    items = of.items(element_bytes, workitems)
    reads = items.map.then(of.placed)
    if within is None and vector_width(reads, "other", items.other) * element_bytes >= VECTOR_BYTES:
        return None
    plane = within.lower if within is not None else of.inner
    row = (prod(d.size for d in plane) | 1) * VECTOR_BYTES
    rows = whole = gcd(LINE_BYTES // VECTOR_BYTES, of.packed[-1].size // slots)
    while rows > 1 and rows * row > WHOLE.most_bytes:
        rows //= 2
    if rows * row > WHOLE.most_bytes or rows < min(whole, WHOLE.least_rows):
        return None
    tiles = _tiles(of, WHOLE, rows * row, prod(d.size for d in of.inner) * rows * slots)
    return PlaneTiles(of, plane, TurnedTile(rows, tiles, slots, plane, workitems, within))


def line_tiles(
    of: ChannelsLast, element_bytes: int, within: Layer | None = None, workitems: int = 256
) -> PlaneTiles | None:
    """Tiles of lines, where planes are whole pieces of 16 bytes, or, under `within`, what every second or
    third row of them is read from is; and channels fill half a line of the caches.  None elsewhere.
    """
    slots, channels = VECTOR_BYTES // element_bytes, of.packed[-1].size
    wide = gcd(LINE_BYTES // VECTOR_BYTES, channels // max(1, slots))
    if not of.has_planes(slots) or wide < LINES.least_rows:
        return None
    plane = of.inner if within is None else within.lower
    found = _Line(1, slots, slots, slots) if within is None else _sampled(within, slots)
    if found is None or prod(d.size for d in plane) % found.span:
        return None
    total, size = prod(d.size for d in plane) // found.span, found.read * wide * VECTOR_BYTES
    lines = max(
        (n for n in range(1, total + 1) if total % n == 0 and n * size <= LINES.most_bytes), default=0
    )
    if not lines:
        return None
    inside = (Dim("line", lines), Dim("column", found.read))
    taken: Entry = (Embed((found.step,)), "taken", "column")
    part = layer_over(inside, (PassThrough(), "line", "line"), taken, taken=found.taken)
    tiles = _tiles(of, LINES, lines * size, lines * found.taken * wide * slots)
    own = TurnedTile(wide, tiles, slots, inside, workitems, part if within is not None else None)
    return PlaneTiles(of, plane, own, found.span)


def _tiles(of: ChannelsLast, limits: Limits, bytes: int, elements: int) -> int:
    """Tiles of a workgroup, a power of two, each of so many bytes in shared memory and packed elements."""
    exist = prod(d.size for d in of.packed) // elements
    return 1 << (min(max(1, limits.enough_bytes // bytes), exist).bit_length() - 1)


class _Line(NamedTuple):
    """A line: of `span` elements the first `read` are, of which every `step`-th is taken."""

    step: int
    span: int
    read: int
    taken: int


def _sampled(within: Layer, slots: int) -> _Line | None:
    """A row of what is packed; None where rows and columns are not what strides divide them into, or pieces
    are no parts of it.
    """
    steps = [s.rule.coefs[0] if isinstance(s.rule, Embed) else 1 for s in within.steps]
    counts = [d.size for d in within.upper]
    if any(c * s != d.size for c, s, d in zip(counts, steps, within.lower, strict=True)):
        return None
    span, used = steps[0] * within.lower[-1].size, steps[1] * (counts[1] - 1) + 1
    return None if span % slots else _Line(steps[1], span, -(-used // slots) * slots, counts[1])
