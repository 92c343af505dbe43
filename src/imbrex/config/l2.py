"""How often a tile of A or B is found in L2, by simulation of who asks for it and when.

Workgroups run in batches of as many as are resident, in the order in which hardware starts them, and move in
step along k: at each step, each asks for one tile of A and one of B. Every die (XCD) has an L2 of its own,
which keeps the tiles that were used last. Timing, writes and other levels of cache are left out: what the
simulation compares is orders of tiles.

`traffic` follows every step. `sampled` follows one step of a few batches, which says the same wherever a
batch's tiles of all steps do not fit into L2: a step asks for no tile of the step before it, so that all
steps miss alike, and what a batch leaves is gone before the next one asks for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.chip import L2
from imbrex.index.map import Map
from imbrex.view.work.streamk import Plan

__all__ = ["CacheTraffic", "plan_traffic", "sampled", "traffic"]

Coordinates: TypeAlias = npt.NDArray[np.int64]

BATCHES = 4
"""How many batches stand for all."""


@dataclass(frozen=True)
class CacheTraffic:
    """Tiles asked for, and tiles that came from memory."""

    lookups: int
    missed: int

    @property
    def hit_rate(self) -> float:
        return 1.0 - self.missed / self.lookups


def traffic(order: Map, k_tiles: int, resident: int, cache: L2, tile_bytes: tuple[int, int]) -> CacheTraffic:
    """order: hardware's workgroup number -> (m_tile, n_tile), or (batch, m_tile, n_tile).  tile_bytes: of a
    tile of A and of B.
    """
    (count,) = (d.size for d in order.upper)
    tiles = _tiles(order, 0, count)
    dies = [_Recent(cache.bytes) for _ in range(cache.xcds)]
    for start in range(0, count, resident):
        batch = range(start, min(count, start + resident))
        for k in range(k_tiles):
            for w in batch:
                dies[w % cache.xcds].look_up_both(tiles[w], k, tile_bytes)
    return CacheTraffic(2 * count * k_tiles, sum(die.missed for die in dies))


def plan_traffic(plan: Plan, order: Map, cache: L2, tile_bytes: tuple[int, int]) -> CacheTraffic:
    """What `traffic` says, of workgroups that run at once and share tiles by a plan; order: place -> tile."""
    tiles = _tiles(order, 0, plan.tiles.outputs)
    way = [
        [(s.output, k) for s in plan.segments(w) for k in range(s.first, s.end)]
        for w in range(plan.workgroups)
    ]
    dies = [_Recent(cache.bytes) for _ in range(cache.xcds)]
    for time in range(max(map(len, way))):
        for hardware, steps in enumerate(reversed(way)):  # `started` numbers them the other way round
            if time < len(steps):
                position, k = steps[time]
                dies[hardware % cache.xcds].look_up_both(tiles[position], k, tile_bytes)
    return CacheTraffic(2 * sum(map(len, way)), sum(die.missed for die in dies))


def sampled(order: Map, resident: int, cache: L2, tile_bytes: tuple[int, int]) -> CacheTraffic:
    """One step of k of up to BATCHES batches, evenly apart."""
    (count,) = (d.size for d in order.upper)
    starts = np.arange(0, count, resident)
    chosen = starts[np.unique(np.linspace(0, len(starts) - 1, min(BATCHES, len(starts))).astype(int))]
    lookups = missed = 0
    for start in chosen.tolist():
        tiles = _coordinates(order, start, min(count, start + resident))
        lookups += 2 * tiles.shape[1]
        missed += _missed(tiles, cache, tile_bytes)
    return CacheTraffic(lookups, missed)


def _missed(tiles: Coordinates, cache: L2, tile_bytes: tuple[int, int]) -> int:
    """Tiles that dies miss at one step: each once, where a die has room for all that it asks for."""
    *batch, m, n = tiles
    rows, columns = (_unlike([*batch, x], cache.xcds) for x in (m, n))
    fits = rows * tile_bytes[0] + columns * tile_bytes[1] <= cache.bytes
    missed = int((rows + columns)[fits].sum())
    for die in np.flatnonzero(~fits).tolist():
        recent = _Recent(cache.bytes)
        for tile in tiles[:, die :: cache.xcds].T.tolist():
            recent.look_up_both(tile, 0, tile_bytes)
        missed += recent.missed
    return missed


def _unlike(coordinates: Sequence[Coordinates], dies: int) -> npt.NDArray[np.int64]:
    """How many tiles of an operand each die asks for, of workgroups that go to one die after another."""
    die = np.arange(coordinates[0].size) % dies
    number = die
    for x in coordinates:
        number = number * (int(x.max()) + 1) + x
    _, first = np.unique(number, return_index=True)
    return np.bincount(die[first], minlength=dies)


def _tiles(order: Map, start: int, end: int) -> list[tuple[int, ...]]:
    """The tiles of the workgroups from start on."""
    return list(zip(*_coordinates(order, start, end).tolist(), strict=True))


def _coordinates(order: Map, start: int, end: int) -> Coordinates:
    """The same, a column each."""
    coords, _ = order.evaluate([np.arange(start, end)])
    return np.stack([np.broadcast_to(x, end - start) for x in coords])


class _Recent:
    """What was used last, as much of it as there is room for."""

    def __init__(self, capacity: int) -> None:
        self.missed = 0
        self._free = capacity
        self._kept: OrderedDict[tuple[int, ...], int] = OrderedDict()

    def look_up_both(self, tile: Sequence[int], k: int, sizes: tuple[int, int]) -> None:
        """A's tile and B's of an output tile at a step of k."""
        *batch, m, n = tile
        self.look_up((0, *batch, m, k), sizes[0])
        self.look_up((1, *batch, n, k), sizes[1])

    def look_up(self, tile: tuple[int, ...], size: int) -> None:
        if tile in self._kept:
            self._kept.move_to_end(tile)
            return
        self.missed += 1
        self._free -= size
        self._kept[tile] = size
        while self._free < 0:
            self._free += self._kept.popitem(last=False)[1]
