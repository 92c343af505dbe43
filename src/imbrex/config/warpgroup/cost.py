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

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from imbrex.cached import cached_property
from imbrex.chip import GpuMachine, ProductRates
from imbrex.config.spent import Spent
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.config.warpgroup.plan import WarpgroupPlan
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.shares import SectionColumns, shares
from imbrex.config.warpgroup.steps import Streams, norm
from imbrex.config.warpgroup.traffic import memory_bytes, read_apart_bytes, scattered_bytes
from imbrex.config.warpgroup.tunings import Column, Tunings, dealt
from imbrex.view.work.streamk import Mode, Tiles, goes_abreast

__all__ = [
    "Costs",
    "ScheduleCost",
    "Scheduled",
    "copy_cycles",
    "cycles_of",
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


def cycles_of(pairs: Sequence[tuple[WarpgroupPlan, TileSchedule]]) -> list[float]:
    """The same of many, in their order; those of one product are priced together."""
    alike = defaultdict[tuple[object, ...], list[int]](list)
    for index, (plan, schedule) in enumerate(pairs):
        c = plan.context
        alike[c, c.details, plan.machine, schedule.mode].append(index)
    found = np.zeros(len(pairs))
    for indices in alike.values():
        plans, schedules = zip(*(pairs[index] for index in indices), strict=True)
        numbers = np.array([schedule.workgroups or 0 for schedule in schedules])
        found[indices] = Scheduled(Tunings.of(*plans), schedules[0].mode, numbers).costs.cycles
    return [float(each) for each in found]


def schedule_cost(plan: WarpgroupPlan, schedule: TileSchedule) -> ScheduleCost:
    """What a schedule of units costs, and why."""
    return Scheduled.of(plan, schedule).cost(0)


def spent(plan: WarpgroupPlan, schedule: TileSchedule) -> Spent:
    """The parts of a schedule's cycles: those of the cluster that has most steps, while all are at work."""
    scheduled = Scheduled.of(plan, schedule)
    cost, streams = scheduled.cost(0), scheduled.streams
    started = min(cost.clusters, plan.units * (cost.parts + 1)) * plan.tuning.cluster
    parallel = {name: cost.longest * float(each[0]) for name, each in streams.at(started).streams.items()}
    ends = 1 if plan.tuning.pingpong else -(-cost.longest // plan.k_iterations)
    after = {
        "results": ends * float(streams.numbers.epilogue[0]) / (cost.parts + 1),
        "partial sums": cost.fix_up,
        "start": float(scheduled.start(started)[0]),
    }
    return Spent({**parallel, "memory": float(scheduled.memory_cycles[0])}, after)


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


@dataclass(frozen=True, eq=False)
class Costs:
    """The same of several."""

    cycles: Column
    clusters: Column
    longest: Column
    parts: Column
    fix_up: Column


@dataclass(frozen=True, eq=False)
class Scheduled:
    """Tunings under schedules of one mode.  workgroups: the schedules' numbers; 0 where they have none."""

    tunings: Tunings
    mode: Mode
    workgroups: Column

    @classmethod
    def of(cls, plan: WarpgroupPlan, schedule: TileSchedule) -> Scheduled:
        """A single one."""
        return cls.alike(Tunings.of(plan), schedule)

    @classmethod
    def alike(cls, tunings: Tunings, schedule: TileSchedule) -> Scheduled:
        """All under the same."""
        return cls(tunings, schedule.mode, np.full(len(tunings), schedule.workgroups or 0))

    def __len__(self) -> int:
        return len(self.tunings)

    def taken(self, which: Column) -> Scheduled:
        """Some of them, by their numbers, or by whether they are meant."""
        return Scheduled(self.tunings.taken(which), self.mode, self.workgroups[which])

    def schedule(self, index: int) -> TileSchedule:
        """The schedule of one."""
        return TileSchedule(self.mode, int(self.workgroups[index]) or None)

    def cost(self, index: int) -> ScheduleCost:
        """What one costs."""
        costs, of = self.costs, self.tunings
        tiles = Tiles(int(of.units[index]), 1, int(of.numbers.k_iterations[index]))
        clusters, longest, parts = (
            int(column[index]) for column in (costs.clusters, costs.longest, costs.parts)
        )
        cycles, fix_up = float(costs.cycles[index]), float(costs.fix_up[index])
        return ScheduleCost(cycles, tiles, clusters, longest, parts, fix_up)

    @property
    def rates(self) -> ProductRates:
        return self.tunings.rates

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.tunings)

    @property
    def memory_cycles(self) -> Column:
        """Cycles of memory, where clusters are at the same step."""
        return self._moved / self.rates.memory_bytes

    def start(self, started: Column | int) -> Column:
        """Cycles until so many workgroups have their first stages, which nothing goes on in parallel."""
        start = self.rates.start + np.where(self.tunings.cluster > 1, self.rates.cluster, 0.0)
        return start + started * self.tunings.numbers.first / self.rates.first_bytes

    @cached_property
    def costs(self) -> Costs:
        """What each costs."""
        if self.mode == "data_parallel":
            return self._whole()
        if self.mode == "cluster_k":
            return self._clustered(np.maximum(self.workgroups, 1))
        return self._shared()

    def _whole(self) -> Costs:
        """Full rounds, and one of those that are left."""
        of, size = self.tunings, self.tunings.cluster
        full, rest = np.divmod(of.units, of.dealt)
        all_at_a_time, last = self.streams.at(of.dealt * size), self.streams.at(rest * size)
        rounds = all_at_a_time.tile + (full - 1) * all_at_a_time.next_tile
        rounds = rounds + np.where(rest > 0, last.next_tile, 0.0)
        spent = np.where(full > 0, rounds, last.tile)
        longest = (full + (rest > 0)) * of.numbers.k_iterations
        cycles = self._in_all(spent, np.minimum(of.units, of.dealt) * size)
        return Costs(cycles, of.dealt, longest, np.zeros_like(longest), np.zeros_like(spent))

    def _clustered(self, parts: Column) -> Costs:
        """cluster_k: clusters in rounds, each of so many parts of K of one unit, which pass their sums on
        through shared memory.
        """
        of, rates, numbers = self.tunings, self.rates, self.tunings.numbers
        size = parts * of.cluster
        rounds = -(-of.units // dealt(size, of.units, of.machine))
        step = self.streams.at(of.units * size / rounds, of.units / rounds, parts).step
        share = -(-numbers.k_iterations // parts)
        fix_up = rates.gathering + (parts - 1) / parts * numbers.sums_bytes / rates.gathered_bytes
        end = rates.turn + self._stores(numbers.columns // parts)
        started = np.minimum(of.units * size, of.machine.compute_units)
        cycles = self._in_all(rounds * (share * step + end), started, again=read_apart_bytes(of))
        cycles = cycles + rounds * fix_up + rates.cluster
        return Costs(cycles, of.units * parts, rounds * share, parts - 1, fix_up)

    def _stores(self, columns: Column) -> Column:
        """Cycles of so many columns of a tile's sums to memory."""
        pairs = zip(self.tunings.tile, columns, strict=True)
        return np.array([self.tunings.tiles[int(tile)].stores(int(count)) for tile, count in pairs])

    @property
    def _sharing(self) -> Column:
        """Clusters that share tiles: those that are asked for, or all that run at a time."""
        return np.where(self.workgroups > 0, self.workgroups, self.tunings.resident)

    @property
    def is_abreast(self) -> Column:
        """Are clusters at the same piece of K neighbours?"""
        of, numbers = self.tunings, self.tunings.numbers
        sums = numbers.rows * numbers.columns
        return np.asarray(
            goes_abreast(self.mode, of.units, numbers.k_iterations, self._sharing, sums, of.cluster)
        )

    def _shared(self) -> Costs:
        """Clusters that bring partial sums together through memory."""
        of, size, mode, count = self.tunings, self.tunings.cluster, self.mode, self._sharing
        k_iterations, is_abreast = of.numbers.k_iterations, self.is_abreast
        shared = shares(mode, of.units, k_iterations, count)
        parts, spent, apart = shared.parts, np.zeros(len(of)), np.zeros(len(of))
        is_spread = ~is_abreast & ((mode == "split_k") | (parts > 0))
        for section in shared.sections:
            spent = spent + self._section(section, is_spread, parts)
            is_apart = (mode != "split_k") & (section.share % section.k_span != 0)
            apart = apart + np.where(is_apart, section.tiles, 0)
        sharing = np.minimum(count, of.resident)
        if mode == "split_k":
            sharing = np.minimum(sharing, of.units * (parts + 1))
        fix_up = self._fix_up(parts, sharing * size)
        rounds = -(-count // of.resident)
        cycles = self._in_all(rounds * spent, np.minimum(count, of.resident) * size, apart) + rounds * fix_up
        longest = np.sum([section.share * (section.tiles > 0) for section in shared.sections], axis=0)
        return Costs(cycles, count, longest, parts, fix_up)

    def _section(self, section: SectionColumns, is_spread: Column, parts: Column) -> Column:
        """Cycles of a section's steps, and of its tiles' ways to memory.  is_spread: are clusters at steps
        of their own?
        """
        of = self.tunings
        at_a_time = np.minimum(of.resident, -(-section.tiles // section.share))
        alike = np.minimum(of.units, at_a_time) if self.mode == "split_k" else at_a_time
        steps = self.streams.at(at_a_time * of.cluster, np.where(is_spread, 1.0, alike))
        ends = -(-section.share // section.k_span)
        spent = section.share * steps.step + ends * self._end(parts)
        return np.where(section.tiles > 0, spent, 0.0)

    def _end(self, parts: Column) -> Column:
        """Cycles for a tile's way to memory.  Where all have one part of one tile (split_k), each stores as
        much of it as the others do.
        """
        end, turn = self.tunings.numbers.epilogue, self.rates.turn
        return np.where(parts > 0, turn + (end - turn) / (parts + 1), end) if self.mode == "split_k" else end

    def _fix_up(self, parts: Column, active: Column) -> Column:
        """Cycles for the sums of tiles that are shared.

        An owner adds the others' sums one after the other; in split_k all send theirs at the same time, and
        each adds up as much of the tile as the others do.
        """
        rates, numbers = self.rates, self.tunings.numbers
        if self.mode == "split_k":
            moved = 2 * numbers.sums_bytes * active
            added = rates.meeting + parts * rates.each + moved / rates.sent_bytes
        else:
            added = rates.meeting + numbers.fix_up + parts * (numbers.fix_up + rates.follow)
        return np.where(parts > 0, added, 0.0)

    @cached_property
    def _moved(self) -> Column:
        """Bytes from and to memory where clusters are at the same step."""
        return memory_bytes(self.tunings, np.minimum(self.tunings.units, self.tunings.resident))

    def _in_all(
        self, spent: Column, started: Column, apart: Column | None = None, again: Column | float = 0.0
    ) -> Column:
        """All cycles.  started: workgroups at the start.  apart: steps of clusters that are each at one of
        their own; again: bytes that come a second time.
        """
        moved = self._moved
        if apart is not None:
            scattered = np.where(apart > 0, scattered_bytes(self.tunings, apart), 0.0)
            moved = np.maximum(moved, scattered)
        memory = (moved + again) / self.rates.memory_bytes
        return np.asarray(norm((spent, memory), self.rates.memory_norm) + self.start(started))


def copy_cycles(moved_bytes: int, launches: int, machine: GpuMachine) -> float:
    """Launches that transpose arrays: bytes read and written."""
    rates = rates_of(machine).product
    return launches * rates.launch + moved_bytes / rates.transposed_bytes
