"""The schedule of a product's tiles by a model: what each mode costs, and which one is worth it.

    time = rounds of workgroups * (steps of the longest share * cycles of a step + starts + fix-up)

A step costs what the model of the tuning says of all steps of one thread or one compute unit.  A start is a
segment's: its sums wait in a tile of their own until all steps are done.  The fix-up is an output tile to
memory and back for each part that an owner adds, and the wait for the first.  The rounds of data_parallel are
whole: a last one that is nearly empty takes as long as a full one.  Shares of a CPU are cut before anybody
knows which thread is slow, and all wait for that one; whole tiles go to whoever is free.

Sharing must gain what threads that have nothing to do could add.  Where data_parallel keeps all of them busy,
a difference is one of two tunings by a model that errs, and must be large.

Each mode takes the tuning that serves it best: where workgroups share tiles, tiles may be large, since there
need not be enough of them for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import inf

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config.choose import Family, candidates, choose, rank
from imbrex.config.context import GemmContext
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.legal import check
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule, resident
from imbrex.config.tuning import Tuning
from imbrex.config.xdlops.cost import RATES, step_cycles
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.view.work.streamk import MODES, Plan, Tiles

__all__ = ["MARGIN", "Offer", "best", "every", "margin", "offers", "tuning_for"]

MARGIN = 0.08
"""What a schedule must save before anything but data_parallel is chosen: where it should save 9 %, it was
seen to save 3 to 8."""

BUSY, BUSY_MARGIN = 0.95, 0.2
"""The same where data_parallel keeps at least so much of the machine busy."""

SHARES = 4
"""Workgroups a thread where sums are cheap to pass on: threads then take what is left from slow ones."""

GENERAL_STEP = 1.0
"""A step of a GPU tuning that has no model of its own: schedules of one tuning are still compared."""

CONSIDERED = 64
"""Tunings that are looked at for sharing, the best for one thread first."""


@dataclass(frozen=True)
class Offer:
    """A schedule with its tuning.  longest: steps of K of the workgroup that has most; parts: partial sums
    that an owner adds at most; cost: modelled cycles.
    """

    schedule: TileSchedule
    tuning: Tuning
    tiles: Tiles
    workgroups: int
    longest: int
    parts: int
    fix_up: float
    cost: float

    @property
    def efficiency(self) -> float:
        """Useful over issued steps, where all workgroups take as long as the longest."""
        return self.tiles.total / (self.workgroups * self.longest)


@dataclass(frozen=True)
class Steps:
    """A tuning's numbers: its tiles, the cycles of one step and before the first, and a tile of sums."""

    tiles: Tiles
    step: float
    start: float
    tile_bytes: int


def offers(
    context: GemmContext, machine: Machine, family: Family, given: Tuning | None = None
) -> list[Offer]:
    """Every mode's best, data_parallel first, the others by cost."""
    first = _offer(DATA_PARALLEL, given or choose(context, machine, family), context, machine)
    found: list[Offer] = []
    if resident(machine) > 1:
        tunings = (given,) if given is not None else _considered(context, machine, family)
        for mode in MODES[1:]:
            schedules = [TileSchedule(mode, count) for count in _counts(machine)]
            tried = [_offer(s, t, context, machine) for t in tunings for s in schedules]
            found += [min(tried, key=lambda offer: offer.cost)] if tried else []
    return [first, *sorted(found, key=lambda offer: offer.cost)]


def every(context: GemmContext, machine: Machine, family: Family) -> Iterator[Offer]:
    """All legal tunings one workgroup a tile, and those that are looked at for sharing under every mode."""
    for tuning in candidates(context, machine, family):
        if not check(tuning, context, machine):
            yield _offer(DATA_PARALLEL, tuning, context, machine)
    if resident(machine) > 1:
        for mode, tuning in product(MODES[1:], _considered(context, machine, family)):
            yield from (_offer(TileSchedule(mode, n), tuning, context, machine) for n in _counts(machine))


def best(context: GemmContext, machine: Machine, family: Family, given: Tuning | None = None) -> Offer:
    """data_parallel, unless another mode saves more than `margin`."""
    first, *others = offers(context, machine, family, given)
    return others[0] if others and others[0].cost < first.cost * (1 - margin(first)) else first


def _counts(machine: Machine) -> tuple[int, ...]:
    """How many workgroups may share: as many as run at a time, or on a CPU several a thread."""
    once = resident(machine)
    return (once, SHARES * once) if isinstance(machine, CpuMachine) else (once,)


def margin(first: Offer) -> float:
    """What must be saved of data_parallel's cycles."""
    return BUSY_MARGIN if first.efficiency >= BUSY else MARGIN


def tuning_for(schedule: TileSchedule, context: GemmContext, machine: Machine, family: Family) -> Tuning:
    """The tuning that serves a schedule best."""
    if not schedule.is_shared:
        return choose(context, machine, family)
    tunings = _considered(context, machine, family)
    if not tunings:
        return choose(context, machine, family)
    return min(tunings, key=lambda t: _offer(schedule.on(machine), t, context, machine).cost)


def _considered(context: GemmContext, machine: Machine, family: Family) -> Sequence[Tuning]:
    """Legal tunings, the best for a machine of one thread first."""
    alone = replace(machine, threads=1) if isinstance(machine, CpuMachine) else machine
    ranked = rank(candidates(context, machine, family), context, alone)
    legal = (t for t in ranked if not check(t, context, machine))
    return [t for t, _ in zip(legal, range(CONSIDERED), strict=False)]


def _offer(schedule: TileSchedule, tuning: Tuning, context: GemmContext, machine: Machine) -> Offer:
    steps, at_a_time = _steps(tuning, context, machine), resident(machine)
    tiles = steps.tiles
    if not schedule.is_shared:
        rounds = -(-tiles.outputs // at_a_time)
        start = 0.0 if isinstance(machine, CpuMachine) else steps.start  # C itself holds the sums
        cost = rounds * (tiles.k * steps.step + start)
        return Offer(schedule, tuning, tiles, at_a_time, rounds * tiles.k, 0, 0.0, cost)
    assert schedule.workgroups is not None
    plan = Plan(tiles, schedule.workgroups, schedule.mode)
    longest = sum(section.share for section in plan.sections)
    parts = max(-(-section.k_span // section.share) for section in plan.sections) - 1
    parts = min(parts + 1, plan.workgroups - 1) if any(s.share % s.k_span for s in plan.sections) else 0
    fix_up = _fix_up(parts, steps.tile_bytes, machine)
    rounds = -(-plan.workgroups // at_a_time)
    is_cpu = isinstance(machine, CpuMachine)
    starts = sum(-(-s.share // s.k_span) for s in plan.sections) if is_cpu else len(plan.sections)
    # of several shares a thread, only the last one waits for the slowest thread
    uneven = machine.prices.uneven / rounds if isinstance(machine, CpuMachine) else 0
    work = longest * steps.step * (1 + uneven)
    cost = rounds * (work + starts * steps.start + fix_up)
    return Offer(schedule, tuning, tiles, plan.workgroups, longest, parts, fix_up, cost)


def _fix_up(parts: int, tile_bytes: int, machine: Machine) -> float:
    """A tile out, and each part in and added."""
    if not parts:
        return 0.0
    if isinstance(machine, CpuMachine):
        return machine.prices.flag + (1 + parts) * tile_bytes * machine.prices.tile.l3
    return 2 * RATES.memory_latency + (1 + parts) * (RATES.memory_latency + tile_bytes / RATES.l2_bytes)


@lru_cache(maxsize=256)
def _steps(tuning: Tuning, context: GemmContext, machine: Machine) -> Steps:
    size = context.dtype.accumulator.bytes
    match tuning, machine:
        case CpuTuning(), CpuMachine():
            plan = tuning.plan(context)
            tiles = Tiles(plan.grid_size, 1, plan.k_iterations)
            whole = cycles(tuning, context, replace(machine, threads=1))
            tile_bytes = plan.block_rows * plan.block_columns * size
            return Steps(tiles, whole / tiles.total, tile_bytes * machine.prices.tile.l3, tile_bytes)
        case XdlopsTuning(), GpuMachine():
            wave = tuning.plan(context, machine)
            tiles = Tiles(wave.grid_size, 1, wave.k_iterations)
            m, n, _ = tuning.tile
            return Steps(tiles, *step_cycles(wave), m * n * size)
        case GeneralTuning(), GpuMachine():
            m, n, k = tuning.tile
            grid = context.g * -(-context.m // m) * -(-context.n // n)
            step = GENERAL_STEP * m * n * k / 128  # multiply-adds of a compute unit in a cycle
            return Steps(Tiles(grid, 1, -(-context.k // k)), step, RATES.start, m * n * size)
        case _:
            return Steps(Tiles(1, 1, 1), inf, 0.0, 0)
