"""Clocks of an XDLOPS tuning whose tiles nobody owns: its pieces of K, and what adds their sums.

    reduce_k   rounds * (steps of a piece * clocks of a step + prologue + partial sums / rate of stores)
               + launch + prologue + loads of a tile's slots, eight at a time + bytes of all slots / rate
    scatter_k  one round + a meeting of the workgroups of a tile + turns * loads of a vector's slots, eight at
               a time + bytes of the slots that a compute unit adds / rate + its part of C / rate of stores

The rate is that of memory, or of the compute units that have something to add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import gcd, inf
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.context import GemmContext
from imbrex.config.tiles import MOST_WORKGROUPS, TileSchedule
from imbrex.config.xdlops.best_first import BEHIND, in_order
from imbrex.config.xdlops.cost import (
    TileCost,
    closer_tile_cost,
    least_tile_cost,
    rounds_of,
    tile_cost,
)
from imbrex.config.xdlops.loop import modelled
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups
from imbrex.timing.kernel import device_of
from imbrex.view.work.streamk import ADDED, Added, Plan, Tiles

__all__ = [
    "AT_ONCE", "Reduced", "best_reduction", "meeting", "pieces_of", "reduced", "reductions",
    "vectors_at_once",
]  # fmt: skip

AT_ONCE: Final = 8
"""Loads of slots that are under way before the first of them is added."""
ARRIVAL: Final = 750.0
"""Clocks until a compute unit has what another one wrote."""
MEETING: Final = 4 * ARRIVAL
"""Clocks from the last store of a workgroup until others of its tile load it: stores arrive, L2 is written
back, the arrival is counted, and seen by who looks.  A guess, with which kernels that are mostly their launch
are not shared so.
"""


@dataclass(frozen=True)
class Reduced:
    """A plan whose tiles have so many pieces of K, of so many steps; mode: of the schedule."""

    plan: XdlopsPlan
    pieces: int
    steps: int
    mode: Added = "reduce_k"

    @property
    def workgroups(self) -> int:
        return self.pieces * self.plan.grid_size

    @property
    def schedule(self) -> TileSchedule:
        return TileSchedule(self.mode, self.workgroups)

    @property
    def bound(self) -> float:
        """No more than `clocks`, without a simulation."""
        return self._clocks(least_tile_cost)

    @property
    def closer(self) -> float:
        """No more than `clocks`, and no less than `bound`."""
        return self._clocks(closer_tile_cost)

    @property
    def clocks(self) -> float:
        """Clocks of all that is launched."""
        return self._clocks(tile_cost)

    def _clocks(self, cost: Callable[[XdlopsPlan, int], TileCost]) -> float:
        device, found = device_of(modelled(self.plan.machine)), self.sums
        for count, groups in self._rounds:
            stored = groups * self._tile_bytes / device.stored_bytes
            found += count * (self.steps * cost(self.plan, groups).step + device.prologue + stored)
        return found

    @property
    def sums(self) -> float:
        """Clocks of what adds the pieces; 0 where sums are whole."""
        if self.pieces == 1:
            return 0.0
        return self._by_those_who_meet if self.mode == "scatter_k" else self._by_a_launch

    @property
    def _by_a_launch(self) -> float:
        device = device_of(modelled(self.plan.machine))
        moved = self.workgroups * self._tile_bytes + self.plan.stored_bytes
        rate = min(device.memory_bytes / device.hz, self._adding * device.l2_bytes)
        return device.launch + device.prologue + self._loads + moved / rate

    @property
    def _by_those_who_meet(self) -> float:
        """A workgroup has a part of the vectors of its work items, whose loads follow each other."""
        device, plan = device_of(modelled(self.plan.machine)), self.plan
        groups = -(-self.workgroups // plan.machine.compute_units)
        vectors = self._vectors * plan.machine.wave_size // plan.block_size
        together = vectors_at_once(vectors, self.pieces)
        turns = -(-vectors // (together * self.pieces))
        part = groups * turns * together / vectors
        stored = part * plan.stored_bytes / plan.grid_size / device.stored_bytes
        loaded = part * self.pieces * self._tile_bytes / device.l2_bytes
        return MEETING + turns * self._loads + loaded + stored

    @property
    def _loads(self) -> float:
        """Clocks of loads of a vector from all slots, which follow each other, so many at a time."""
        return -(-self.pieces // AT_ONCE) * ARRIVAL

    @property
    def _adding(self) -> int:
        """Compute units that have workgroups of the second launch: one for each vector of a wave's items."""
        return min(self.plan.machine.compute_units, self.plan.grid_size * self._vectors)

    @property
    def _vectors(self) -> int:
        """Vectors of a tile, each of the work items of a wave."""
        tiles, t, wave = self.plan.wave_tiles, self.plan.tuning, self.plan.machine.wave_size
        assert tiles is not None, t
        return t.m_per_block * t.n_per_block // (wave * tiles.run * tiles.interleave)

    @property
    def _rounds(self) -> Iterator[tuple[int, int]]:
        return rounds_of(self.plan, self.workgroups)

    @property
    def _tile_bytes(self) -> int:
        t = self.plan.tuning
        return t.m_per_block * t.n_per_block * self.plan.context.dtype.accumulator.bytes


def meeting(machine: GpuMachine) -> int:
    """Workgroups that may wait for each other: as many as compute units of a die, each of which surely runs
    one; any number where launches follow each other, as the lane-level build's.
    """
    return MOST_WORKGROUPS if machine.l2 is None else machine.compute_units // machine.l2.xcds


def vectors_at_once(vectors: int, pieces: int) -> int:
    """Vectors of a work item whose slots are loaded at once: few slots leave loads for several."""
    return gcd(vectors, 1 << (max(1, AT_ONCE // pieces).bit_length() - 1))


def reduced(plan: XdlopsPlan, workgroups: int, mode: Added = "reduce_k") -> Reduced:
    """The plan's tiles cut for so many workgroups, or a few less."""
    cut = Plan(Tiles(plan.grid_size, 1, plan.k_iterations), workgroups, mode)
    return Reduced(plan, cut.pieces, -(-plan.k_iterations // cut.pieces), mode)


def pieces_of(plan: XdlopsPlan, schedule: TileSchedule) -> int:
    """Partial sums of a tile that nobody owns; 1 where sums are whole, or have owners."""
    if schedule.mode not in ADDED or schedule.workgroups is None:
        return 1
    return reduced(plan, schedule.workgroups).pieces


def reductions(
    tunings: Sequence[XdlopsTuning],
    context: GemmContext,
    machine: GpuMachine,
    mode: Added = "reduce_k",
    workgroups: int | None = None,
) -> list[tuple[Reduced, float]]:
    """Legal tunings that may be the best, with their clocks; the best is the first.

    workgroups: at most so many; without it as many as compute units, or as these hold at a time.
    """
    cut = _all_cut(tunings, context, machine, mode, workgroups)
    found, best = list[tuple[Reduced, float]](), inf
    for one in sorted(cut, key=lambda one: one.bound):
        if one.bound >= BEHIND * best:
            break
        found.append((one, one.clocks))
        best = min(best, found[-1][1])
    return sorted(found, key=lambda pair: pair[1])


def best_reduction(
    tunings: Sequence[XdlopsTuning],
    context: GemmContext,
    machine: GpuMachine,
    mode: Added = "reduce_k",
    workgroups: int | None = None,
) -> list[tuple[Reduced, float]]:
    """The first of `reductions`, where there is one."""
    cut = sorted(_all_cut(tunings, context, machine, mode, workgroups), key=lambda one: one.bound)
    bounds = {position: one.bound for position, one in enumerate(cut)}
    closer: list[Callable[[Reduced], float]] = [lambda one: one.closer, lambda one: one.clocks]
    return [(cut[position], clocks) for clocks, position in islice(in_order(cut, bounds, closer), 1)]


def _all_cut(
    tunings: Sequence[XdlopsTuning],
    context: GemmContext,
    machine: GpuMachine,
    mode: Added,
    workgroups: int | None,
) -> list[Reduced]:
    """Legal tunings whose tiles may be cut."""
    plans = [tuning.plan(context, machine) for tuning in tunings]
    return [one for plan in plans for one in _cut(plan, mode, workgroups) if one.pieces > 1]


def _cut(plan: XdlopsPlan, mode: Added, workgroups: int | None) -> dict[Reduced, None]:
    if plan.wave_tiles is None:
        return {}
    once = plan.machine.compute_units
    counts = {once, once * resident_groups(plan)} if workgroups is None else {workgroups}
    cut = [reduced(plan, count, mode) for count in sorted(counts)]
    if mode == "scatter_k":
        cut = [one for one in cut if one.pieces <= meeting(plan.machine)]
    return dict.fromkeys(cut)
