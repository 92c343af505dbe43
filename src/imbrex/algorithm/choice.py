"""The algorithm of a problem: the one that is asked for, or the one that costs least by the models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from imbrex.algorithm.asked import expect_aligning, expect_convolution, expect_served
from imbrex.algorithm.cost import cycles
from imbrex.algorithm.name import (
    ALIGNED,
    CHANNEL_VECTORS,
    CHANNELS_LAST,
    DIRECT,
    HALO,
    INTERLEAVED,
    MERGED_GROUPS,
    SHARED_PHASES,
    SHARED_PHASES_LAST,
    WHOLE_IMAGES,
    WINDOW_ROWS,
)
from imbrex.config.algorithm.aligned import aligned_operands_of
from imbrex.config.algorithm.channels_last import COPIED, packed_arrays, pays
from imbrex.config.algorithm.depthwise import is_depthwise
from imbrex.config.algorithm.few_channels import rows_of
from imbrex.config.algorithm.phases import are_apart, shares_phases
from imbrex.config.algorithm.pointwise import ROW_BYTES, is_served
from imbrex.config.algorithm.task import ConvTask, task_of
from imbrex.config.algorithm.windows import groups_of, refused
from imbrex.config.halo.lines import WindowTuning
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.config.request import Request, has_matrix_instructions
from imbrex.config.tiles import TileSchedule
from imbrex.config.warpgroup import choice as warpgroup_choice
from imbrex.config.xdlops.data_tiled import named_algorithm
from imbrex.problem import Conv2d, Gemm

__all__ = ["algorithm_of"]

LANE_TYPES: Final = ("f16", "bf16", "f32")
"""Whose depthwise convolutions lanes multiply."""


def algorithm_of(request: Request) -> str | None:
    """The algorithm that is asked for, in full, or the one that is chosen; None: a plain product.

    A Diagnostic where the one that is asked for does not serve.
    """
    expect_served(request)
    match request.problem:
        case Gemm() as problem:
            return _of_product(request, problem)
        case Conv2d() as problem:
            return _of_convolution(request, problem)


def _of_convolution(request: Request, problem: Conv2d) -> str:
    asked, task = request.algorithm, task_of(problem)
    if asked is not None:
        expect_convolution(asked, task, request)
        return asked
    plain = "v4r1" if problem.direction == "backward_data" else "v4r4"
    on_lanes = is_depthwise(task) and problem.dtype.name in LANE_TYPES and request.tuning is None
    if request.machine.multiprocessor and on_lanes and not has_matrix_instructions(request):
        return CHANNEL_VECTORS
    if not has_matrix_instructions(request):
        return plain
    if isinstance(request.tuning, WindowTuning | HaloWeightTuning):
        asked = f"{HALO}:{groups_of(request.tuning, task)}"
        expect_convolution(asked, task, request)
        return asked
    if not request.machine.has_warpgroups or request.tuning is not None:
        return CHANNELS_LAST if pays(task) else plain
    shares = isinstance(request.schedule, TileSchedule) and request.schedule.is_shared
    others = [a for a in _alternatives(task, problem) if not (shares and a.startswith(HALO))]
    return min((plain, *others), key=lambda a: cycles(request, a)) if others else plain


def _alternatives(task: ConvTask, problem: Conv2d) -> Iterator[str]:
    """The algorithms of a convolution for warpgroups that copy something."""
    if is_depthwise(task) and problem.dtype.name in LANE_TYPES:
        yield CHANNEL_VECTORS
    yield from (word for word, copied in COPIED.items() if copied(task))
    if are_apart(task):
        yield INTERLEAVED
    if shares_phases(task) is None:
        yield SHARED_PHASES
        if packed_arrays(task):
            yield SHARED_PHASES_LAST
    if rows_of(task) is not None:
        yield WINDOW_ROWS
    groups, size = problem.groups, problem.dtype.bytes
    if problem.stride == (1, 1) and is_served(task):  # others, and shorter rows, were not seen to be faster
        yield f"{WHOLE_IMAGES}:{ROW_BYTES[-1] // size}"
    narrow, wide = (of(problem.c // groups, problem.k // groups) * size for of in (min, max))
    for row in ROW_BYTES:
        count = row // narrow
        if count > 1 and groups % count == 0 and count * wide <= ROW_BYTES[-1]:
            yield f"{MERGED_GROUPS}:{count}"
    if not (is_depthwise(task) and problem.dtype.name in LANE_TYPES):  # lanes read what they read once, too
        yield from (f"{HALO}:{n}" for n in {1, *(r // narrow for r in ROW_BYTES)} if refused(task, n) is None)


def _of_product(request: Request, problem: Gemm) -> str | None:
    """By the model of warpgroups where these multiply, unless a tuning is given, which is of one product."""
    asked, is_served = request.algorithm, request.machine.has_warpgroups and has_matrix_instructions(request)
    if asked not in (None, ALIGNED):
        return None if asked == DIRECT else named_algorithm(asked, problem.dtype, request.machine)
    if asked == ALIGNED:
        expect_aligning(request)
        return ALIGNED
    return ALIGNED if is_served and request.tuning is None and _aligns(request) else None


def _aligns(request: Request) -> bool:
    """Are copies of what ordinary loads would have to read, and the product of them, faster?"""
    if not aligned_operands_of(request.problem):
        return False
    direct = cycles(request, None) * (1 - warpgroup_choice.MARGIN)
    return cycles(request, ALIGNED) < direct
