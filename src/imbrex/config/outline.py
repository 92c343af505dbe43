"""The outline of a configuration: all of it but its products, which are known only once it is."""

from __future__ import annotations

from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.algorithm.channels_last import ALL_READ
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.table import Algorithm, number_of, row_of
from imbrex.config.algorithm.task import task_of
from imbrex.config.configuration import DIRECT, Configuration
from imbrex.config.context import round_up
from imbrex.config.matrix_unit import has_matrix_instructions, multiplies
from imbrex.config.request import Request
from imbrex.config.warpgroup.plan import WarpgroupTuning, step_of_channels
from imbrex.config.window_strips import chosen_box
from imbrex.config.xdlops.space import STEP_BYTES
from imbrex.problem import Conv2d, Gemm
from imbrex.view.stage.shared_tile import SWIZZLES

__all__ = ["outline"]


def outline(request: Request, algorithm: str | None) -> Configuration:
    """The configuration of an algorithm without its products."""
    problem, row = request.problem, row_of(algorithm)
    if isinstance(problem, Gemm):
        return Configuration(algorithm or DIRECT)
    assert row is not None and algorithm is not None, (algorithm, problem)
    if row.is_on_lanes:
        return Configuration(algorithm, strips=chosen_box(strips_shape(task_of(problem)), request.machine))
    if not row.has_k_order:
        return Configuration(algorithm)
    return Configuration(
        algorithm,
        _taps_first(request, row),
        _channels(request, problem, row, number_of(algorithm)),
        images_last=_images_last(request, problem, row),
    )


def _taps_first(request: Request, row: Algorithm) -> bool:
    """Does K run over taps first?

    On a machine of warpgroups where these multiply the type, whatever tuning is given; elsewhere a tuning of
    work items keeps the order of the filter, which then unfolds to one index.
    """
    if request.machine.has_warpgroups:
        return multiplies(request.machine, request.problem.dtype) or row.phases == "shared"
    return has_matrix_instructions(request) or row.phases == "shared"


def _images_last(request: Request, problem: Conv2d, row: Algorithm) -> bool:
    """Does K of backward weight run over pixels before images?

    On a GPU of waves, where images fill the longest steps of K: each step then stays at one pixel, which no
    lane takes apart.  Not where windows are the pixels themselves, nor where those lie together in memory.
    """
    machine = request.machine
    if problem.direction != "backward_weight" or problem.run_time is not None:
        return False
    if machine.has_warpgroups or not has_matrix_instructions(request):
        return False
    taps, moves = (problem.y, problem.x), (problem.stride, problem.pad_h, problem.pad_w)
    is_pixels = taps == (1, 1) and moves == ((1, 1), (0, 0), (0, 0))
    conv = task_of(problem).conv
    lie_last = (conv.input[-1].name, conv.output[-1].name) == ("c", "k")
    is_last = row.packs in ALL_READ or lie_last
    return not is_pixels and is_last and problem.n * problem.dtype.bytes % max(STEP_BYTES) == 0


def _channels(request: Request, problem: Conv2d, row: Algorithm, number: int) -> int:
    """What channels are counted up to, so that a step of K stays at one tap; 1 where warpgroups do not
    multiply.  A given tuning's own step decides where that is no part of the model's.
    """
    machine = request.machine
    is_served = machine.has_warpgroups and has_matrix_instructions(request)
    if not is_served or not isinstance(machine, GpuMachine) or "window-rows" in row.passes:
        return 1
    channels = problem.k if problem.direction == "backward_data" else problem.c
    channels = channels // problem.groups * (number if "merge-groups" in row.passes else 1)
    sums_channels = problem.direction != "backward_weight"
    if row.packs is not None and sums_channels:
        channels = round_up(channels, max(1, VECTOR_BYTES // problem.dtype.bytes))
    least = SWIZZLES[-1] // problem.dtype.bytes if row.phases == "shared" else 1  # a step is of one phase
    found, given = max(least, step_of_channels(channels, problem.dtype, machine)), request.tuning
    if isinstance(given, WarpgroupTuning) and sums_channels and found > 1:
        return found if round_up(channels, found) % given.k_per_block == 0 else given.k_per_block
    return found
