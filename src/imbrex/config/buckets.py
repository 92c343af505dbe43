"""Buckets: the configuration of a run-time size, with a tuning for each part of its range.

    v2:direct+product=v1:cpu:..@data_parallel,upto=16+product=v1:cpu:..@data_parallel

Law: each bucket is tuned as a problem of its greatest size is, on a CPU so that no size of it loses much
(`bucket_tuning`); strips of a depthwise convolution are those of the greatest.  Of a problem of several
products, the phases of a strided gradient, a bucket has all of them, with one end.  Buckets of the same
tunings are one.  All have the algorithm of the greatest size.  A kernel that is told its size multiplies as
the kernel of that size and tuning does, bit by bit.

What is summed over, k of a product or the images of a gradient by filters, decides no block of the result.
Workgroups of a GPU that share a tile have equal parts of its steps; a CPU sums element by element in the
order of k, however many there are.  Whether last columns are summed
along k, lane by lane, does depend on how many there are, and on the number of rows, and is found when the
kernel runs as it is for a fixed number (`with_columns` and `with_columns_of` of product.h).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from imbrex.chip import CpuMachine, GpuMachine, Machine
from imbrex.config.algorithm.choice import plain_of
from imbrex.config.algorithm.product import Products
from imbrex.config.algorithm.table import row_of
from imbrex.config.bucket_tuning import Bucket, joined
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.configured import configured
from imbrex.config.context import GemmContext
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.config.tuning import Tuning, text
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Problem
from imbrex.problem.run_time import RunTime
from imbrex.view.mma.vector import CPU_UNITS, without_tiles

__all__ = ["bucketed", "buckets", "of_most", "of_size", "tile_of"]

ENDS: Final[Mapping[str, tuple[int, ...]]] = {
    "m": (1, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384),
    "n": (1, 2, 3, 4, 5, 6, 7, 8, 16, 64, 256),
}
"""The greatest sizes of buckets, by the size's name: dense where a panel of rows is not yet full, and where
threads share few images.
"""
TILE_ENDS: Final[Mapping[str, tuple[int, ...]]] = {
    "m": (16, 64, 128, 256, 512, 1024, 2048, 4096, 16384),
    "n": (1, 2, 4, 8, 16, 32, 64, 256),
}
"""The same of tiles of warpgroups."""
SUMMED_ENDS: Final[Mapping[str, tuple[int, ...]]] = {"k": (32, 256, 2048), "n": (1, 4, 16, 64)}
"""The same of what is summed over; one image is a bucket, for its rows lie otherwise than those of several.
"""
SPLIT_K: Final = TileSchedule("split_k")


def of_most(request: Request) -> Request:
    """The request with the greatest size as a number."""
    size = request.problem.run_time
    return request if size is None else replace(request, problem=request.problem.at(size.most))


def bucketed(request: Request) -> Configuration:
    """The configuration that a request gives, or a tuning for each bucket; of a fixed size `configured`.

    A Diagnostic where the algorithm, the schedule or the instruction does not take a run-time size.
    """
    size = request.problem.run_time
    if size is None:
        return configured(request)
    last = _configured(request, size.most)
    problem = request.problem
    if size.is_summed and not last.products and request.is_open and isinstance(problem, Conv2d):
        last = _configured(replace(request, algorithm=plain_of(problem)), size.most)
    _expect_open(last, request)
    if request.config is not None or request.tuning is not None:
        return last
    if not last.products:
        return last
    wanted = replace(request, algorithm=last.algorithm)
    ends = _ends(request.machine, size)
    best = {end: _configured(wanted, end) for end in ends if size.least <= end < size.most}
    best = {end: one for end, one in best.items() if _outline(one) == _outline(last)} | {size.most: last}
    firsts = (size.least, *(end + 1 for end in best))
    ranges = list(zip(firsts, best, strict=False))
    every: list[tuple[TunedProduct, ...]] = []
    for at in range(len(last.products)):
        found = [Bucket(first, end, best[end].products[at]) for first, end in ranges]
        every.append(_different(found, request, last, at))
    return replace(last, products=_together(every))


def _ends(machine: Machine, size: RunTime) -> tuple[int, ...]:
    if size.is_summed:
        return SUMMED_ENDS[size.name]
    return (ENDS if isinstance(machine, CpuMachine) else TILE_ENDS)[size.name]


def _together(every: Sequence[tuple[TunedProduct, ...]]) -> tuple[TunedProduct, ...]:
    """Buckets of all products with the ends that any has.  every: of each product, its buckets."""
    ends = sorted({one.upto for of in every for one in of if one.upto is not None})
    made: list[TunedProduct] = []
    for end in (*ends, None):
        serving = (next(one for one in of if one.upto is None or (end and end <= one.upto)) for of in every)
        made += [replace(one, upto=end) for one in serving]
    return tuple(made)


def _different(
    found: Sequence[Bucket], request: Request, of: Configuration, at: int
) -> tuple[TunedProduct, ...]:
    """Buckets whose products differ.  at: which product of a bucket."""
    problem, machine = request.problem, request.machine
    is_summed = problem.run_time is not None and problem.run_time.is_summed
    if (
        not is_summed
        and isinstance(machine, CpuMachine)
        and all(isinstance(one.best.tuning, CpuTuning) for one in found)
    ):

        def context_of(number: int) -> GemmContext:
            made = products(problem.at(number), of, machine)
            assert isinstance(made, Products), of
            return made.products[at].context

        each = context_of(found[-1].end).n // problem.n if isinstance(problem, Conv2d) else 1
        return joined(found, lambda tuning: _along(tuning, problem), each, context_of, machine)
    kept = [found[-1].best]
    for one in reversed(found[:-1]):
        if one.best != replace(kept[0], upto=None) or (is_summed and one.end == 1):
            kept.insert(0, replace(one.best, upto=one.end))
    return tuple(kept)


def _configured(request: Request, size: int) -> Configuration:
    """The configuration for one size; what is not said is chosen among what takes others, too."""
    is_summed = request.problem.run_time is not None and request.problem.run_time.is_summed
    request = replace(request, problem=request.problem.at(size))
    if request.config is not None:
        return configured(request)
    if isinstance(request.machine, CpuMachine):
        has_tuning, machine = request.tuning is not None, request.machine
        machine = machine if has_tuning else without_tiles(machine)
        is_sum_of_images = is_summed and isinstance(request.problem, Conv2d)
        algorithm = request.algorithm or ("v4r4" if is_sum_of_images else None)
        made = replace(request, machine=machine, algorithm=algorithm)
        return configured(replace(made, schedule=request.schedule or DATA_PARALLEL))
    in_place = _in_place(request.problem)
    request = replace(request, algorithm=request.algorithm or in_place)
    found = configured(request)
    if request.schedule is None and any(_counts(product, is_summed) for product in found.products):
        return configured(replace(request, schedule=SPLIT_K if is_summed else DATA_PARALLEL))
    return found


def _in_place(problem: Problem) -> str:
    """The algorithm of a GPU's that reads operands where they lie."""
    if not isinstance(problem, Conv2d):
        return "direct"
    return "v4r1" if problem.direction == "backward_data" else "v4r4"


def _counts(product: TunedProduct, is_summed: bool) -> bool:
    """Does it depend on how many tiles there are who computes what of one?  Of what is summed over: may the
    parts of a tile be unequal in number, as there are steps?
    """
    mode, order = product.schedule.mode, product.schedule.order
    if is_summed:
        return mode not in ("data_parallel", "split_k", "cluster_k")
    is_plain = order is None or order.is_plain
    return not is_plain or mode not in ("data_parallel", "cluster_k")


def buckets(request: Request, configuration: Configuration) -> Iterator[tuple[Request, Configuration]]:
    """Each part of the range as a request, with the configuration that it is compiled by; of a fixed size
    the request itself.
    """
    size, problem = request.problem.run_time, request.problem
    if size is None:
        yield request, configuration
        return
    least = size.least
    if not configuration.products:  # strips, which have no buckets
        yield request, configuration
    groups = _groups(configuration)
    for position, (upto, own) in enumerate(groups):
        is_last = position == len(groups) - 1
        most = size.most if upto is None else upto
        are_all = len(own) == len(groups[0][1])
        if not (are_all and least <= most <= size.most) or is_last != (upto is None):
            message = f"tunings of a run-time {size.name} ascend within {size}, the last without 'upto'"
            raise Diagnostic(f"{message}; got {_upto(configuration)}")
        alone = replace(configuration, products=own)
        yield replace(request, problem=problem.open(least, most)), alone
        least = most + 1


def of_size(configuration: Configuration, size: int) -> Configuration:
    """The configuration of the kernel that one size has, as that of a problem of this number."""
    if not configuration.products:
        return configuration
    own = next(own for upto, own in _groups(configuration) if upto is None or size <= upto)
    return replace(configuration, products=own)


def _groups(of: Configuration) -> list[tuple[int | None, tuple[TunedProduct, ...]]]:
    """The end of each bucket, and its products as those of a fixed size."""
    found = groupby(of.products, lambda product: product.upto)
    return [(upto, tuple(replace(product, upto=None) for product in own)) for upto, own in found]


def tile_of(tuning: Tuning, problem: Problem) -> int:
    """How much of the run-time size a tile has, or a step over what is summed, at least one of it."""
    sizes, size = problem.gemm, problem.run_time
    if size is not None and size.is_summed:
        return max(1, tuning.k_per_block * size.most // sizes.k)
    if isinstance(problem, Conv2d):
        pixels = sizes.n // problem.n
        block = getattr(tuning, _along(tuning, problem))
        return max(1, block // pixels)
    return getattr(tuning, _along(tuning, problem))


def _along(tuning: Tuning, problem: Problem) -> str:
    """The parameter of blocks along the run-time size: rows of C, or, where a product is of pixels or is
    transposed, columns.
    """
    is_swapped = getattr(tuning, "swapped", False)
    return "m_per_block" if isinstance(problem, Conv2d) == is_swapped else "n_per_block"


def _outline(of: Configuration) -> Configuration:
    return replace(of, products=())


def _upto(of: Configuration) -> str:
    return ", ".join("none" if product.upto is None else str(product.upto) for product in of.products)


def _expect_open(of: Configuration, request: Request) -> None:
    """A Diagnostic where what is chosen is made for a number."""
    problem, machine = request.problem, request.machine
    row, name = row_of(of.algorithm), problem.run_time.name if problem.run_time else ""
    hint = f"leave it out, or give {name} a number"
    if isinstance(machine, GpuMachine) and not machine.has_wgmma:
        message = f"a run-time {name} is for CPUs and for warpgroups, and {machine.name} is a GPU without"
        raise Diagnostic(message, hint=f"give {name} a number")
    if row is not None and row.phases == "added":
        message = f"algorithm '{of.algorithm}' adds in memory, which is not made for a run-time {name}"
        raise Diagnostic(message, hint=hint)
    is_summed = problem.run_time is not None and problem.run_time.is_summed
    if row is None or row.copies != "nothing" or not (of.products or (row.is_on_lanes and not is_summed)):
        raise Diagnostic(f"algorithm '{of.algorithm}' is not made for a run-time {name}", hint=hint)
    if isinstance(machine, GpuMachine) and row.name != _in_place(problem):
        raise Diagnostic(f"algorithm '{row.name}' is not made for a run-time {name}", hint=hint)
    for product in of.products:
        if _counts(product, is_summed):
            what = "steps" if is_summed else "tiles"
            message = f"the schedule '{product.schedule}' counts {what}, and a run-time {name} has any number"
            raise Diagnostic(message, hint=hint)
        tuning = product.tuning
        if isinstance(machine, GpuMachine) and not isinstance(tuning, WarpgroupTuning):
            message = f"a run-time {name} is for tiles of warpgroups, and the tuning is '{text(tuning)}'"
            is_said = request.tuning is not None or request.config is not None
            other = f"give {name} a number, or a type that warpgroups multiply, such as tf32, f16 or bf16"
            raise Diagnostic(message, hint=hint if is_said else other)
        if isinstance(tuning, CpuTuning) and CPU_UNITS[tuning.unit].tiles is not None:
            message = f"unit {tuning.unit} multiplies tiles of known sizes, and {name} is a run-time one"
            raise Diagnostic(message, hint=f"name a level without them, or give {name} a number")
