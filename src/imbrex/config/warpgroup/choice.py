"""The warpgroup tuning and the schedule of units of a product, by the model of `cost` and its
`correction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from imbrex.chip import GpuMachine
from imbrex.config.choose import choose
from imbrex.config.context import GemmContext
from imbrex.config.schedule_choice import Offer
from imbrex.config.tiles import AUTO, DATA_PARALLEL, Auto, TileSchedule
from imbrex.config.tiles import PARTS as IN_CLUSTER
from imbrex.config.warpgroup import cluster_k
from imbrex.config.warpgroup.correction import corrected
from imbrex.config.warpgroup.cost import Scheduled
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.space import is_tall, legal_tunings
from imbrex.config.warpgroup.tile import Tile
from imbrex.config.warpgroup.tunings import Column, Tunings
from imbrex.diagnostic import Diagnostic
from imbrex.view.work.streamk import CLUSTERED, Mode, even_pieces

__all__ = ["MARGIN", "best_schedule", "best_tuning", "every", "offers", "scheduled", "taken"]

MARGIN: Final = 0.03
"""What a schedule must save before anything but data_parallel is chosen."""
PARTS: Final = (1, 2, 3, 4, 6)
"""split_k is looked at with as many pieces of each tile as run at a time, and these parts of them."""


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
    found = _tunings(context, machine, given)
    if found is not None and schedule.is_shared:
        found = found.taken(~found.numbers.is_pingpong)
    if found is None or not len(found):
        return None
    (cycles,) = corrected([Scheduled.alike(found, schedule)])
    return found.plan(int(cycles.argmin())).tuning


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
    return list(_offers(context, machine, given, context.details))


@lru_cache(maxsize=256)
def _offers(
    context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None, details: tuple[object, ...]
) -> Sequence[Offer]:
    """details: the context's."""
    candidates = _candidates(context, machine, given)
    pairs = zip(candidates, corrected(candidates), strict=True)
    found = [_offer(of, int(cycles.argmin()), cycles) for of, cycles in pairs]
    return [*found[:1], *sorted(found[1:], key=lambda offer: offer.cost)]


def every(context: GemmContext, machine: GpuMachine) -> Iterator[Offer]:
    """All legal tunings under all schedules that they serve."""
    candidates = _candidates(context, machine, None)
    for of, cycles in zip(candidates, corrected(candidates), strict=True):
        yield from (_offer(of, index, cycles) for index in range(len(of)))


def _candidates(
    context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None
) -> Sequence[Scheduled]:
    """All tunings with schedules that they serve, mode by mode: pingpong consumers have whole tiles, and
    share none, and tall tiles have hardly been faster where they are shared.
    """
    whole = _tunings(context, machine, given)
    if whole is None:
        return []
    shared = whole.taken(~whole.column(_has_whole_tiles))
    found = (_counted(mode, shared if mode != "data_parallel" else whole) for mode in _modes(context))
    return [of for of in found if len(of)]


def _has_whole_tiles(tile: Tile) -> bool:
    return tile.is_pingpong or is_tall(tile.rows)


def _modes(context: GemmContext) -> Sequence[Mode]:
    return CLUSTERED if context.phases == 1 else CLUSTERED[:1]


def _offer(of: Scheduled, index: int, cycles: Column) -> Offer:
    cost = of.cost(index)
    numbers = (cost.clusters, cost.longest, cost.parts, cost.fix_up, float(cycles[index]))
    return Offer(of.schedule(index), of.tunings.plan(index).tuning, cost.tiles, *numbers)


def _counted(mode: Mode, of: Tunings) -> Scheduled:
    """A mode with the numbers of clusters worth looking at: as many as run at a time, and for split_k fewer,
    which have fewer sums to add.
    """
    if mode == "data_parallel":
        return Scheduled.alike(of, DATA_PARALLEL)
    counts = np.stack(_counts(mode, of), axis=1)
    index, which = np.nonzero(counts)
    return Scheduled(of.taken(index), mode, counts[index, which])


def _counts(mode: Mode, of: Tunings) -> Sequence[Column]:
    """Numbers of a mode for each tuning, 0 where there are fewer."""
    if mode == "cluster_k":
        return [np.where(cluster_k.serves(of, parts), parts, 0) for parts in IN_CLUSTER]
    if mode != "split_k":
        return [of.resident]
    most = of.resident // of.units
    pieces = [even_pieces(of.numbers.k_iterations, np.maximum(2, most // part)) for part in PARTS]
    sorted_ = np.sort(np.stack(pieces), axis=0)
    again = np.diff(sorted_, axis=0, prepend=0) == 0
    is_split = most >= 2
    counts = np.where(is_split & ~again, sorted_ * of.units, 0)
    counts[0] = np.where(is_split, counts[0], of.resident)
    return list(counts)


def taken(found: Sequence[Offer]) -> Offer:
    """What `--schedule auto` takes of the offers."""
    first, *others = found
    return others[0] if others and others[0].cost < first.cost * (1 - MARGIN) else first


def _tunings(context: GemmContext, machine: GpuMachine, given: WarpgroupTuning | None) -> Tunings | None:
    """The one that is given, or all legal ones; None where there are none."""
    return legal_tunings(context, machine) if given is None else Tunings.of(given.plan(context, machine))
