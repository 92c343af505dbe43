"""The outline of a configuration: all of it but its products, which are known only once it is."""

from __future__ import annotations

from imbrex.algorithm.name import (
    ALL_LAST,
    CHANNEL_VECTORS,
    CHANNELS_LAST,
    HALO,
    MERGED_GROUPS,
    SHARED_PHASES,
    SHARED_PHASES_LAST,
    WHOLE_IMAGES,
    WINDOW_ROWS,
    word_of,
)
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.task import task_of
from imbrex.config.configuration import DIRECT, Configuration
from imbrex.config.context import round_up
from imbrex.config.request import Request, has_matrix_instructions
from imbrex.config.strips import box_of
from imbrex.config.warpgroup.plan import SHORTEST, VECTOR_BYTES, WarpgroupTuning, step_of_channels
from imbrex.problem import Conv2d, Gemm

__all__ = ["outline"]

IN_PLACE = (WHOLE_IMAGES, HALO)
"""Algorithms with products of their own, in which neither taps nor channels have an order."""


def outline(request: Request, algorithm: str | None) -> Configuration:
    """The configuration of an algorithm without its products."""
    problem, word = request.problem, word_of(algorithm)
    if isinstance(problem, Gemm):
        return Configuration(algorithm or DIRECT)
    assert algorithm is not None, problem
    if word in IN_PLACE:
        return Configuration(algorithm)
    if word == CHANNEL_VECTORS:
        return Configuration(algorithm, strips=box_of(strips_shape(task_of(problem))))
    taps_first = has_matrix_instructions(request) or word in (SHARED_PHASES, SHARED_PHASES_LAST)
    return Configuration(algorithm, taps_first, _channels(request, problem, algorithm))


def _channels(request: Request, problem: Conv2d, algorithm: str) -> int:
    """What channels are counted up to, so that a step of K stays at one tap; 1 where warpgroups do not
    multiply.  A given tuning's own step decides where that is no part of the model's.
    """
    word, _, count = algorithm.partition(":")
    if not request.machine.has_warpgroups or not has_matrix_instructions(request) or word == WINDOW_ROWS:
        return 1
    channels = problem.k if problem.direction == "backward_data" else problem.c
    channels = channels // problem.groups * (int(count) if word == MERGED_GROUPS else 1)
    sums_channels = problem.direction != "backward_weight"
    if word in (CHANNELS_LAST, ALL_LAST, SHARED_PHASES_LAST) and sums_channels:
        channels = round_up(channels, max(1, VECTOR_BYTES // problem.dtype.bytes))
    shortest = SHORTEST // problem.dtype.bytes  # a step is of one phase
    least = shortest if word in (SHARED_PHASES, SHARED_PHASES_LAST) else 1
    found, given = max(least, step_of_channels(channels, problem.dtype)), request.tuning
    if isinstance(given, WarpgroupTuning) and sums_channels and found > 1:
        return found if round_up(channels, found) % given.k_per_block == 0 else given.k_per_block
    return found
