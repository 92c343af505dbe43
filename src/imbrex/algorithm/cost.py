"""What the models say of an algorithm: the cycles of its products and of the copies before them."""

from __future__ import annotations

from math import inf, prod
from typing import Final

from imbrex.algorithm.copies import moved_bytes
from imbrex.algorithm.name import (
    ALL_LAST,
    CHANNEL_VECTORS,
    WHOLE_IMAGES,
)
from imbrex.algorithm.outline import outline
from imbrex.algorithm.passes import to_product
from imbrex.chip import GpuTarget
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.task import task_of
from imbrex.config.channel_cost import channel_cycles
from imbrex.config.halo.choice import window_cycles
from imbrex.config.halo_weight.cost import halo_weight_cycles
from imbrex.config.request import Request
from imbrex.config.warpgroup import choice as warpgroup_choice
from imbrex.config.warpgroup.cost import copy_cycles
from imbrex.ir.dialect import context
from imbrex.ir.from_problem import problem_module
from imbrex.ir.ops.grid import GridwiseGemmOp, LaunchOp
from imbrex.ir.ops.memory import FillOp
from imbrex.ir.passes.affix_tuning import gemm_context
from imbrex.ir.passes.halo import halo_tuning
from imbrex.ir.passes.halo_weight import halo_weight_tuning
from imbrex.ir.shape import shape_of
from imbrex.problem import Conv2d, Problem

__all__ = ["cycles"]

WHOLE_ROWS: Final = 0.9
"""What rows of shared memory that end with an image save: 12 to 20 % were seen on an H200."""


SECTOR_BYTES: Final = 32
"""Of the caches: the least that is written."""


def cycles(request: Request, algorithm: str | None) -> float:
    """What the model says of a problem's products and of the copies before and after them."""
    machine = request.machine
    assert isinstance(machine, GpuTarget), machine
    if algorithm == CHANNEL_VECTORS:
        return _lane_cycles(request.problem, machine)
    module = problem_module(request.problem, request.name, algorithm)
    for step in to_product(outline(request, algorithm), machine, request.tuning):
        step.apply(context(), module)
    ops = list(module.walk())
    launches = sum(isinstance(op, LaunchOp) for op in ops)
    filled = sum(prod(size or 1 for size in shape_of(op.buffer)) for op in ops if isinstance(op, FillOp))
    moving = copy_cycles(moved_bytes(ops) + filled * request.problem.dtype.bytes, launches)
    products = [op for op in ops if isinstance(op, GridwiseGemmOp)]
    whole = WHOLE_ROWS if (algorithm or "").startswith(WHOLE_IMAGES) else 1.0
    scattered = copy_cycles(_scattered_bytes(request.problem, algorithm), 0)
    return moving + scattered + whole * sum(_product_cycles(op, algorithm, machine) for op in products)


def _scattered_bytes(problem: Problem, algorithm: str | None) -> int:
    """Of a filter's gradient whose channels do not come last: neighbouring lanes write an element each, with
    what lies between, or a sector.  512 x 512 x 3 x 3 took 16 us longer so on an H200.
    """
    if not isinstance(problem, Conv2d) or problem.direction != "backward_weight" or algorithm == ALL_LAST:
        return 0
    taps = problem.y * problem.x
    if taps == 1 or problem.filter_layout[-1] == "c":
        return 0
    elements = problem.k * (problem.c // problem.groups) * taps
    return elements * min(SECTOR_BYTES, taps * problem.dtype.bytes)


def _lane_cycles(problem: Problem, machine: GpuTarget) -> float:
    assert isinstance(problem, Conv2d), problem
    return channel_cycles(strips_shape(task_of(problem)), machine)


def _product_cycles(op: GridwiseGemmOp, algorithm: str | None, machine: GpuTarget) -> float:
    context = gemm_context(op)
    if weights := halo_weight_tuning(op):
        return halo_weight_cycles(weights.plan(context, machine))
    if own := halo_tuning(op):
        return window_cycles(own.plan(context, machine))
    offers = warpgroup_choice.offers(context, machine)
    return warpgroup_choice.taken(offers).cost if offers else inf
