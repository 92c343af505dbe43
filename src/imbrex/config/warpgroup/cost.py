"""Estimated cycles of a warpgroup tuning under a schedule on NVIDIA Hopper.

Over all tiles, workgroups take as many rounds of `steps` as it needs whole ones, or, where they share tiles,
the steps of the longest share and the ways of partial sums through L2.  No schedule is faster than memory,
and partial sums meet when memory has given all.

L2 serves all workgroups together: a round that is not full leaves more of it to each.  Where workgroups are
at different steps of K, neighbours load less of the same at the same time, and operands that L2 does not hold
come from memory several times.

A model for ranking, fitted to times of an H100 and an H200 (`rates`).
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.cached import cached_property
from imbrex.chip import GpuMachine, ProductRates
from imbrex.config.spent import Spent
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.config.warpgroup.plan import WarpgroupPlan
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.steps import Streams, norm
from imbrex.config.warpgroup.traffic import memory_bytes, read_apart_bytes, scattered_bytes
from imbrex.view.work.streamk import Mode, Plan, Tiles, goes_abreast

__all__ = [
    "Priced",
    "ScheduleCost",
    "copy_cycles",
    "schedule_cost",
    "schedule_cycles",
    "spent",
    "warpgroup_cycles",
]


def warpgroup_cycles(plan: WarpgroupPlan) -> float:
    """Cycles of the whole product where each cluster computes whole units."""
    return schedule_cycles(plan, DATA_PARALLEL)


def schedule_cycles(plan: WarpgroupPlan, schedule: TileSchedule) -> float:
    """The same under a schedule over units; as many clusters as the machine runs where it gives no number."""
    return schedule_cost(plan, schedule).cycles


def schedule_cost(plan: WarpgroupPlan, schedule: TileSchedule) -> ScheduleCost:
    """What a schedule of units costs, and why."""
    return Priced(plan).cost(schedule)


def spent(plan: WarpgroupPlan, schedule: TileSchedule) -> Spent:
    """The parts of a schedule's cycles: those of the cluster that has most steps, while all are at work."""
    priced = Priced(plan)
    cost, streams = priced.cost(schedule), priced.streams
    started = min(cost.clusters, plan.units * (cost.parts + 1)) * plan.tuning.cluster
    parallel = {name: cost.longest * each for name, each in streams.at(started).streams.items()}
    ends = 1 if plan.tuning.pingpong else -(-cost.longest // plan.k_iterations)
    after = {
        "results": ends * streams.epilogue / (cost.parts + 1),
        "partial sums": cost.fix_up,
        "start": priced.start(started),
    }
    return Spent({**parallel, "memory": priced.memory_cycles}, after)


@dataclass(frozen=True)
class ScheduleCost:
    """cycles: of the whole product.  tiles: units, and steps of K.  longest: steps of the cluster that has
    most; parts: partial sums that an owner adds at most, which take `fix_up` cycles.
    """

    cycles: float
    tiles: Tiles
    clusters: int
    longest: int
    parts: int = 0
    fix_up: float = 0.0


@dataclass(frozen=True)
class Priced:
    """A plan, whose streams are found once for all schedules."""

    plan: WarpgroupPlan

    @cached_property
    def rates(self) -> ProductRates:
        return rates_of(self.plan.machine).product

    @cached_property
    def resident(self) -> int:
        """Clusters that run at a time."""
        return self.plan.machine.clusters_at_a_time(self.plan.tuning.cluster)

    @cached_property
    def streams(self) -> Streams:
        """The streams of a step of K."""
        return Streams(self.plan)

    @cached_property
    def _tiles(self) -> Tiles:
        return Tiles(self.plan.units, 1, self.plan.k_iterations)

    @property
    def memory_cycles(self) -> float:
        """Cycles of memory, where clusters are at the same step."""
        return self._moved / self.rates.memory_bytes

    @cached_property
    def _costs(self) -> dict[TileSchedule, ScheduleCost]:
        return {}

    def cost(self, schedule: TileSchedule) -> ScheduleCost:
        """Under a schedule of units."""
        if (found := self._costs.get(schedule)) is None:
            found = self._costs[schedule] = self._cost(schedule)
        return found

    def _cost(self, schedule: TileSchedule) -> ScheduleCost:
        if not schedule.is_shared:
            return self._whole()
        if schedule.mode == "cluster_k":
            return self._clustered(schedule.workgroups or 1)
        return self._shared(schedule.mode, schedule.workgroups or self.resident)

    def _whole(self) -> ScheduleCost:
        """Full rounds, and one of those that are left."""
        size = self.plan.tuning.cluster
        full, rest = divmod(self.plan.units, self.resident)
        all_at_a_time, last = self.streams.at(self.resident * size), self.streams.at(rest * size)
        if not full:
            spent = last.tile
        else:
            spent = all_at_a_time.tile + (full - 1) * all_at_a_time.next_tile
            spent += last.next_tile if rest else 0.0
        longest = (full + (rest > 0)) * self._tiles.k
        cycles = self._in_all(spent, min(self.plan.units, self.resident) * size)
        return ScheduleCost(cycles, self._tiles, self.resident, longest)

    def _clustered(self, parts: int) -> ScheduleCost:
        """cluster_k: clusters in rounds, each of so many parts of K of one unit, which pass their sums on
        through shared memory.
        """
        units, size = self.plan.units, parts * self.plan.tuning.cluster
        rounds = -(-units // self.plan.machine.clusters_at_a_time(size))
        streams, others = self.streams, (parts - 1) / parts
        step = streams.at(units * size / rounds, units / rounds, parts).step
        share = -(-self._tiles.k // parts)
        fix_up = self.rates.gathering + others * streams.sums_bytes / self.rates.gathered_bytes
        end = self.rates.turn + streams.stores(self.plan.tuning.n_per_block // parts)
        started, again = min(units * size, self.plan.machine.compute_units), read_apart_bytes(self.plan)
        spent = rounds * (share * step + end)
        cycles = self._in_all(spent, started, again=again) + rounds * fix_up + self.rates.cluster
        return ScheduleCost(cycles, self._tiles, units * parts, rounds * share, parts - 1, fix_up)

    def _shared(self, mode: Mode, count: int) -> ScheduleCost:
        """So many clusters, which bring partial sums together through memory."""
        plan, tiles, resident, size = self.plan, self._tiles, self.resident, self.plan.tuning.cluster
        shape = (plan.tuning.cluster_m, plan.tuning.cluster_n)
        sums = plan.tuning.m_per_block * plan.tuning.n_per_block
        is_abreast = goes_abreast(mode, tiles, count, sums, shape)
        shares = Plan(tiles, count, mode, is_abreast)
        longest = sum(section.share for section in shares.sections)
        parts, spent, apart = _parts(shares), 0.0, 0
        for section in shares.sections:
            is_apart = mode != "split_k" and section.share % section.k_span != 0
            at_a_time = min(resident, -(-section.tiles // section.share))
            is_spread = not is_abreast and (mode == "split_k" or parts > 0)
            alike = min(plan.units, at_a_time) if mode == "split_k" else at_a_time
            steps = self.streams.at(at_a_time * size, 1.0 if is_spread else alike)
            ends = -(-section.share // section.k_span)
            spent += section.share * steps.step + ends * self._end(parts, mode)
            apart += section.tiles if is_apart else 0
        sharing = min(count, resident, plan.units * (parts + 1) if mode == "split_k" else count)
        fix_up = self._fix_up(parts, mode, sharing * size)
        rounds = -(-count // resident)
        cycles = self._in_all(rounds * spent, min(count, resident) * size, apart) + rounds * fix_up
        return ScheduleCost(cycles, tiles, count, longest, parts, fix_up)

    def _end(self, parts: int, mode: Mode) -> float:
        """Cycles for a tile's way to memory.  Where all have one part of one tile (split_k), each stores as
        much of it as the others do.
        """
        end = self.streams.epilogue
        if not parts or mode != "split_k":
            return end
        return self.rates.turn + (end - self.rates.turn) / (parts + 1)

    def _fix_up(self, parts: int, mode: Mode, active: float) -> float:
        """Cycles for the sums of tiles that are shared.

        An owner adds the others' sums one after the other; in split_k all send theirs at the same time, and
        each adds up as much of the tile as the others do.
        """
        if not parts:
            return 0.0
        streams = self.streams
        if mode == "split_k":
            moved = 2 * streams.sums_bytes * active
            return self.rates.meeting + parts * self.rates.each + moved / self.rates.sent_bytes
        return self.rates.meeting + streams.fix_up + parts * (streams.fix_up + self.rates.follow)

    @cached_property
    def _moved(self) -> float:
        """Bytes from and to memory where clusters are at the same step."""
        return memory_bytes(self.plan, min(self.plan.units, self.resident))

    def start(self, started: int) -> float:
        """Cycles until so many workgroups have their first stages, which nothing goes on in parallel."""
        start = self.rates.start + (self.rates.cluster if self.plan.tuning.cluster > 1 else 0.0)
        return start + started * self.streams.first / self.rates.first_bytes

    def _in_all(self, spent: float, started: int, apart: int = 0, again: float = 0.0) -> float:
        """All cycles.  started: workgroups at the start.  apart: steps of clusters that are each at one of
        their own; again: bytes that come a second time.
        """
        moved = max(self._moved, scattered_bytes(self.plan, apart) if apart else 0.0) + again
        return norm((spent, moved / self.rates.memory_bytes), self.rates.memory_norm) + self.start(started)


def _parts(plan: Plan) -> int:
    """Partial sums that an owner adds at most."""
    if all(section.share % section.k_span == 0 for section in plan.sections):
        return 0
    parts = max(-(-section.k_span // section.share) for section in plan.sections)
    return min(parts, plan.workgroups - 1)


def copy_cycles(moved_bytes: int, launches: int, machine: GpuMachine) -> float:
    """Launches that transpose arrays: bytes read and written."""
    rates = rates_of(machine).product
    return launches * rates.launch + moved_bytes / rates.transposed_bytes
