"""The warpgroup tuning and the schedule of units of a product, by the model of `cost` and its
`correction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

from imbrex.chip import GpuMachine
from imbrex.config.choose import choose
from imbrex.config.context import GemmContext
from imbrex.config.share_cost import Offer
from imbrex.config.tiles import AUTO, DATA_PARALLEL, Auto, TileSchedule
from imbrex.config.tiles import PARTS as IN_CLUSTER
from imbrex.config.warpgroup import cluster_k
from imbrex.config.warpgroup.correction import corrected
from imbrex.config.warpgroup.cost import Priced
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.space import is_tall, priced_space
from imbrex.diagnostic import Diagnostic
from imbrex.view.work.streamk import CLUSTERED, Mode, even_pieces

__all__ = ["MARGIN", "best_schedule", "best_tuning", "every", "offers", "scheduled", "taken"]

MARGIN: Final = 0.03
"""What a schedule must save before anything but data_parallel is chosen."""
PARTS: Final = (1, 2, 3, 4, 6)
"""split_k is looked at with as many pieces of each tile as run at a time, and these parts of them."""


Serving: TypeAlias = tuple[Priced, TileSchedule]
Costed: TypeAlias = tuple[float, Serving]
"""Cycles of the model, corrected, and what they are of."""


def scheduled(
    context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None, schedule: TileSchedule | Auto
) -> tuple[WarpgroupTuning, TileSchedule]:
    """The tuning that is given, or the best one, and the schedule that is asked for, or the best one.

    A schedule counts clusters: where it has no number, as many as the machine runs at a time.
    """
    if given is not None and given.pingpong and schedule != AUTO and schedule.is_shared:
        message = f"pingpong consumers have whole tiles, which {schedule.mode} shares out"
        raise Diagnostic(message, hint="say data_parallel, or cooperative in the tuning")
    if context.phases > 1 and schedule != AUTO and schedule.is_shared:
        message = f"tiles of several phases are whole ones, which {schedule.mode} shares out"
        raise Diagnostic(message, hint="say data_parallel, or leave the algorithm out")
    if schedule != AUTO and schedule.mode == "cluster_k":
        return cluster_k.scheduled(context, machine, given, schedule), schedule
    if schedule == AUTO:
        found = best_schedule(context, machine, given)
    else:
        tuning = best_tuning(schedule, context, machine, given)
        if tuning is not None:
            _expect_at_a_time(schedule, tuning, machine)
        found = None if tuning is None else (tuning, schedule)
    if found is None:
        chosen = choose(context, machine, "warpgroup")
        assert isinstance(chosen, WarpgroupTuning), chosen
        return chosen, DATA_PARALLEL
    return found


def _expect_at_a_time(schedule: TileSchedule, tuning: WarpgroupTuning, machine: GpuMachine) -> None:
    """The clusters of split_k that share a tile wait for each other, and so have to run at a time."""
    count = machine.clusters_at_a_time(tuning.cluster)
    if schedule.mode == "split_k" and (schedule.workgroups or 0) > count:
        of = f"clusters of {tuning.cluster} workgroups" if tuning.cluster > 1 else "workgroups"
        message = f"split_k:{schedule.workgroups} has {of} that wait for each other; {count} run at a time"
        raise Diagnostic(message, hint=f"say split_k:{count}, or stream_k")


def best_tuning(
    schedule: TileSchedule, context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None = None
) -> WarpgroupTuning | None:
    """The tuning that serves a schedule best; None where none is legal."""
    priced = _priced(context, machine, given)
    serving = [p for p in priced if not (schedule.is_shared and p.plan.tuning.pingpong)]
    served = _costed([(p, schedule) for p in serving])
    return _best(served)[1][0].plan.tuning if served else None


def best_schedule(
    context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None = None
) -> tuple[WarpgroupTuning, TileSchedule] | None:
    """data_parallel, unless another schedule saves more than MARGIN; None where no tuning is legal."""
    found = offers(context, machine, given)
    if not found:
        return None
    best = taken(found)
    assert isinstance(best.tuning, WarpgroupTuning), best
    return best.tuning, best.schedule


def offers(context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None = None) -> list[Offer]:
    """Every mode's best, data_parallel first, the others by cost; none where no tuning is legal."""
    elements = (context.a.elements, context.b.elements, context.c.elements)
    return list(_offers(context, machine, given, elements))


@lru_cache(maxsize=256)
def _offers(
    context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None, elements: tuple[int, ...]
) -> Sequence[Offer]:
    """elements: of the arrays, of which contexts that are equal may have other numbers."""
    served = _costed(_servings(context, machine, given))
    by_mode = [[one for one in served if one[1][1].mode == mode] for mode in _modes(context)]
    found = [_offer(*_best(of)) for of in by_mode if of]
    return [*found[:1], *sorted(found[1:], key=lambda offer: offer.cost)]


def every(context: GemmContext, machine: GpuMachine) -> Iterator[Offer]:
    """All legal tunings under all schedules that they serve."""
    return (_offer(*one) for one in _costed(_servings(context, machine, None)))


def _servings(context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None) -> Sequence[Serving]:
    """All tunings with schedules that they serve: pingpong consumers have whole tiles, and share none, and
    tall tiles have hardly been faster where they are shared.
    """
    return [
        (priced, schedule)
        for mode, priced in product(_modes(context), _priced(context, machine, given))
        if mode == "data_parallel" or not _has_whole_tiles(priced.plan.tuning)
        for schedule in _counted(mode, priced)
    ]


def _has_whole_tiles(tuning: WarpgroupTuning) -> bool:
    return tuning.pingpong or is_tall(tuning.m_per_block)


def _costed(pairs: Sequence[Serving]) -> Sequence[Costed]:
    return list(zip(corrected(pairs), pairs, strict=True))


def _modes(context: GemmContext) -> Sequence[Mode]:
    return CLUSTERED if context.phases == 1 else CLUSTERED[:1]


def _offer(cycles: float, serving: Serving) -> Offer:
    priced, schedule = serving
    cost = priced.cost(schedule)
    numbers = (cost.clusters, cost.longest, cost.parts, cost.fix_up, cycles)
    return Offer(schedule, priced.plan.tuning, cost.tiles, *numbers)


def _counted(mode: Mode, priced: Priced) -> Iterator[TileSchedule]:
    """A mode with the numbers of clusters worth looking at: as many as run at a time, and for split_k fewer,
    which have fewer sums to add.
    """
    if mode == "data_parallel":
        yield DATA_PARALLEL
        return
    plan, count = priced.plan, priced.resident
    if mode == "cluster_k":
        yield from (TileSchedule(mode, parts) for parts in IN_CLUSTER if cluster_k.serves(plan, parts))
        return
    most = count // plan.units if mode == "split_k" else 0
    if most < 2:
        yield TileSchedule(mode, count)
        return
    pieces = {even_pieces(plan.k_iterations, max(2, most // part)) for part in PARTS}
    yield from (TileSchedule(mode, each * plan.units) for each in sorted(pieces))


def taken(found: Sequence[Offer]) -> Offer:
    """What `--schedule auto` takes of the offers."""
    first, *others = found
    return others[0] if others and others[0].cost < first.cost * (1 - MARGIN) else first


def _priced(context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None) -> Sequence[Priced]:
    return [Priced(given.plan(context, machine))] if given is not None else priced_space(context, machine)


def _best(costed: Sequence[Costed]) -> Costed:
    """The one of the fewest cycles, the first of several."""
    return min(costed, key=lambda one: one[0])
