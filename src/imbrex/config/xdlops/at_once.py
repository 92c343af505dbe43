"""Products of the phases of a gradient in one launch: tiles of all of them, those of the longest K first.

A gradient under strides has a product for each phase, none of which reads what another writes.  As launches
they follow each other, each with a last round that leaves compute units idle; where all have one tuning, and
a workgroup for each tile, an AMD GPU runs them as one.

    clocks = the end of the last tile, each begun where one ends; a launch is saved for all but one
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.choose import candidates
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.kinds import Family
from imbrex.config.legal import check
from imbrex.config.xdlops.best_first import in_order
from imbrex.config.xdlops.cost import TileCost, closer_tile_cost, least_tile_cost, tile_cost
from imbrex.config.xdlops.loop import modelled
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups
from imbrex.timing.kernel import device_of

__all__ = ["MOST", "best_at_once", "clocks_at_once", "clocks_together", "in_turn", "is_at_once"]

MOST: Final = 9
"""Products of one kernel: those of three by three phases; each has code of its own."""


def is_at_once(products: Sequence[TunedProduct]) -> bool:
    """Does one launch have the tiles of all these products of phases?"""
    tunings = {product.tuning for product in products}
    is_plain = not any(product.schedule.is_shared for product in products)
    is_of_waves = all(isinstance(tuning, XdlopsTuning) for tuning in tunings)
    return 1 < len(products) <= MOST and len(tunings) == 1 and is_plain and is_of_waves


def in_turn(contexts: Sequence[GemmContext]) -> list[int]:
    """Positions of products as a launch begins their tiles."""
    return sorted(range(len(contexts)), key=lambda position: -contexts[position].k)


def clocks_at_once(
    plans: Sequence[XdlopsPlan], cost: Callable[[XdlopsPlan, int], TileCost] = tile_cost
) -> float:
    """Clocks of a launch of all tiles; cost: of a tile, or a bound of it."""
    groups = min(map(resident_groups, plans))
    at_a_time = plans[0].machine.compute_units * groups
    found = [(cost(plan, groups), plan) for plan in plans]
    tiles = [(plan.k_iterations * of.step + of.start, plan.grid_size) for of, plan in found]
    return _end(sorted(tiles, reverse=True), at_a_time)


def best_at_once(
    contexts: Sequence[GemmContext], machine: GpuMachine, family: Family
) -> tuple[XdlopsTuning, float] | None:
    """The tuning that serves all products soonest, and its clocks; None where none serves them all."""
    first = contexts[in_turn(contexts)[0]]
    served = [
        tuning
        for tuning in candidates(first, machine, family)
        if isinstance(tuning, XdlopsTuning) and not any(check(tuning, of, machine) for of in contexts)
    ]
    plans = [[tuning.plan(of, machine) for of in contexts] for tuning in served]
    bounds = {
        position: clocks_at_once(of, least_tile_cost)
        for position, of in enumerate(plans)
        if all(plan.wave_tiles is not None for plan in of)
    }
    closer: list[Callable[[list[XdlopsPlan]], float]] = [
        lambda of: clocks_at_once(of, closer_tile_cost), clocks_at_once
    ]  # fmt: skip
    found = next(in_order(plans, bounds, closer), None)
    return None if found is None else (served[found[1]], found[0])


def clocks_together(
    tuned: Sequence[TunedProduct],
    contexts: Sequence[GemmContext],
    each: Sequence[float],
    machine: GpuMachine,
) -> float:
    """Clocks of all products, each of which takes so many alone: in one launch, or one after the other."""
    if not is_at_once(tuned):
        return sum(each) + (len(each) - 1) * device_of(modelled(machine)).launch
    tunings = [one.tuning for one in tuned if isinstance(one.tuning, XdlopsTuning)]
    return clocks_at_once([one.plan(of, machine) for one, of in zip(tunings, contexts, strict=True)])


def _end(tiles: Sequence[tuple[float, int]], at_a_time: int) -> float:
    """When the last tile ends, of so many at a time.  tiles: clocks and how many, as they are begun."""
    free, end = [(0.0, at_a_time)], 0.0
    for clocks, count in tiles:
        left = count
        while left:
            at, many = heappop(free)
            taken = min(many, left)
            if taken < many:
                heappush(free, (at, many - taken))
            heappush(free, (at + clocks, taken))
            end, left = max(end, at + clocks), left - taken
    return end
