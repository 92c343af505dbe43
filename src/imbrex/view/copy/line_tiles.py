"""LineTiles: an array copied to channels last through shared memory, some lines of each plane at a time.

    array    [outer..., channel, line, span]       packed   [.., line, taken of a span..., channel]

A **line** is a stretch of a plane that is whole pieces of 16 bytes, of which all elements are packed, or
every second or third: 16 bytes of a plane that is copied whole, or the rows of an image from one that windows
of one tap read to the next.  Pieces at the end of a span of which nothing is taken are not read.

    read     (workgroup, workitem, turn, slot) -> array       neighbours in memory, a piece each
    written  (workgroup, workitem, turn, slot) -> packed

The law is that of `view.copy.plane_tiles`, whose tiles are whole planes that begin anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Final, NamedTuple

from imbrex.chip import LINE_BYTES, VECTOR_BYTES
from imbrex.index.map import Dim, Entry, Layer, Map, layer_over, passing
from imbrex.index.rule import Embed, Merge, Pad, PassThrough, Slice, Unmerge
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.copy.turned_tile import TurnedTile, launched

__all__ = ["LineTiles", "line_tiles"]

MOST_BYTES: Final = 16 * 1024
"""Most bytes of a tile in shared memory."""
ENOUGH_BYTES: Final = 8 * 1024
"""Bytes of a workgroup that are enough."""
LEAST_ROWS: Final = 4
"""Fewest rows of a tile: two sectors of the caches."""


@dataclass(frozen=True)
class LineTiles:
    """of: what is copied.  plane: its dims in memory, after the channel.  span: elements of a line.
    tile: its `inside` is lines, and what is read of a span.
    """

    of: ChannelsLast
    plane: tuple[Dim, ...]
    span: int
    tile: TurnedTile

    @property
    def workgroups(self) -> int:
        return -(-self._all_tiles // self.tile.tiles)

    @property
    def read(self) -> Map:
        """(workgroup, workitem, turn, slot) -> array."""
        tile, of = self.tile, self.of
        line, column = tile.inside
        lower = (*self.of.ahead, Dim(of.channel, dict(of.array)[of.channel]), *self.plane)
        merged = passing(lower, (Merge(), "place", _names(self.plane)))
        channels: Entry = (Unmerge(), "part row channel", of.channel)
        lines: Entry = (Unmerge(), "block line piece slot", "place")
        counts = {"part": self._parts, "row": tile.rows, "channel": tile.slots}
        counts |= {"block": self._blocks, "line": line.size, "slot": tile.slots}
        split = passing(merged.upper, channels, lines, piece=self.span // tile.slots, **counts)
        kept = passing(split.upper, (Slice(0, column.size // tile.slots), "piece", "piece"))
        names = f"{_names(self.of.ahead)} part block".strip()
        tiled = passing(kept.upper, (Merge(), "tile", names))
        spread = self._launched_over(tiled.upper)
        pieces = passing(spread[0].upper, (Merge(), "item", "tile row channel line piece"))
        spare = tile.read_turns * tile.workitems - tile.pieces
        top = launched(pieces.upper, "item", spare, tile.workitems)
        return Map((*top, pieces, *spread, tiled, kept, split, merged))

    @property
    def written(self) -> Map:
        """(workgroup, workitem, turn, slot) -> packed."""
        of, tile = self.of, self.tile
        counts = {"part": self._parts, "row": tile.rows, "slot": tile.slots}
        split = passing(of.packed, (Unmerge(), "part row slot", of.channel), **counts)
        merged = passing(split.upper, (Merge(), "position", _names(of.inner)))
        sizes = {"block": self._blocks, "position": tile.positions}
        blocks = passing(merged.upper, (Unmerge(), "block position", "position"), **sizes)
        tiled = passing(blocks.upper, (Merge(), "tile", f"{_names(self.of.ahead)} part block".strip()))
        spread = self._launched_over(tiled.upper)
        return Map((*tile.stored(spread[0].upper), *spread, tiled, blocks, merged, split))

    def _launched_over(self, dims: tuple[Dim, ...]) -> tuple[Layer, ...]:
        """(workgroup, tile) over all tiles."""
        over = self.workgroups * self.tile.tiles - self._all_tiles
        padded = (passing(dims, (Pad(0, over), "tile", "tile")),) if over else ()
        sizes = {"workgroup": self.workgroups, "tile": self.tile.tiles}
        above = padded[0].upper if padded else dims
        return (passing(above, (Unmerge(), "workgroup tile", "tile"), **sizes), *padded)

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
        line, _ = self.tile.inside
        return prod(d.size for d in self.plane) // (self.span * line.size)


def line_tiles(
    of: ChannelsLast, element_bytes: int, within: Layer | None = None, workitems: int = 256
) -> LineTiles | None:
    """Where planes are whole pieces of 16 bytes, or, under `within`, what every second or third row of them
    is read from is; and channels fill half a line of the caches.  None elsewhere.

    within: packed rows and columns -> those of the plane in memory.
    """
    slots, channels = VECTOR_BYTES // element_bytes, of.packed[-1].size
    wide = gcd(LINE_BYTES // VECTOR_BYTES, channels // max(1, slots))
    if not of.has_planes(slots) or wide < LEAST_ROWS:
        return None
    plane = of.inner if within is None else within.lower
    found = _Line(1, slots, slots, slots) if within is None else _sampled(within, slots)
    if found is None or prod(d.size for d in plane) % found.span:
        return None
    total, size = prod(d.size for d in plane) // found.span, found.read * wide * VECTOR_BYTES
    lines = max((n for n in range(1, total + 1) if total % n == 0 and n * size <= MOST_BYTES), default=0)
    if not lines:
        return None
    inside = (Dim("line", lines), Dim("column", found.read))
    taken: Entry = (Embed((found.step,)), "taken", "column")
    part = layer_over(inside, (PassThrough(), "line", "line"), taken, taken=found.taken)
    exist = prod(d.size for d in of.packed) // (lines * found.taken * wide * slots)
    tiles = 1 << (min(max(1, ENOUGH_BYTES // (lines * size)), exist).bit_length() - 1)
    own = TurnedTile(wide, tiles, slots, inside, workitems, part if within is not None else None)
    return LineTiles(of, plane, found.span, own)


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


def _names(dims: Sequence[Dim]) -> str:
    return " ".join(d.name for d in dims)
