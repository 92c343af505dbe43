"""Kernels that are told a size when they run, on a GPU: functions that give None, or what went wrong."""

from __future__ import annotations

from typing import Any

import torch
from gpu_case import TARGET

from imbrex.kernel import Kernel, compile
from imbrex.problem import Gemm
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


def _are_right(*problems: Gemm) -> Told:
    for problem in problems:
        kernel = compile(problem, TARGET, untuned=True)
        for size in kernel.sizes:
            verdict = kernel.at(size).check(values="integer")
            if not verdict.is_right:
                return f"{problem} at {size}: {verdict}"
    return None


def bits_of_the_fixed_kernel() -> Told:
    """On floats, whose sums depend on their order."""
    for problem, sizes in ((LAYER, SIZES), (OTHERS[1], (1, 65, 600)), (PART_OF_K, (1, 16, 65, 600))):
        kernel = compile(problem, TARGET, untuned=True)
        for size in sizes:
            fixed = _fixed(kernel, size)
            arrays = _arrays(fixed.problem, size, "float")
            got, want = (one(*(t.clone() for t in arrays)) for one in (kernel, fixed))
            if not torch.equal(got.view(torch.uint8), want.view(torch.uint8)):
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
