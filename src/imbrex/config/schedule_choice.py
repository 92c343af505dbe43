"""The schedule of a product's tiles by a model: what each mode costs, and which one is worth it.

    time = rounds of workgroups * (steps of the longest share * cycles of a step + starts + fix-up)

A step costs what the model of the tuning says of all steps of one thread or one compute unit.  A start is a
segment's: its sums wait in a tile of their own until all steps are done.  The fix-up is an output tile to
memory and back for each part that an owner adds, and the wait for the first.  The rounds of data_parallel are
whole: a last one that is nearly empty takes as long as a full one.  Shares of a CPU are cut before anybody
knows which thread is slow, and all wait for that one; whole tiles go to whoever is free.

Sharing must gain what threads that have nothing to do could add.  Where data_parallel keeps all of them busy,
a difference is one of two tunings by a model that errs, and must be large.  On a GPU of waves
the tuning to be shared is asked, too: what would fill its last round is no such difference.

Each mode takes the tuning that serves it best: where workgroups share tiles, tiles may be large, since there
need not be enough of them for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, product
from math import inf, log2

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config.choose import candidates, choose, rank
from imbrex.config.context import GemmContext
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.kinds import Family
from imbrex.config.legal import check
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule, resident
from imbrex.config.tuning import Tuning
from imbrex.config.xdlops.best_first import in_order
from imbrex.config.xdlops.cost import (
    Cost,
    closer_tile_cost,
    filled,
    least_dealt_cycles,
    least_tile_cost,
    tile_cost,
    wave_cycles,
)
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.reduce import Reduced, best_reduction, reduced, reductions
from imbrex.config.xdlops.residency import resident_groups, spills_where_shared
from imbrex.view.work.streamk import ADDED, MODES, Added, Plan, Tiles

__all__ = ["MARGIN", "Offer", "best", "every", "margin", "offers", "shared_cycles", "tuning_for"]

MARGIN = 0.08
"""What a schedule must save before anything but data_parallel is chosen: where it should save 9 %, it was
seen to save 3 to 8."""

BUSY, BUSY_MARGIN = 0.95, 0.2
"""The same where data_parallel keeps at least so much of the machine busy."""

SHARES = 4
"""Workgroups a thread where sums are cheap to pass on: threads then take what is left from slow ones."""

GENERAL_STEP = 1.0
"""A step of a GPU tuning that has no model of its own: schedules of one tuning are still compared."""

GENERAL_START = 1500.0
"""Cycles before the first and after the last step of such a tuning."""

FLAG, READ_BYTES = 750.0, 64
"""Cycles until a compute unit sees what another one wrote, and bytes of sums that it then reads in one."""

CONSIDERED, ON_GPU, OF_WAVES = 64, 12, 40
"""Tunings that are looked at for sharing, the best for one thread first; on a GPU, where one simulates; of
waves, where a bound says first whether that is worth it.
"""


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
            tried = [
                (TileSchedule(mode, count), tuning)
                for tuning in tunings
                for count in _counts(tuning, context, machine)
            ]
            found += [_cheapest(tried, context, machine)] if tried else []
        for mode in ADDED:
            found += _reductions(context, machine, family, mode, given)
    return [first, *sorted(found, key=lambda offer: offer.cost)]


def every(context: GemmContext, machine: Machine, family: Family) -> Iterator[Offer]:
    """All legal tunings one workgroup a tile, and those that are looked at for sharing under every mode."""
    for tuning in candidates(context, machine, family):
        if not check(tuning, context, machine):
            yield _offer(DATA_PARALLEL, tuning, context, machine)
    if resident(machine) > 1:
        for mode, tuning in product(MODES[1:], _considered(context, machine, family)):
            for count in _counts(tuning, context, machine):
                yield _offer(TileSchedule(mode, count), tuning, context, machine)
        for mode in ADDED:
            yield from _reductions(context, machine, family, mode, only_best=False)


def best(context: GemmContext, machine: Machine, family: Family, given: Tuning | None = None) -> Offer:
    """data_parallel, unless another mode saves more than `margin`."""
    first = _offer(DATA_PARALLEL, given or choose(context, machine, family), context, machine)
    if not _may_save(first, context, machine, family, given):
        return first
    found = offers(context, machine, family, given)
    first, *others = found
    least = first.cost * (1 - margin(found, context, machine))
    return others[0] if others and others[0].cost < least else first


def _may_save(
    first: Offer, context: GemmContext, machine: Machine, family: Family, given: Tuning | None
) -> bool:
    """May another mode save as much as it must?  False where bounds of all legal tunings say none can."""
    tunings = candidates(context, machine, family) if given is None else (given,)
    plans = [
        _wave_plan(tuning, context, machine) for tuning in tunings if not check(tuning, context, machine)
    ]
    least = (1 - MARGIN) * first.cost
    return any(
        plan is None
        or (
            least_dealt_cycles(plan, least_tile_cost) < least
            and least_dealt_cycles(plan, closer_tile_cost) < least
        )
        for plan in plans
    )


def _reductions(
    context: GemmContext,
    machine: Machine,
    family: Family,
    mode: Added,
    given: Tuning | None = None,
    workgroups: int | None = None,
    *,
    only_best: bool = True,
) -> list[Offer]:
    """Pieces of K of tiles that nobody owns, of waves that multiply matrices; the best first."""
    if not isinstance(machine, GpuMachine):
        return []
    tunings = candidates(context, machine, family) if given is None else (given,)
    waves = [t for t in tunings if isinstance(t, XdlopsTuning) and not check(t, context, machine)]
    found = (best_reduction if only_best else reductions)(waves, context, machine, mode, workgroups)
    return [_reduced(one, clocks) for one, clocks in found]


def _reduced(one: Reduced, clocks: float) -> Offer:
    plan = one.plan
    tiles = Tiles(plan.grid_size, 1, plan.k_iterations)
    count = one.workgroups
    return Offer(one.schedule, plan.tuning, tiles, count, one.steps, one.pieces - 1, one.sums, clocks)


def _counts(tuning: Tuning, context: GemmContext, machine: Machine) -> Iterable[int]:
    """How many workgroups may share: one a compute unit, or what it holds; on a CPU several a thread."""
    once = resident(machine)
    if isinstance(machine, CpuMachine):
        return once, SHARES * once
    wave = _wave_plan(tuning, context, machine)
    return (once,) if wave is None else sorted({once, once * resident_groups(wave)})


def margin(found: Sequence[Offer], context: GemmContext, machine: Machine) -> float:
    """What must be saved of data_parallel's cycles.

    On a GPU of waves it matters, too, how full the rounds of the tuning to be shared are: what fills the last
    one is no difference of two tunings.
    """
    first, *others = found
    busy = first.efficiency
    if others and (wave := _wave_plan(others[0].tuning, context, machine)) is not None:
        busy = min(busy, filled(wave))
    return BUSY_MARGIN if busy >= BUSY else MARGIN


def tuning_for(schedule: TileSchedule, context: GemmContext, machine: Machine, family: Family) -> Tuning:
    """The tuning that serves a schedule best."""
    if not schedule.is_shared:
        return choose(context, machine, family)
    if schedule.mode in ADDED:
        found = _reductions(context, machine, family, schedule.mode, workgroups=schedule.workgroups)
        return found[0].tuning if found else choose(context, machine, family)
    tunings = _considered(context, machine, family)
    if not tunings:
        return choose(context, machine, family)
    return _cheapest([(schedule.on(machine), tuning) for tuning in tunings], context, machine).tuning


def shared_cycles(schedule: TileSchedule, tuning: Tuning, context: GemmContext, machine: Machine) -> float:
    """What the model says of a tuning under a schedule."""
    return _offer(schedule.on(machine), tuning, context, machine).cost


def _considered(context: GemmContext, machine: Machine, family: Family) -> Sequence[Tuning]:
    """Legal tunings, the best for a machine of one thread first."""
    alone = replace(machine, threads=1) if isinstance(machine, CpuMachine) else machine
    found = candidates(context, machine, family)
    ranked = rank(found, context, alone)
    legal = (t for t in ranked if not check(t, context, machine) and _may_share(t, context, machine))
    most = CONSIDERED if isinstance(machine, CpuMachine) else ON_GPU
    if found and isinstance(found[0], XdlopsTuning):
        most = OF_WAVES
    return list(islice(legal, most))


def _may_share(tuning: Tuning, context: GemmContext, machine: Machine) -> bool:
    wave = _wave_plan(tuning, context, machine)
    return wave is None or wave.wave_tiles is None or not spills_where_shared(wave)


def _cheapest(tried: Sequence[tuple[TileSchedule, Tuning]], context: GemmContext, machine: Machine) -> Offer:
    """The first one of the fewest cycles."""

    def by(of: Cost) -> Callable[[tuple[TileSchedule, Tuning]], float]:
        return lambda one: _offer(*one, context, machine, of).cost

    bounds = dict(enumerate(map(by(least_tile_cost), tried)))
    _, best = next(in_order(tried, bounds, [by(closer_tile_cost), by(tile_cost)]))
    return _offer(*tried[best], context, machine)


def _offer(
    schedule: TileSchedule, tuning: Tuning, context: GemmContext, machine: Machine, of: Cost = tile_cost
) -> Offer:
    """of: says what a tile costs, or a bound of it."""
    at_a_time = resident(machine)
    if not schedule.is_shared:
        wave = _wave_plan(tuning, context, machine)
        steps = _steps(tuning, context, machine, 1, least_tile_cost)
        rounds = -(-steps.tiles.outputs // at_a_time)
        start = 0.0 if isinstance(machine, CpuMachine) else steps.start  # C itself holds the sums
        cost = rounds * (steps.tiles.k * steps.step + start) if wave is None else wave_cycles(wave)
        return Offer(schedule, tuning, steps.tiles, at_a_time, rounds * steps.tiles.k, 0, 0.0, cost)
    assert schedule.workgroups is not None
    if schedule.mode in ADDED:
        wave = _wave_plan(tuning, context, machine)
        assert wave is not None, tuning
        one = reduced(wave, schedule.workgroups, schedule.mode)
        return _reduced(one, one.clocks)
    groups = _groups(schedule.workgroups, tuning, context, machine)
    steps, at_a_time = _steps(tuning, context, machine, groups, of), groups * at_a_time
    tiles = steps.tiles
    plan = Plan(tiles, schedule.workgroups, schedule.mode)
    longest = sum(section.share for section in plan.sections)
    parts = plan.most_received
    fix_up = _fix_up(parts, steps.tile_bytes, machine)
    rounds = -(-plan.workgroups // at_a_time)
    is_cpu = isinstance(machine, CpuMachine)
    each_starts = is_cpu or _wave_plan(tuning, context, machine) is not None
    starts = sum(-(-s.share // s.k_span) for s in plan.sections) if each_starts else len(plan.sections)
    # of several shares a thread, only the last one waits for the slowest thread
    uneven = machine.prices.uneven / rounds if isinstance(machine, CpuMachine) else 0
    work = longest * steps.step * (1 + uneven)
    cost = rounds * (work + starts * steps.start + fix_up)
    if isinstance(machine, CpuMachine):
        cost += machine.prices.wake * log2(machine.threads)
    return Offer(schedule, tuning, tiles, plan.workgroups, longest, parts, fix_up, cost)


def _fix_up(parts: int, tile_bytes: int, machine: Machine) -> float:
    """A tile out, and each part in and added."""
    if not parts:
        return 0.0
    if isinstance(machine, CpuMachine):
        return machine.prices.flag + (1 + parts) * tile_bytes * machine.prices.tile.l3
    stored = machine.device.stored_bytes if machine.device is not None else READ_BYTES
    return 2 * FLAG + tile_bytes / stored + (1 + parts) * FLAG + parts * tile_bytes / READ_BYTES


def _groups(workgroups: int, tuning: Tuning, context: GemmContext, machine: Machine) -> int:
    """Workgroups that share tiles and that a compute unit holds at a time."""
    wave = _wave_plan(tuning, context, machine)
    return 1 if wave is None else min(resident_groups(wave), -(-workgroups // resident(machine)))


def _wave_plan(tuning: Tuning, context: GemmContext, machine: Machine) -> XdlopsPlan | None:
    """Plan of a tuning for matrix instructions of waves; None of others."""
    if isinstance(tuning, XdlopsTuning) and isinstance(machine, GpuMachine):
        return tuning.plan(context, machine)
    return None


@lru_cache(maxsize=1024)
def _steps(tuning: Tuning, context: GemmContext, machine: Machine, groups: int, of: Cost) -> Steps:
    """groups: that a compute unit holds, where its model asks.  of: that model, or a bound of it."""
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
            cost = of(wave, groups)
            return Steps(tiles, cost.step, cost.start, m * n * size)
        case GeneralTuning(), GpuMachine():
            m, n, k = tuning.tile
            grid = context.g * -(-context.m // m) * -(-context.n // n)
            step = GENERAL_STEP * m * n * k / 128  # multiply-adds of a compute unit in a cycle
            return Steps(Tiles(grid, 1, -(-context.k // k)), step, GENERAL_START, m * n * size)
        case _:
            return Steps(Tiles(1, 1, 1), inf, 0.0, 0)
