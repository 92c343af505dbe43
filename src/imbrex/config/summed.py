"""Summed: a run-time size that is summed over, k of a product or the images of a gradient by filters.

Law: blocks of the result do not depend on it, and a CPU sums element by element in the order of k, however
many there are.  But of convolutions the last columns that fill less than half a vector are summed along k
where there are many k, lane by lane; a tuning that has none such is taken, or the size refused.  One image is
a bucket, for its rows lie otherwise than those of several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.algorithm.product import Products
from imbrex.config.choose import candidates, family_of, rank
from imbrex.config.configuration import Configuration
from imbrex.config.configured import configured
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.legal import check
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.config.tuning import Tuning
from imbrex.problem import Conv2d, Problem
from imbrex.view.mma.vector import without_tiles

__all__ = ["SUMMED_ENDS", "last_columns", "of_whole_columns"]

SUMMED_ENDS: Final[Mapping[str, tuple[int, ...]]] = {"k": (32, 256, 2048), "n": (1, 4, 16, 64)}
"""The greatest sizes of buckets, by the size's name."""


def last_columns(tuning: Tuning, problem: Problem) -> tuple[int, int]:
    """How many last columns may be summed along k, and how many columns there are; none where panels of A
    hold no neighbours along k, as those of a product, both of whose matrices lie with k outermost.
    """
    if not isinstance(tuning, CpuTuning) or not isinstance(problem, Conv2d) or tuning.a_layout == "k_major":
        return 0, 0
    columns = problem.gemm.m if tuning.swapped else problem.gemm.n
    few = columns % tuning.vector_lanes
    return few if few <= tuning.vector_lanes // 2 else 0, columns


def of_whole_columns(request: Request) -> Configuration:
    """The configuration of a gradient by filters on a CPU, without such columns where a tuning has none."""
    machine, problem, has_tuning = request.machine, request.problem, request.tuning is not None
    assert isinstance(machine, CpuMachine), machine
    machine = machine if has_tuning else without_tiles(machine)
    schedule, algorithm = request.schedule or DATA_PARALLEL, request.algorithm or "v4r4"
    wanted = replace(request, machine=machine, schedule=schedule, algorithm=algorithm)
    found = configured(wanted)
    if has_tuning or not any(last_columns(product.tuning, problem)[0] for product in found.products):
        return found
    made = products(problem, found, machine)
    assert isinstance(made, Products), found
    (context,) = (product.context for product in made.products)
    every = rank(candidates(context, machine, family_of(context, machine)), context, machine)
    fit = (one for one in every if not last_columns(one, problem)[0] and not check(one, context, machine))
    best = next(fit, None)
    return found if best is None else configured(replace(wanted, tuning=best))
