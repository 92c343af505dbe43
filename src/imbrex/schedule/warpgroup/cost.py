"""Estimated cycles of a warpgroup tuning on NVIDIA Hopper: what the slowest of its streams needs.

A step of K multiplies, reads shared memory, asks its copy engine for rows and gets them from L2 at the same
time, and its loads come after a latency that the stages of the ring hide, as far as there are stages: the
slowest of these streams sets the time, and those that are nearly as slow add to it.  A tile ends with the way
of its sums to memory, which cooperative consumers wait for and pingpong ones do under each other's products.
Over all tiles, workgroups take as many rounds as it needs whole ones, or, where they share tiles, the steps
of the longest share and the ways of partial sums through L2.  No schedule is faster than memory.

L2 serves all workgroups together: a round that is not full leaves more of it to each.  Where workgroups are
at different steps of K, neighbours load less of the same at the same time, and operands that L2 does not hold
come from memory several times.

A model for ranking, fitted to times of an H100 and an H200 (`rates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from imbrex.schedule.context import SAMPLE, Access, GemmContext
from imbrex.schedule.tiles import DATA_PARALLEL, TileSchedule
from imbrex.schedule.warpgroup.plan import (
    RESIDENT,
    ROWS,
    WARPGROUP,
    WarpgroupPlan,
    divides,
    instruction_of,
    resident_clusters,
    stretch,
)
from imbrex.schedule.warpgroup.rates import RATES
from imbrex.schedule.warpgroup.traffic import Rows, memory_bytes, rows_of, scattered_bytes
from imbrex.view.shared_tile import SharedTile
from imbrex.view.streamk import Mode, Plan, Tiles, goes_abreast

__all__ = ["ScheduleCost", "copy_cycles", "crosses", "schedule_cost", "schedule_cycles", "warpgroup_cycles"]

SUM_BYTES: Final = 4
VECTOR_BYTES: Final = 16
"""What TMA wants of neighbours in memory."""
COPY_BYTES: Final = 4
"""The least that a load brings to shared memory past the registers."""
AT_A_TIME: Final[Mapping[int, int]] = {**RESIDENT, 8: 112}
"""Workgroups of clusters of a size that run at a time; of 8, two in each part of the GPU that has 16."""
STORE_PENALTY: Final = {8: 2.0, 4: 3.0, 2: 5.0, 1: 8.0}
"""Bytes of an ordinary store, where neighbours are too few for TMA -> its time, in proportion to TMA's."""
TURNED_PENALTY: Final = 1.3
"""Of stores along the rows, which the fragments of sums do not lie along."""


@dataclass(frozen=True)
class Steps:
    """The streams of a plan.  active: workgroups that run at a time, on average over the rounds.  is_apart:
    neighbours are at steps of their own.
    """

    plan: WarpgroupPlan
    active: float
    is_apart: bool = False

    @cached_property
    def _rows(self) -> tuple[tuple[Rows, int], ...]:
        """Of A's and of B's tile, each with the workgroups that load it together."""
        t, plan, c = self.plan.tuning, self.plan, self.plan.oriented
        return (
            (rows_of(c.a, plan.a_tile, c.m, c), t.cluster_n),
            (rows_of(c.b, plan.b_tile, c.n, c), t.cluster_m),
        )

    @property
    def copies(self) -> float:
        """Cycles of a step of a multiprocessor's copy engine."""
        return RATES.row * sum(_asked(rows) * _size(rows) / sharing for rows, sharing in self._rows)

    @property
    def given(self) -> float:
        """Cycles of L2 for a step of all workgroups."""
        return sum(self._given(rows, sharing) for rows, sharing in self._rows) * self.active / RATES.l2_rows

    def _given(self, rows: Rows, sharing: int) -> float:
        """Rows that reach L2, as work.  Those on sectors that neighbours load at about the same time are one
        load, unless they are multicast in a cluster.
        """
        split = 1.0 + (RATES.split_row - 1.0) * (rows.crossing + rows.inside)
        alike = RATES.apart if self.is_apart else RATES.together
        part = 1.0 / sharing if sharing > 1 or rows.inside else alike
        return _size(rows) * split * part * (RATES.walked if rows.is_walked else 1.0)

    @property
    def matrix(self) -> float:
        """Cycles of the matrix unit: all instructions of a step, or a consumer's, one after the other."""
        t, machine = self.plan.tuning, self.plan.machine
        used, issues = instruction_of(self.plan.context.dtype, t.n_per_block), self._issues
        slowed = RATES.matrix + RATES.power * self.active / machine.compute_units
        chain = issues / (1 if t.pingpong else t.consumers) * RATES.product
        return max(issues * used.cycles[machine.chip] * slowed, chain)

    @property
    def _issues(self) -> int:
        """Matrix instructions of a step."""
        t = self.plan.tuning
        depth = instruction_of(self.plan.context.dtype, t.n_per_block).k
        return t.m_per_block // ROWS * -(-t.k_per_block // depth)

    @cached_property
    def step(self) -> float:
        """Cycles of a step of K."""
        t, dtype = self.plan.tuning, self.plan.context.dtype
        depth = instruction_of(dtype, t.n_per_block).k
        shared = self._issues * (ROWS + t.n_per_block) * depth * dtype.bytes / RATES.shared_bytes
        hidden = RATES.answer / (t.stages - 1)
        return _norm((self.matrix, shared, self.copies, self.given, hidden, self._ordinary), RATES.streams)

    @property
    def _ordinary(self) -> float:
        """Cycles of the producer where it loads by ordinary accesses; they are not shared in a cluster."""
        t, size = self.plan.tuning, self.plan.context.dtype.bytes
        given = self.plan.oriented
        total = 0.0
        for access, whole, tile, turned in zip(
            (given.a, given.b),
            (given.m, given.n),
            (self.plan.a_tile, self.plan.b_tile),
            self.plan.turned,
            strict=True,
        ):
            width, extent = max(access.vector) * size, tile.d
            if width >= VECTOR_BYTES and not turned and not _is_cut(access, tile, (given.k, whole)):
                continue
            is_windowed = _is_windowed(access, given.k)
            index = RATES.window if is_windowed else 1.0
            if (width >= COPY_BYTES or not is_windowed) and not turned:
                spent = RATES.copying * index / width
            else:
                spent = RATES.ordinary * index / width + RATES.issue / (size if turned else width)
            total += extent * t.k_per_block * size * spent / WARPGROUP
        return total

    @cached_property
    def epilogue(self) -> float:
        """Cycles from a tile's last product to the next one's first, where nothing else goes on."""
        t, c = self.plan.tuning, self.plan.oriented.c
        size = self.plan.context.dtype.output.bytes
        written = t.m_per_block * t.n_per_block * size
        along, width = c.vector[1] >= c.vector[0], max(c.vector) * size
        slower = 1.0 if width >= VECTOR_BYTES else STORE_PENALTY[width]
        slower *= 1.0 if along else TURNED_PENALTY
        return RATES.turn + slower * written / RATES.stored_bytes

    def tiles(self, count: float) -> float:
        """Cycles of so many tiles, one after the other."""
        main = self.plan.k_iterations * self.step
        if not self.plan.tuning.pingpong:
            return count * (main + self.epilogue)
        each = max(main, (main + self.epilogue) / 2)
        return main + self.epilogue + (count - 1) * each

    @property
    def sums_bytes(self) -> int:
        """Of a tile's sums."""
        t = self.plan.tuning
        return t.m_per_block * t.n_per_block * SUM_BYTES

    @property
    def fix_up(self) -> float:
        """Cycles for a tile's sums to L2 or back, where few do that at a time."""
        return self.sums_bytes / RATES.stored_bytes


def warpgroup_cycles(plan: WarpgroupPlan) -> float:
    """Cycles of the whole product where each cluster computes whole units."""
    return schedule_cycles(plan, DATA_PARALLEL)


def schedule_cycles(plan: WarpgroupPlan, schedule: TileSchedule) -> float:
    """The same under a schedule over units; as many clusters as the machine runs where it gives no number."""
    return schedule_cost(plan, schedule).cycles


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


def schedule_cost(plan: WarpgroupPlan, schedule: TileSchedule) -> ScheduleCost:
    """What a schedule of units costs, and why."""
    resident, size = resident_clusters(plan.tuning, plan.machine), plan.tuning.cluster
    tiles = Tiles(plan.units, 1, plan.k_iterations)
    if not schedule.is_shared:
        rounds = -(-plan.units // resident)
        spent = Steps(plan, plan.units * size / rounds).tiles(rounds)
        return ScheduleCost(_with_memory(plan, spent), tiles, resident, rounds * tiles.k)
    if schedule.mode == "cluster_k":
        return _clustered(plan, tiles, schedule.workgroups or 1)
    count = schedule.workgroups or resident
    shape = (plan.tuning.cluster_m, plan.tuning.cluster_n)
    beside = goes_abreast(
        schedule.mode, tiles, count, plan.tuning.m_per_block * plan.tuning.n_per_block, shape
    )
    shares = Plan(tiles, count, schedule.mode, beside)
    longest = sum(section.share for section in shares.sections)
    parts, spent, apart = _parts(shares), 0.0, 0
    for section in shares.sections:
        is_apart = schedule.mode != "split_k" and section.share % section.k_span != 0
        at_a_time = min(resident, -(-section.tiles // section.share))
        steps = Steps(plan, at_a_time * size, not beside and (schedule.mode == "split_k" or parts > 0))
        ends = -(-section.share // section.k_span)
        spent += section.share * steps.step + ends * _end(steps, parts, schedule.mode)
        apart += section.tiles if is_apart else 0
    sharing = min(count, resident, plan.units * (parts + 1) if schedule.mode == "split_k" else count)
    fix_up = _shared(Steps(plan, sharing * size), parts, schedule.mode)
    spent = -(-count // resident) * (spent + fix_up)
    cycles = _with_memory(plan, spent, apart)
    return ScheduleCost(cycles, tiles, count, longest, parts, fix_up)


def _clustered(plan: WarpgroupPlan, tiles: Tiles, parts: int) -> ScheduleCost:
    """cluster_k: clusters in rounds, each of so many parts of K of one unit, which pass their sums on through
    shared memory.
    """
    size = parts * plan.tuning.cluster
    rounds = -(-plan.units // (AT_A_TIME[size] // size))
    steps = Steps(plan, plan.units * size / rounds, is_apart=True)
    share, others = -(-tiles.k // parts), (parts - 1) / parts
    fix_up = RATES.gathering + others * steps.sums_bytes / RATES.gathered_bytes
    end = RATES.turn + (steps.epilogue - RATES.turn) / parts
    cycles = _with_memory(plan, rounds * (share * steps.step + fix_up + end)) + RATES.cluster
    return ScheduleCost(cycles, tiles, plan.units * parts, rounds * share, parts - 1, fix_up)


def _end(steps: Steps, parts: int, mode: Mode) -> float:
    """Cycles for a tile's way to memory.  Where all have one part of one tile (split_k), each stores as much
    of it as the others do.
    """
    if not parts or mode != "split_k":
        return steps.epilogue
    return RATES.turn + (steps.epilogue - RATES.turn) / (parts + 1)


def _shared(steps: Steps, parts: int, mode: Mode) -> float:
    """Cycles for the sums of tiles that are shared.

    An owner adds the others' sums one after the other; in split_k all send theirs at the same time, and each
    adds up as much of the tile as the others do.
    """
    if not parts:
        return 0.0
    if mode == "split_k":
        moved = 2 * steps.sums_bytes * steps.active
        return RATES.meeting + parts * RATES.each + moved / RATES.sent_bytes
    return RATES.meeting + steps.fix_up + parts * (steps.fix_up + RATES.follow)


def _with_memory(plan: WarpgroupPlan, spent: float, apart: int = 0) -> float:
    """All cycles.  apart: steps of clusters that are each at one of their own."""
    clusters = min(plan.units, resident_clusters(plan.tuning, plan.machine))
    moved = max(memory_bytes(plan, clusters), scattered_bytes(plan, apart) if apart else 0.0)
    memory = moved / RATES.memory_bytes
    start = RATES.start + (RATES.cluster if plan.tuning.cluster > 1 else 0.0)
    return _norm((spent, memory), RATES.memory_norm) + start


def _norm(times: Iterable[float], exponent: float) -> float:
    """The longest of times that overlap, and more the nearer others are to it."""
    given = tuple(times)
    most = max(given)
    return most * sum((time / most) ** exponent for time in given) ** (1.0 / exponent)


def _asked(rows: Rows) -> float:
    """What a row is to the copy engine, where one that begins on a line is 1."""
    more = rows.crossing * (RATES.crossing_row - 1.0) + rows.inside * (RATES.inside_row - 1.0)
    return 1.0 + more


def _size(rows: Rows) -> float:
    """Rows, short ones in proportion."""
    return rows.count * (RATES.short_row if rows.is_short else 1.0)


def _parts(plan: Plan) -> int:
    """Partial sums that an owner adds at most."""
    if all(section.share % section.k_span == 0 for section in plan.sections):
        return 0
    parts = max(-(-section.k_span // section.share) for section in plan.sections)
    return min(parts, plan.workgroups - 1)


def copy_cycles(moved_bytes: int, launches: int) -> float:
    """Launches that transpose arrays: bytes read and written."""
    return launches * RATES.launch + moved_bytes / RATES.transposed_bytes


def crosses(context: GemmContext, k: int) -> bool:
    """Does a step of K go over the end of a stretch of an operand, as the channels at one tap are?"""
    return any(_crosses(access, context.k, k) for access in (context.a, context.b))


def _is_cut(access: Access, tile: SharedTile, sizes: tuple[int, int]) -> bool:
    """Does a row of shared memory go over the end of what lies together in memory?"""
    along = 0 if tile.major == "k" else 1
    return not divides(tile.row_bytes, stretch(access, along, sizes[along]), tile.element_bytes)


def _is_windowed(access: Access, total: int) -> bool:
    """Do neighbours lie together in short stretches only, each with an index and guards of its own?"""
    runs = [run for run, step in zip(access.run, access.step, strict=True) if step == 1]
    return max(runs, default=1.0) < min(total, SAMPLE)


def _crosses(access: Access, total: int, k: int) -> bool:
    return access.step[0] == 1 and 1 < access.run[0] < min(total, SAMPLE) and access.run[0] % k != 0
