"""How often a tile of A or B is found in L2, by simulation of who asks for it and when.

Workgroups run in batches of as many as are resident, in the order in which hardware starts them, and move in
step along k: at each step, each asks for one tile of A and one of B. Every die (XCD) has an L2 of its own,
which keeps the tiles that were used last. Timing, writes and other levels of cache are left out: what the
simulation compares is orders of tiles.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from imbrex.index.map import Map

__all__ = ["L2", "CacheTraffic", "traffic"]


@dataclass(frozen=True)
class L2:
    """bytes: of one die's cache; xcds: dies, to which hardware deals workgroups in turn."""

    bytes: int
    xcds: int = 1


@dataclass(frozen=True)
class CacheTraffic:
    """Tiles asked for, and tiles that came from memory."""

    asked: int
    missed: int

    @property
    def hit_rate(self) -> float:
        return 1.0 - self.missed / self.asked


def traffic(order: Map, k_tiles: int, resident: int, cache: L2, tile_bytes: tuple[int, int]) -> CacheTraffic:
    """order: hardware's workgroup number -> (m_tile, n_tile).  tile_bytes: of a tile of A and of B."""
    (count,) = (d.size for d in order.upper)
    (m, n), _ = order.evaluate([np.arange(count)])
    tiles = list(zip(*(np.broadcast_to(x, count).tolist() for x in (m, n)), strict=True))
    dies = [_Recent(cache.bytes) for _ in range(cache.xcds)]
    for start in range(0, count, resident):
        batch = range(start, min(count, start + resident))
        for k in range(k_tiles):
            for w in batch:
                row, column = tiles[w]
                dies[w % cache.xcds].ask((0, row, k), tile_bytes[0])
                dies[w % cache.xcds].ask((1, column, k), tile_bytes[1])
    return CacheTraffic(2 * count * k_tiles, sum(die.missed for die in dies))


class _Recent:
    """What was used last, as much of it as there is room for."""

    def __init__(self, room: int) -> None:
        self.missed = 0
        self._room = room
        self._kept: OrderedDict[tuple[int, int, int], int] = OrderedDict()

    def ask(self, tile: tuple[int, int, int], size: int) -> None:
        if tile in self._kept:
            self._kept.move_to_end(tile)
            return
        self.missed += 1
        self._room -= size
        self._kept[tile] = size
        while self._room < 0:
            self._room += self._kept.popitem(last=False)[1]
