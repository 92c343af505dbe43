"""Clocks of an XDLOPS tuning under the schedule `reduce_k`: its pieces of K, and the launch that adds them.

    clocks = rounds * (steps of a piece * clocks of a step + prologue + partial sums / rate of stores)
             + launch + prologue + loads of a tile's slots, eight at a time + bytes of all slots / rate

The rate is that of memory, or of the compute units that have something to add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.context import GemmContext
from imbrex.config.tiles import TileSchedule
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
from imbrex.view.work.streamk import Plan, Tiles

__all__ = ["AT_ONCE", "Reduced", "best_reduction", "pieces_of", "reduced", "reductions"]

AT_ONCE: Final = 8
"""Loads of slots that are under way before the first of them is added."""
ARRIVAL: Final = 750.0
"""Clocks until a compute unit has what another one wrote."""


@dataclass(frozen=True)
class Reduced:
    """A plan whose tiles have so many pieces of K, of so many steps."""

    plan: XdlopsPlan
    pieces: int
    steps: int

    @property
    def workgroups(self) -> int:
        return self.pieces * self.plan.grid_size

    @property
    def schedule(self) -> TileSchedule:
        return TileSchedule("reduce_k", self.workgroups)

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
        """Clocks of both launches."""
        return self._clocks(tile_cost)

    def _clocks(self, cost: Callable[[XdlopsPlan, int], TileCost]) -> float:
        device, found = device_of(modelled(self.plan.machine)), self.sums
        for count, groups in self._rounds:
            stored = groups * self._tile_bytes / device.stored_bytes
            found += count * (self.steps * cost(self.plan, groups).step + device.prologue + stored)
        return found

    @property
    def sums(self) -> float:
        """Clocks of the second launch; 0 where sums are whole."""
        if self.pieces == 1:
            return 0.0
        device = device_of(modelled(self.plan.machine))
        turns = -(-self.pieces // AT_ONCE) * ARRIVAL
        moved = self.workgroups * self._tile_bytes + self.plan.stored_bytes
        rate = min(device.memory_bytes / device.hz, self._adding * device.l2_bytes)
        return device.launch + device.prologue + turns + moved / rate

    @property
    def _adding(self) -> int:
        """Compute units that have workgroups of the second launch: one for each vector of a wave's items."""
        tiles, t, wave = self.plan.wave_tiles, self.plan.tuning, self.plan.machine.wave_size
        assert tiles is not None, t
        vectors = t.m_per_block * t.n_per_block // (wave * tiles.run * tiles.interleave)
        return min(self.plan.machine.compute_units, self.plan.grid_size * vectors)

    @property
    def _rounds(self) -> Iterator[tuple[int, int]]:
        return rounds_of(self.plan, self.workgroups)

    @property
    def _tile_bytes(self) -> int:
        t = self.plan.tuning
        return t.m_per_block * t.n_per_block * self.plan.context.dtype.accumulator.bytes


def reduced(plan: XdlopsPlan, workgroups: int) -> Reduced:
    """The plan's tiles cut for so many workgroups, or a few less."""
    cut = Plan(Tiles(plan.grid_size, 1, plan.k_iterations), workgroups, "reduce_k")
    return Reduced(plan, cut.pieces, -(-plan.k_iterations // cut.pieces))


def pieces_of(plan: XdlopsPlan, schedule: TileSchedule) -> int:
    """Partial sums of a tile that a launch of their own adds; 1 without such a launch."""
    if schedule.mode != "reduce_k" or schedule.workgroups is None:
        return 1
    return reduced(plan, schedule.workgroups).pieces


def reductions(
    tunings: Sequence[XdlopsTuning],
    context: GemmContext,
    machine: GpuMachine,
    workgroups: int | None = None,
) -> list[tuple[Reduced, float]]:
    """Legal tunings that may be the best, with their clocks; the best is the first.

    workgroups: at most so many; without it as many as compute units, or as these hold at a time.
    """
    cut = _all_cut(tunings, context, machine, workgroups)
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
    workgroups: int | None = None,
) -> list[tuple[Reduced, float]]:
    """The first of `reductions`, where there is one."""
    cut = sorted(_all_cut(tunings, context, machine, workgroups), key=lambda one: one.bound)
    bounds = {position: one.bound for position, one in enumerate(cut)}
    closer: list[Callable[[Reduced], float]] = [lambda one: one.closer, lambda one: one.clocks]
    return [(cut[position], clocks) for clocks, position in islice(in_order(cut, bounds, closer), 1)]


def _all_cut(
    tunings: Sequence[XdlopsTuning], context: GemmContext, machine: GpuMachine, workgroups: int | None
) -> list[Reduced]:
    """Legal tunings whose tiles may be cut."""
    plans = [tuning.plan(context, machine) for tuning in tunings]
    return [one for plan in plans for one in _cut(plan, workgroups) if one.pieces > 1]


def _cut(plan: XdlopsPlan, workgroups: int | None) -> dict[Reduced, None]:
    if plan.wave_tiles is None:
        return {}
    once = plan.machine.compute_units
    counts = {once, once * resident_groups(plan)} if workgroups is None else {workgroups}
    return dict.fromkeys(reduced(plan, count) for count in sorted(counts))
