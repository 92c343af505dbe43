"""Estimated cycles of a warpgroup tuning on NVIDIA Hopper: what the slowest of its streams needs.

A step of K multiplies, reads and fills shared memory, and loads from L2 at the same time; loads come after a
latency that the stages of the ring hide, as far as there are stages.  A tile ends with the way of its sums
to memory, which cooperative consumers wait for and pingpong ones do under each other's products.  Over all
tiles, workgroups take as many rounds as it needs whole ones, or, where they share tiles, the steps of the
longest share and the ways of partial sums through L2.  No schedule is faster than memory.

A model for ranking.  The rates are of one multiprocessor and a cycle of its clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from imbrex.schedule.context import SAMPLE, Access, GemmContext
from imbrex.schedule.tiles import DATA_PARALLEL, TileSchedule
from imbrex.schedule.warpgroup import (
    ROWS,
    SHORTER,
    WARPGROUP,
    WarpgroupPlan,
    instruction_of,
    resident_clusters,
)
from imbrex.view.streamk import Mode, Plan, Tiles

__all__ = [
    "RATES", "Rates", "ScheduleCost", "copy_cycles", "crosses", "schedule_cost", "schedule_cycles",
    "warpgroup_cycles",
]  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """shared_bytes: of shared memory, read or written.  l2_bytes: of all multiprocessors together; l2_most:
    of one of them (DeepGEMM's model of sm_90).  memory_bytes: of the whole chip, 4.3 TB/s at 1.7 GHz.
    cached_bytes: of L2 that operands may count on.  latency: of a load from memory.  start: of a workgroup,
    before its first product; drain: after its last; turn: between the tiles of a consumer, waiting for
    products and converting.  meeting: until a flag is seen; follow: the same of those that were raised at
    about that time.  issue: cycles of a warp for an ordinary access with its index; window: so many times
    that where elements have an index each, as in windows.  clash: what is lost of the streams beside the
    slowest one.  launch: of another kernel; transposed_bytes: read and written by one that transposes.
    """

    shared_bytes: float = 128.0
    l2_bytes: float = 6154.0
    l2_most: float = 64.0
    memory_bytes: float = 2500.0
    cached_bytes: float = 40e6
    latency: float = 900.0
    start: float = 2000.0
    drain: float = 1000.0
    turn: float = 400.0
    meeting: float = 1500.0
    follow: float = 300.0
    issue: float = 8.0
    clash: float = 0.05
    window: float = 3.0
    launch: float = 5000.0
    transposed_bytes: float = 1800.0


RATES: Final = Rates()
VECTOR_BYTES: Final = 16
"""What TMA wants of neighbours in memory."""
STORE_PENALTY: Final = {8: 2.0, 4: 3.0, 2: 5.0, 1: 8.0}
"""Bytes of an ordinary store, where neighbours are too few for TMA -> its time, in proportion to TMA's."""
TURNED_PENALTY: Final = 1.3
"""Of stores along the rows, which the fragments of sums do not lie along."""


@dataclass(frozen=True)
class Steps:
    """The streams of a plan.  active: workgroups that run at a time."""

    plan: WarpgroupPlan
    active: int

    @property
    def _loaded(self) -> tuple[float, float]:
        """Bytes of A and of B that a workgroup loads in a step, where those in short rows of shared memory
        count more; the others of its cluster load the rest.
        """
        t, plan = self.plan.tuning, self.plan
        a, b = (tile.bytes * SHORTER[tile.swizzle] for tile in (plan.a_tile, plan.b_tile))
        return a / t.cluster_n, b / t.cluster_m

    @property
    def l2_rate(self) -> float:
        """Bytes of one workgroup in a cycle."""
        return min(RATES.l2_most, RATES.l2_bytes / self.active)

    @cached_property
    def step(self) -> float:
        """Cycles of a step of K."""
        t, dtype = self.plan.tuning, self.plan.context.dtype
        used = instruction_of(dtype, t.n_per_block)
        issues = t.m_per_block // ROWS * -(-t.k_per_block // used.k)
        matrix = issues * used.cycles[self.plan.machine.chip]
        reads = issues * (ROWS + t.n_per_block) * used.k * dtype.bytes
        fills = (t.m_per_block + t.n_per_block) * t.k_per_block * dtype.bytes
        shared = (reads + fills) / RATES.shared_bytes
        loads = sum(self._loaded) / self.l2_rate
        hidden = RATES.latency / (t.stages - 1)
        parts = (matrix, shared, loads, hidden, self._ordinary)
        return max(parts) + RATES.clash * (sum(parts) - max(parts))

    @property
    def _ordinary(self) -> float:
        """Cycles of the producer where it loads by ordinary accesses; they are not shared in a cluster."""
        t, size = self.plan.tuning, self.plan.context.dtype.bytes
        given = self.plan.oriented
        total = 0.0
        for access, extent, turned in zip(
            (given.a, given.b), (t.m_per_block, t.n_per_block), self.plan.turned, strict=True
        ):
            width = max(access.vector) * size
            if width >= VECTOR_BYTES and not turned and not _crosses(access, given.k, t.k_per_block):
                continue
            written = size if turned else width
            accesses = extent * t.k_per_block * size * (1 / width + 1 / written) / 32
            index = RATES.window if _is_windowed(access, given.k) else 1.0
            total += accesses * index * RATES.issue / (WARPGROUP // 32)
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
        return RATES.turn + slower * written / min(RATES.shared_bytes / 2, self.l2_rate)

    def tiles(self, count: float) -> float:
        """Cycles of so many tiles, one after the other."""
        main = self.plan.k_iterations * self.step
        if not self.plan.tuning.pingpong:
            return count * (main + self.epilogue)
        each = max(main, (main + self.epilogue) / 2)
        return main + self.epilogue + (count - 1) * each

    @property
    def fix_up(self) -> float:
        """A tile's sums to L2 or back."""
        t = self.plan.tuning
        return t.m_per_block * t.n_per_block * 4 / min(RATES.shared_bytes / 2, self.l2_rate)


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
        spent = Steps(plan, min(plan.units, resident) * size).tiles(rounds)
        return ScheduleCost(_with_memory(plan, spent, resident), tiles, resident, rounds * tiles.k)
    count = schedule.workgroups or resident
    steps = Steps(plan, min(count, resident) * size)
    shares = Plan(tiles, count, schedule.mode)
    longest = sum(section.share for section in shares.sections)
    ends = sum(-(-section.share // section.k_span) for section in shares.sections)
    parts = _parts(shares)
    fix_up, end = _shared(steps, parts, schedule.mode)
    spent = -(-count // resident) * (longest * steps.step + ends * end + fix_up)
    return ScheduleCost(_with_memory(plan, spent, resident), tiles, count, longest, parts, fix_up)


def _shared(steps: Steps, parts: int, mode: Mode) -> tuple[float, float]:
    """Cycles for the sums of tiles that are shared, and for a tile's way to memory.

    An owner adds the others' sums one after the other.  Where all have one part of one tile (split_k), each
    adds up, and stores, as much of the tile as the others do.
    """
    if not parts:
        return 0.0, steps.epilogue
    if mode == "split_k":
        return RATES.meeting + 2 * steps.fix_up, RATES.turn + (steps.epilogue - RATES.turn) / (parts + 1)
    return RATES.meeting + steps.fix_up + parts * (steps.fix_up + RATES.follow), steps.epilogue


def _with_memory(plan: WarpgroupPlan, spent: float, resident: int) -> float:
    memory = _memory_bytes(plan, min(plan.units, resident)) / RATES.memory_bytes
    return max(spent, memory) + RATES.clash * min(spent, memory) + RATES.start + RATES.drain


def _parts(plan: Plan) -> int:
    """Partial sums that an owner adds at most."""
    if all(section.share % section.k_span == 0 for section in plan.sections):
        return 0
    parts = max(-(-section.k_span // section.share) for section in plan.sections)
    return min(parts, plan.workgroups - 1)


def copy_cycles(moved_bytes: int) -> float:
    """A launch that transposes an array: bytes read and written."""
    return RATES.launch + moved_bytes / RATES.transposed_bytes


def crosses(context: GemmContext, k: int) -> bool:
    """Does a step of K go over the end of a stretch of an operand, as the channels at one tap are?"""
    return any(_crosses(access, context.k, k) for access in (context.a, context.b))


def _is_windowed(access: Access, total: int) -> bool:
    """Do neighbours lie together in short stretches only, each with an index and guards of its own?"""
    runs = [run for run, step in zip(access.run, access.step, strict=True) if step == 1]
    return max(runs, default=1.0) < min(total, SAMPLE)


def _crosses(access: Access, total: int, k: int) -> bool:
    return access.step[0] == 1 and 1 < access.run[0] < min(total, SAMPLE) and access.run[0] % k != 0


def _memory_bytes(plan: WarpgroupPlan, clusters: int) -> float:
    """Bytes from and to memory: each operand once, or, where they do not stay in L2, for every round what
    its blocks of tiles want.
    """
    c, t = plan.oriented, plan.tuning
    a, b = (_array_bytes(x, d, c) for x, d in ((c.a, c.m), (c.b, c.n)))
    out = c.g * c.m * c.n * plan.context.dtype.output.bytes
    once = a + b
    if once <= RATES.cached_bytes:
        return once + out
    tall = min(t.group, plan.blocks[0]) if t.group > 1 else 1
    wide = max(1.0, clusters / tall)
    wanted = tall * t.cluster_m * t.m_per_block * a / (c.m * c.g)
    wanted += min(wide, plan.blocks[1]) * t.cluster_n * t.n_per_block * b / (c.n * c.g)
    return max(once, wanted * plan.units / clusters) + out


def _array_bytes(access: Access, extent: int, context: GemmContext) -> float:
    matrix = context.g * extent * context.k
    return float(min(matrix, access.elements or matrix) * context.dtype.bytes)
