"""The general tuning of a product on Hopper, and how many workgroups share each of its tiles, by a model.

Sharing (`split_k`) serves products of a few tiles and a large K, whose tiles could else be large only where
many multiprocessors had none.  Sharing must save MARGIN; of ways that cost the same, that with the fewest
workgroups is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.choose import choose
from imbrex.config.context import GemmContext
from imbrex.config.general.cost import added_cycles, general_cycles
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.general.space import HOPPER_SPACE
from imbrex.config.legal import check
from imbrex.config.schedule_choice import Offer
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.view.work.streamk import Tiles

__all__ = ["MARGIN", "PARTS", "every", "offers", "scheduled", "taken"]

MARGIN: Final = 0.02
PARTS: Final = (*range(2, 13), 14, 16, 20, 24, 28, 32, 40, 48, 64)
STEPS: Final = 4
"""The fewest steps of a part: with less it hardly begins."""
ROUNDS: Final = 10
"""The most workgroups of shared tiles, as so many for each multiprocessor."""


def scheduled(
    context: GemmContext, machine: GpuMachine, given: GeneralTuning | None = None
) -> tuple[GeneralTuning, TileSchedule]:
    """The tuning, unless it is given, and the schedule."""
    offer = taken(offers(context, machine, given))
    assert isinstance(offer.tuning, GeneralTuning), offer
    return offer.tuning, offer.schedule


def taken(found: Sequence[Offer]) -> Offer:
    """The first, data_parallel, unless another one saves MARGIN."""
    return next((o for o in found[1:] if o.cost <= found[0].cost * (1 - MARGIN)), found[0])


def every(context: GemmContext, machine: GpuMachine) -> Iterator[Offer]:
    """All legal tunings one workgroup a tile, and under every way to share tiles."""
    for tuning in HOPPER_SPACE:
        if not check(tuning, context, machine):
            yield _offer(tuning, 1, context, machine)
    yield from _shared(context, machine, None)


@lru_cache(maxsize=256)
def offers(
    context: GemmContext, machine: GpuMachine, given: GeneralTuning | None = None
) -> tuple[Offer, ...]:
    """Whole tiles, and the best way to share tiles where there is one."""
    whole = given or choose(context, machine, "general")
    assert isinstance(whole, GeneralTuning), whole
    best = sorted(_shared(context, machine, given), key=lambda o: (o.cost, o.workgroups))
    return _offer(whole, 1, context, machine), *best[:1]


def _shared(context: GemmContext, machine: GpuMachine, given: GeneralTuning | None) -> Iterator[Offer]:
    for tuning in HOPPER_SPACE if given is None else (given,):
        if check(tuning, context, machine):
            continue
        plan = tuning.plan(context, machine)
        for parts in PARTS:
            most = ROUNDS * machine.compute_units
            if plan.k_iterations >= STEPS * parts and parts * plan.grid_size <= most:
                yield _offer(tuning, parts, context, machine)


def _offer(tuning: GeneralTuning, parts: int, context: GemmContext, machine: GpuMachine) -> Offer:
    plan = tuning.plan(context, machine)
    cost, tiles = general_cycles(plan, machine, parts), Tiles(plan.grid_size, 1, plan.k_iterations)
    if parts == 1:
        rounds = -(-plan.grid_size // machine.compute_units)
        return Offer(DATA_PARALLEL, tuning, tiles, machine.compute_units, rounds * tiles.k, 0, 0.0, cost)
    count = parts * plan.grid_size
    fix_up = added_cycles(plan, machine, parts)
    return Offer(
        TileSchedule("split_k", count), tuning, tiles, count, -(-tiles.k // parts), parts - 1, fix_up, cost
    )
