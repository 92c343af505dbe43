"""Meaning: one small problem executed at every level of the IR, each result compared with the reference."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from imbrex.ir.meaning import execute
from imbrex.ir.ops.standard import FuncOp
from imbrex.ir.shape import Shape, shape_of
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d, Gemm, Operand, Problem
from imbrex.run.arrays import Array, strided_view
from imbrex.verify.compare import Comparison, compare_results
from imbrex.verify.data import random_operands
from imbrex.verify.poison import poisoned, spoiled_in
from imbrex.verify.reference import reference

__all__ = ["Executed", "executed", "small"]

_OPERATIONS = 40_000  # of the interpreter, which does a few million a second


@dataclass(frozen=True)
class Executed:
    """What a level computed."""

    level: str
    operations: int
    comparison: Comparison
    seconds: float


def executed(request: Request) -> Iterator[Executed]:
    """Every level's result on the same integer operands, whose sums are exact: equal is all that passes."""
    problem = request.problem
    operands = random_operands(problem)
    truth = reference(problem, operands.arrays)
    for level in levels(request):
        function = next(op for op in level.module.walk() if isinstance(op, FuncOp))
        laid = [
            _laid(operands.arrays[operand.role], operand, shape_of(given))
            for operand, given in zip(problem.operands, function.body.block.args, strict=True)
        ]
        started = time.perf_counter()
        execute(level.module, [memory for memory, _ in laid])
        elapsed_s = time.perf_counter() - started
        memory, _ = laid[problem.operands.index(problem.result)]
        written = [array for (_, array), o in zip(laid, problem.operands, strict=True) if o.is_written]
        outcome = compare_results(problem, written, truth, operands)
        if problem.result.strides is not None:
            gap_writes = spoiled_in(memory, problem.result.shape, problem.result.strides)
            outcome = replace(outcome, gap_writes=gap_writes)
        yield Executed(level.name, sum(1 for _ in level.module.walk()), outcome, elapsed_s)


def _laid(array: Array, operand: Operand, shape: Shape) -> tuple[Array, Array]:
    """Memory of the shape that the function takes, poison in its gaps, and the operand's array in it."""
    sizes = [size for size in shape if size is not None]
    if operand.strides is None:
        memory = array.copy().reshape(sizes)
        return memory, memory.reshape(operand.shape)
    memory = poisoned(tuple(sizes), operand.dtype)
    view = strided_view(memory.reshape(-1), operand.shape, operand.strides)
    np.copyto(view, array)
    return memory, view


def small(problem: Problem) -> Problem:
    """The problem itself, or one like it that an interpreter can do: same window, layouts, type, groups."""
    if problem.flops <= _OPERATIONS:
        return problem
    if isinstance(problem, Gemm):
        m, n, k = min(problem.m, 19), min(problem.n, 21), min(problem.k, 13)
        return replace(problem, m=m, n=n, k=k, batch=min(problem.batch, 2))
    return _small_conv(problem)


def _small_conv(conv: Conv2d) -> Conv2d:
    groups = min(conv.groups, 2)
    c = groups * min(conv.c // conv.groups, 4)
    k = groups * min(conv.k // conv.groups, 6)
    height, width = (
        min(axis.size, max(1, axis.reach + 5 * axis.stride - sum(axis.pad))) for axis in conv.axes
    )
    return replace(conv, n=min(conv.n, 2), c=c, k=k, groups=groups, h=height, w=width)
