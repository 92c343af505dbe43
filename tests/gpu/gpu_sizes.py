"""Kernels that are told a size when they run, on a GPU: functions that give None, or what went wrong."""

from __future__ import annotations

from typing import Any

import torch
from gpu_case import TARGET

from imbrex.kernel import Kernel, compile
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.verify.device.check import drawn

LAYER = Gemm("?1..5000", 1024, 512, dtype="f16")
SIZES = (1, 7, 16, 17, 64, 65, 100, 255, 1000, 1024, 1025, 4096, 4097, 5000)
OTHERS = (
    Gemm("?1..600", 1024, 512, dtype="f16", transpose_b=True),
    Gemm("?1..600", 1024, 512, dtype="bf16", epilogue="relu(x * row_scale + bias) + residual"),
    Gemm("?1..600", 1000, 264, dtype="bf16", alpha=2.0, beta=0.5),
    Gemm("?1..600", 100, 50, dtype="f16"),
    Gemm("?1..600", 512, 512, dtype="i8", transpose_b=True),
    Gemm("?1..600", 512, 512, dtype="tf32"),
)
LAST: dict[str, Any] = {
    "filter_layout": "KYXC",
    "input_layout": "NHWC",
    "output_layout": "NHWK",
    "dtype": "f16",
}
WINDOW: dict[str, Any] = {"pad_h": 1, "pad_w": 1}
KEPT = "relu(pre_activation(x + bias)) + residual"
IMAGES = (
    Conv2d("forward", "?1..40", 64, 28, 28, 128, 3, 3, **WINDOW, **LAST),
    Conv2d("forward", "?1..40", 256, 14, 14, 264, 1, 1, **LAST),
    Conv2d("forward", "?1..40", 512, 7, 7, 512, 3, 3, **WINDOW, **LAST, epilogue=KEPT),
    Conv2d("forward", "?2..9", 128, 15, 13, 128, 3, 3, **WINDOW, **LAST, stride=2, groups=2),
    Conv2d("forward", "?1..9", 32, 15, 13, 48, 3, 3, **WINDOW, dtype="bf16"),
)
"""By walks, as a matrix, with parts of K in clusters, in groups, by loads of lanes."""
GRADIENTS = (
    Conv2d("backward_data", "?1..24", 64, 28, 28, 128, 3, 3, **WINDOW, **LAST),
    Conv2d("backward_data", "?1..24", 256, 14, 14, 264, 1, 1, **LAST),
    Conv2d("backward_data", "?2..9", 128, 15, 13, 128, 3, 3, **WINDOW, **LAST, stride=2, groups=2),
    Conv2d("backward_data", "?1..9", 32, 15, 13, 48, 3, 3, **WINDOW, dtype="bf16"),
)
"""Gradients of images: of windows that overlap, as a matrix, in groups under strides, by lanes."""
SUMS = (
    Conv2d("backward_weight", "?1..100", 64, 28, 28, 128, 3, 3, **WINDOW, **LAST),
    Conv2d("backward_weight", "?1..100", 256, 14, 14, 1024, 1, 1, **LAST),
    Conv2d("backward_weight", "?2..19", 128, 15, 13, 128, 3, 3, **WINDOW, **LAST, stride=2, groups=2),
    Conv2d("backward_weight", "?1..19", 32, 15, 13, 48, 3, 3, **WINDOW, dtype="bf16"),
    Gemm(512, 384, "?1..5000", dtype="f16", transpose_a=True),
    Gemm(200, 72, "?1..5000", dtype="tf32", transpose_a=True),
)
"""Sums over images and over rows: by walks, as a matrix, in groups under a stride, by lanes."""
PART_OF_K = Gemm("?1..600", 1024, 4096, dtype="bf16")

Told = str | None


def _fixed(kernel: Kernel, size: int) -> Kernel:
    """The kernel of that size alone, with the tuning of its bucket."""
    return compile(kernel.problem.at(size), TARGET, config=kernel.at(size).configuration)


def _arrays(problem: Any, seed: int, values: str) -> tuple[Any, ...]:
    tensors = drawn(problem, seed, values, "cuda")
    return tuple(tensors[o.role] for o in problem.operands)


def every_size_is_right() -> Told:
    """The sizes that `check` looks at: ends of buckets, full tiles and one row more."""
    return _are_right(LAYER, PART_OF_K)


def every_size_of_others_is_right() -> Told:
    """With an epilogue, added to C, by ordinary loads, of other types."""
    return _are_right(*OTHERS)


def every_number_of_images_is_right() -> Told:
    """Of convolutions that come by the copy engine."""
    return _are_right(*IMAGES[:2])


def every_number_of_other_images_is_right() -> Told:
    """Of convolutions in parts of K, in groups and by lanes."""
    return _are_right(*IMAGES[2:])


def every_number_of_images_of_gradients_is_right() -> Told:
    """Of convolutions, backwards to the image."""
    return _are_right(*GRADIENTS)


def gradients_have_the_bits_of_the_fixed_kernel() -> Told:
    """At the ends of the range and between."""
    return next(filter(None, (_differ(problem, (2, 3, 9)) for problem in GRADIENTS)), None)


def every_length_of_sums_is_right() -> Told:
    """Of gradients by filters, and of products whose K is rows."""
    return _are_right(*SUMS)


def sums_have_the_bits_of_the_fixed_kernel() -> Told:
    """Of each bucket, of too few images or rows for all workgroups, and between."""
    return next(filter(None, (_differ(problem, (2, 3, 9, 17)) for problem in SUMS)), None) or next(
        filter(None, (_differ(problem, (31, 257, 3001, 5000)) for problem in SUMS[4:])), None
    )


def images_have_the_bits_of_the_fixed_kernel() -> Told:
    """Of every bucket."""
    return next(filter(None, (_differ(problem, (2, 3, 9)) for problem in IMAGES)), None) or _differ(
        IMAGES[0], (1, 40)
    )


def _are_right(*problems: Problem) -> Told:
    for problem in problems:
        kernel = compile(problem, TARGET, untuned=True)
        for size in kernel.sizes:
            verdict = kernel.at(size).check(values="integer")
            if not verdict.is_right:
                return f"{problem} at {size}: {verdict}"
    return None


def bits_of_the_fixed_kernel() -> Told:
    """On floats, whose sums depend on their order."""
    cases = ((LAYER, SIZES), (OTHERS[1], (1, 65, 600)), (PART_OF_K, (1, 16, 65, 600)))
    return next(filter(None, (_differ(*case) for case in cases)), None)


def _differ(problem: Problem, sizes: tuple[int, ...]) -> Told:
    """Where a kernel has other bits than the fixed one of its bucket."""
    kernel = compile(problem, TARGET, untuned=True)
    for size in sizes:
        fixed = _fixed(kernel, size)
        arrays = _arrays(fixed.problem, size, "float")
        answers = [one(*(t.clone() for t in arrays)) for one in (kernel, fixed)]
        got, want = (one if isinstance(one, tuple) else (one,) for one in answers)
        same = [torch.equal(x.view(torch.uint8), y.view(torch.uint8)) for x, y in zip(got, want, strict=True)]
        if not all(same):
            return f"{problem} at {size} has other bits than the fixed kernel"
    return None


def tensors_tell_the_size() -> Told:
    """One kernel on tensors of many sizes, the same addresses among them, each twice."""
    kernel = compile(LAYER, TARGET, untuned=True)
    a, b, c = _arrays(LAYER.at(5000), 1, "integer")
    want = (a.double() @ b.double()).half().double()  # whole numbers, of which the result keeps 11 bits
    for size in (*SIZES, *reversed(SIZES)):
        c.fill_(float("nan"))
        kernel(a[:size], b, c[:size])
        new = kernel(a[:size], b)
        if not (torch.equal(c[:size].double(), want[:size]) and torch.equal(new, c[:size])):
            return f"{size} rows are wrong"
        if not torch.isnan(c[size:]).all():
            return f"rows behind the last of {size} were written"
    return None


def graphs_of_sizes() -> Told:
    """Recorded with one size, then with another."""
    kernel = compile(LAYER, TARGET, untuned=True)
    a, b, c = _arrays(LAYER.at(5000), 2, "integer")
    want = (a.double() @ b.double()).half().double()  # whole numbers, of which the result keeps 11 bits
    for size in (1, 1000, 65):
        kernel(a[:size], b, c[:size])
        c.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel(a[:size], b, c[:size])
        graph.replay()
        torch.cuda.synchronize()
        if not torch.equal(c[:size].double(), want[:size]) or c[size:].any():
            return f"a graph of {size} rows is wrong"
    return None
