"""Tunings of waves, the best first, with as few simulations as that takes.

A simulation takes milliseconds, and a bound of the clocks that it would say a hundredth or a tenth of them.
A bound of each tuning is known, and it is asked for the next closer one only while the last leaves it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush, merge
from typing import Final, TypeVar

from imbrex.config.xdlops.cost import bound_cycles, closer_cycles, mostly_cycles, wave_cycles
from imbrex.config.xdlops.plan import XdlopsPlan

__all__ = ["BEHIND", "best_first", "in_order"]

T = TypeVar("T")
BEHIND: Final = 1.05
"""A tuning whose bound is so many times the best one's clocks is not simulated."""
SURE: Final = 0.99
"""Share of a bound that is sure: trips that are measured begin and end amid waits, those of a law do not."""


def best_first(plans: Sequence[XdlopsPlan]) -> Iterator[int]:
    """Positions of plans, those of the fewest clocks first; where a bound is BEHIND the best, BEHIND times
    the bound stands for the clocks.
    """
    closer = closer_cycles, mostly_cycles, wave_cycles
    bounds = {position: bound_cycles(plan) for position, plan in enumerate(plans)}
    best = next(in_order(plans, bounds, closer), (0.0, 0))[0]
    near = {position: bound for position, bound in bounds.items() if bound < BEHIND * best}
    far = sorted((BEHIND * bounds[position], position) for position in bounds.keys() - near.keys())
    for _, position in merge(in_order(plans, near, closer), far):
        yield position


def in_order(
    items: Sequence[T], bounds: Mapping[int, float], closer: Sequence[Callable[[T], float]]
) -> Iterator[tuple[float, int]]:
    """Costs and positions of items that have bounds, the least first; nobody is asked before it has to be.

    closer: closer bounds of an item, one after the other; at the end its cost.
    """
    waiting = [(SURE * bound, position, 0) for position, bound in bounds.items()]
    heapify(waiting)
    while waiting:
        cost, position, level = heappop(waiting)
        if level == len(closer):
            yield cost, position
        else:
            found = closer[level](items[position])
            is_cost = level + 1 == len(closer)
            heappush(waiting, (found if is_cost else max(cost, SURE * found), position, level + 1))
