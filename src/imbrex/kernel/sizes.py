"""The run-time sizes that a kernel is checked at: the ends of its range and of every bucket, an odd one, and
where the last tile is full, or has one row more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from imbrex.config import configuration
from imbrex.config.buckets import tile_of
from imbrex.config.configuration import Configuration
from imbrex.problem import Problem

__all__ = ["left_out", "sizes_of"]

ODD: Final = 7
MOST_FLOPS: Final = 1 << 35
"""Most work of one size, since the reference multiplies in float64."""


def sizes_of(problem: Problem, chosen: str) -> tuple[int, ...]:
    """Ascending, without those that would take minutes; chosen: the text of the configuration."""
    every = sorted(set(_sizes(problem, configuration.parse(chosen))))
    quick = tuple(size for size in every if problem.at(size).flops <= MOST_FLOPS)
    return quick or (every[0],)


def left_out(problem: Problem, chosen: str) -> tuple[int, ...]:
    """Sizes that would be checked, were they smaller."""
    taken = sizes_of(problem, chosen)
    return tuple(sorted(set(_sizes(problem, configuration.parse(chosen))) - set(taken)))


def _sizes(problem: Problem, chosen: Configuration) -> Iterator[int]:
    size = problem.run_time
    assert size is not None, "a fixed size is checked as it is"
    wanted = [size.least, ODD, size.most]
    for product in chosen.products:
        tile = tile_of(product.tuning, problem)
        wanted += [tile, tile + 1]
        wanted += [] if product.upto is None else [product.upto, product.upto + 1]
    yield from (one for one in wanted if one in size)
