"""A Problem as IR: one function over its arrays that holds its conv2d or gemm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final, assert_never

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from imbrex.config.algorithm.table import number_of, row_of
from imbrex.config.tuning import Tuning
from imbrex.index.map import Dim, Layer, Map, joined_names, layer_over
from imbrex.index.rule import Broadcast, Fixed, PassThrough, Unmerge
from imbrex.ir.attrs import Bool, Float, Int, Ints, Keyword, Names, Padding
from imbrex.ir.chosen import Tuned
from imbrex.ir.element import element_of
from imbrex.ir.ops import Conv2dBwdDataOp, Conv2dBwdWeightOp, Conv2dOp, FinishOp, GemmOp
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.run_time_sizes import prefix
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import memref
from imbrex.problem import Conv2d, Gemm, Operand, Problem
from imbrex.problem.epilogue_array import ARRAYS, Along
from imbrex.view.gemm.blocks import in_blocks, together
from imbrex.view.strided import strided

CONVOLUTIONS: Final[dict[str, type[ConvOp]]] = {
    "forward": Conv2dOp,
    "backward_data": Conv2dBwdDataOp,
    "backward_weight": Conv2dBwdWeightOp,
}

MERGED: Final = "merged_groups"
"""The key of groups that are computed as one, which another algorithm may ask for, too."""


def problem_module(
    problem: Problem, name: str = "kernel", algorithm: str | None = None, tuning: Tuning | None = None
) -> ModuleOp:
    """A module with `func.func @name(%filter, %input, %output)`, or `(%a, %b, %c)`, that computes `problem`.

    The arrays of an epilogue follow, the residual with the result's dims.  With groups the arrays have the
    dialect's five dimensions; the same memory, seen with "g" split off.  An array with gaps is the
    memory from its first element to its last, and a view of that.  An array of a run-time size has `?`
    there, and a view of its greatest one, of which a prefix exists.  algorithm: of the table, with what
    follows its name.  tuning: the one that is chosen already, where the algorithm's passes want it.
    """
    operands, dims = problem.operands, problem.all_dims
    if isinstance(problem, Gemm):
        operands = problem.multiplied
        dims = tuple(_named(o) for o in operands[: len(dims)])
    sizes = [[size for _, size in of] for of in dims]
    result = problem.roles.index(problem.written)
    further = operands[len(dims) :]
    sizes += [sizes[result] if o.layout == problem.result.layout else o.shape for o in further]
    gaps = [_gaps(o, of) for o, of in zip(operands, dims, strict=False)]
    for position, map in enumerate(gaps):
        sizes[position] = [d.size for d in map.lower] if map else sizes[position]
    types = [
        memref(element_of(o.dtype), [None, *s[1:]] if _is_run_time(problem, o) else s)
        for o, s in zip(operands, sizes, strict=True)
    ]
    body = Block(arg_types=types)
    for arg, operand in zip(body.args, operands, strict=True):
        arg.name_hint = operand.role
    run = Run()
    own = [dims[result] if o.layout == problem.result.layout else _named(o) for o in further]
    seen = [
        _seen(problem, operand, arg, of, run)
        for operand, arg, of in zip(operands, body.args, (*dims, *own), strict=True)
    ]
    arrays: list[SSAValue] = [
        run.view(array, map.layers, str(array.name_hint)) if map else array
        for array, map in zip(seen, gaps, strict=False)
    ]
    arrays = [
        run.view(a, in_blocks([Dim(*d) for d in of], together(o.dtype)), f"{o.role}_blocks")
        if o.dtype.across
        else a
        for a, o, of in zip(arrays, operands, dims, strict=False)
    ]
    scales = len(problem.block_scales) if isinstance(problem, Gemm) else 0
    if problem.epilogue is not None:
        arrays[result] = _finished(problem, arrays[result], seen[len(dims) + scales :], run)
    arrays += seen[len(dims) : len(dims) + scales]
    body.add_ops([*run.ops, problem_op(problem, tuple(arrays), algorithm, tuning), ReturnOp()])
    return ModuleOp([FuncOp(name, (types, ()), Region(body))])


def _is_run_time(problem: Problem, operand: Operand) -> bool:
    """Is the outermost size of that array told when a kernel runs?"""
    return problem.run_time is not None and problem.run_time.is_of(operand)


def _named(operand: Operand) -> tuple[tuple[str, int], ...]:
    return tuple(zip(operand.layout, operand.shape, strict=True))


def _seen(
    problem: Problem, operand: Operand, array: SSAValue, dims: Sequence[tuple[str, int]], run: Run
) -> SSAValue:
    """The array; one of a run-time size as the view of its greatest one."""
    if problem.run_time is None or not _is_run_time(problem, operand):
        return array
    return run.view(array, (prefix([Dim(*d) for d in dims], problem.run_time.least),), operand.role)


def _gaps(operand: Operand, dims: Sequence[tuple[str, int]]) -> Map | None:
    """Map from the operand's dims to an array that holds them; None of a dense one."""
    return None if operand.strides is None else strided([Dim(*d) for d in dims], operand.strides)


def _finished(problem: Problem, result: SSAValue, arrays: Sequence[SSAValue], run: Run) -> SSAValue:
    """The result as a view that is stored through the problem's epilogue."""
    assert problem.epilogue is not None
    dims = tuple(Dim(*d) for d in problem.all_dims[problem.roles.index(problem.written)])
    seen = [
        run.view(array, (_along(ARRAYS[name].along, dims, problem),), name)
        if ARRAYS[name].along != "result"
        else array
        for name, array in zip((*problem.epilogue.arrays, *problem.epilogue.stored), arrays, strict=True)
    ]
    sums = memref(element_of(problem.dtype.accumulator), [d.size for d in dims])
    expression = Keyword(str(replace(problem.epilogue, result=None)))
    op = FinishOp.build(operands=[result, seen], result_types=[sums], properties={"expression": expression})
    op.result.name_hint = "finished"
    return run.add(op).result


def _along(along: Along, dims: tuple[Dim, ...], problem: Problem) -> Layer:
    """Such an array as one of the result's dims: a bias depends on the channel and its group alone."""
    lower, names = {
        "channels": ("channel", ("n",) if isinstance(problem, Gemm) else ("g", "k")),
        "rows": ("row", ("m",)),
        "nothing": ("one", ()),
    }[along]
    kept = [d for d in dims if d.name in names]
    rule = Fixed(0) if not kept else PassThrough() if len(kept) == 1 else Unmerge()
    entry = (rule, joined_names(kept), lower)
    others = [(Broadcast(), d.name, "") for d in dims if d not in kept]
    below = (Dim(lower, prod(d.size for d in kept)),)
    return layer_over(below, entry, *others, order=[d.name for d in dims], **dict(dims))


def problem_op(
    problem: Problem,
    arrays: tuple[SSAValue, ...],
    algorithm: str | None = None,
    tuning: Tuning | None = None,
) -> Operation:
    """The one operation that computes `problem` on arrays of its dims, in the order of its roles, and on the
    scales of blocks.
    """
    properties: dict[str, Attribute] = {}
    match problem:
        case Conv2d():
            for role in problem.roles:
                properties[f"{role}_layout"] = Names(tuple(dim for dim, _ in problem.dims(role)))
            properties["dilations"] = Ints(problem.dilation)
            properties["strides"] = Ints(problem.stride)
            properties["padding"] = Padding((problem.pad_h, problem.pad_w))
            properties |= _asking(algorithm)
            if tuning is not None and "halo" in properties:
                properties["tuning"] = Tuned(tuning)
            return CONVOLUTIONS[problem.direction].build(operands=list(arrays), properties=properties)
        case Gemm():
            flags = {"a_transposed": problem.transpose_a, "b_transposed": problem.transpose_b}
            properties |= {key: Bool(True) for key, given in flags.items() if given}
            scales = {"alpha": (problem.alpha, 1.0), "beta": (problem.beta, 0.0)}
            properties |= {key: Float(float(v)) for key, (v, neutral) in scales.items() if v != neutral}
            properties |= _asking(algorithm)
            return GemmOp.build(operands=[*arrays[:3], arrays[3:]], properties=properties)
        case _:
            assert_never(problem)


def _asking(algorithm: str | None) -> dict[str, Attribute]:
    """The keys by which an operation asks for an algorithm."""
    row, (word, _, follows) = row_of(algorithm), (algorithm or "").partition(":")
    if row is None or row.stated == "pass":
        return {}
    if row.stated == "word":
        return {"algorithm": Keyword(word)}
    if not row.is_counted:
        return {word: Keyword(follows) if row.argument else Bool(True)}
    count = Int(number_of(algorithm))
    merges = MERGED if row.passes[0] == "merge-groups" and count.data > 1 else word
    return {word: count, merges: count}
