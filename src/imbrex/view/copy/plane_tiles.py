"""PlaneTiles: an array copied to channels last through memory that a workgroup shares.

    array    [outer..., channel, plane...]     n c hi wi: all channels of an image are one stretch of memory
    packed   [.., plane..., channel]           see `view.copy.channels_last`

Where a plane is no multiple of 16 bytes, its rows begin anywhere, and no box of registers is 16 bytes wide on
both sides.  But several channels together are a stretch that is: a workgroup brings some to shared memory as
they lie, 16 bytes a lane, and reads them turned (`view.copy.turned_tile`).

    read     (workgroup, workitem, turn, slot) -> array       neighbours in memory, guarded beyond the last
    written  (workgroup, workitem, turn, slot) -> packed      guarded likewise

Law: what is read, put, taken and written by one work item after the other goes from `placed` of an element to
the element.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod
from typing import Final

from imbrex.chip import LINE_BYTES, VECTOR_BYTES
from imbrex.index.map import Dim, Entry, Layer, Map, layer_over, passing
from imbrex.index.query import vector_width
from imbrex.index.rule import Merge, Pad, Unmerge
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.copy.turned_tile import TurnedTile, launched

__all__ = ["PlaneTiles", "plane_tiles"]

MOST_BYTES: Final = 32 * 1024
"""Most bytes of a tile in shared memory: several workgroups have room at a time."""
ENOUGH_BYTES: Final = 12 * 1024
"""Bytes of a workgroup with which as many workgroups as have room keep memory busy."""
LEAST_ROWS: Final = 2
"""Fewest rows of a tile that is shorter than the channels allow: a sector of the caches."""


@dataclass(frozen=True)
class PlaneTiles:
    """of: what is copied.  tile: its `within` leads from packed positions to the plane in memory, where the
    array that is packed is a part of one that lies so.
    """

    of: ChannelsLast
    tile: TurnedTile

    @property
    def workgroups(self) -> int:
        return -(-self._all_tiles // self.tile.tiles)

    @property
    def read(self) -> Map:
        """(workgroup, workitem, turn, slot) -> array."""
        tile, memory = self.tile, self._memory
        stretch = tile.pieces // tile.tiles * tile.slots
        spare = tile.read_turns * tile.workitems - tile.pieces
        lower = passing(memory, (Merge(), "place", " ".join(d.name for d in memory)))
        over: Entry = (Pad(0, self._over * stretch), "place", "place")
        padded = (passing(lower.upper, over),) if self._over else ()
        sizes = {"workgroup": self.workgroups, "piece": tile.pieces, "slot": tile.slots}
        above = padded[0].upper if padded else lower.upper
        cut = layer_over(above, (Unmerge(), "workgroup piece slot", "place"), order=None, **sizes)
        return Map((*launched(cut.upper, "piece", spare, tile.workitems), cut, *padded, lower))

    @property
    def written(self) -> Map:
        """(workgroup, workitem, turn, slot) -> packed."""
        of, tile = self.of, self.tile
        counts = {"part": self._parts, "row": tile.rows, "slot": tile.slots}
        split = passing(of.packed, (Unmerge(), "part row slot", of.channel), **counts)
        tiles: Entry = (Merge(), "tile", " ".join((*(d.name for d in self.of.ahead), "part")))
        positions: Entry = (Merge(), "position", " ".join(d.name for d in of.inner))
        merged = passing(split.upper, tiles, positions)
        padded = (passing(merged.upper, (Pad(0, self._over), "tile", "tile")),) if self._over else ()
        sizes = {"workgroup": self.workgroups, "tile": tile.tiles}
        above = padded[0].upper if padded else merged.upper
        spread = passing(above, (Unmerge(), "workgroup tile", "tile"), **sizes)
        return Map((*tile.stored(spread.upper), spread, *padded, merged, split))

    @property
    def _over(self) -> int:
        """Tiles of the last workgroup that do not exist."""
        return self.workgroups * self.tile.tiles - self._all_tiles

    @property
    def _all_tiles(self) -> int:
        return prod(d.size for d in self.of.ahead) * self._parts

    @property
    def _parts(self) -> int:
        """Tiles of a plane."""
        return self.of.packed[-1].size // (self.tile.rows * self.tile.slots)

    @cached_property
    def _memory(self) -> tuple[Dim, ...]:
        """The array in memory."""
        return (*self.of.ahead, Dim(self.of.channel, dict(self.of.array)[self.of.channel]), *self.tile.inside)


def plane_tiles(
    of: ChannelsLast, element_bytes: int, workitems: int = 256, within: Layer | None = None
) -> PlaneTiles | None:
    """Where that is how to copy: a box of registers has no 16 bytes of the plane, rows have, and a tile fits;
    None elsewhere.
    """
    slots = VECTOR_BYTES // element_bytes
    if not of.has_planes(slots):
        return None
    items = of.items(element_bytes, workitems)
    reads = items.map.then(of.placed)
    if within is None and vector_width(reads, "other", items.other) * element_bytes >= VECTOR_BYTES:
        return None
    inside = within.lower if within is not None else of.inner
    row = (prod(d.size for d in inside) | 1) * VECTOR_BYTES
    rows = whole = gcd(LINE_BYTES // VECTOR_BYTES, of.packed[-1].size // slots)
    while rows > 1 and rows * row > MOST_BYTES:
        rows //= 2
    if rows * row > MOST_BYTES or rows < min(whole, LEAST_ROWS):
        return None
    exist = prod(d.size for d in of.packed) // (prod(d.size for d in of.inner) * rows * slots)
    tiles = 1 << (min(max(1, ENOUGH_BYTES // (rows * row)), exist).bit_length() - 1)
    return PlaneTiles(of, TurnedTile(rows, tiles, slots, inside, workitems, within))
