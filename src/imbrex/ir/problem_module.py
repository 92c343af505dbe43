"""A Problem as IR: one function over its arrays that holds its conv2d or gemm."""

from __future__ import annotations

from typing import Final, assert_never

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from imbrex.ir.attrs import Bool, Float, Ints, Names, Padding, Word
from imbrex.ir.element import element_of
from imbrex.ir.ops import Conv2dBwdDataOp, Conv2dBwdWeightOp, Conv2dOp, GemmOp
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.shape import memref
from imbrex.problem import Conv2d, Gemm, Problem

CONVOLUTIONS: Final[dict[str, type[ConvOp]]] = {
    "forward": Conv2dOp,
    "backward_data": Conv2dBwdDataOp,
    "backward_weight": Conv2dBwdWeightOp,
}


def problem_module(problem: Problem, name: str = "kernel", algorithm: str | None = None) -> ModuleOp:
    """A module with `func.func @name(%filter, %input, %output)`, or `(%a, %b, %c)`, that computes `problem`.

    With groups the arrays have the dialect's five dimensions; the same memory, seen with "g" split off.
    algorithm: of a convolution, "channels_last"; of backward data, also "v1r1" or "v4r1"; of a product,
    "data_tiled:TILE_KERNEL".
    """
    match problem:
        case Conv2d():
            types = [
                memref(element_of(problem.element(r)), [size for _, size in problem.dims(r)])
                for r in problem.roles
            ]
            hints = problem.roles
        case Gemm():
            types = [memref(element_of(problem.element(r)), problem.shapes(r)) for r in problem.roles]
            hints = problem.roles
        case _:
            assert_never(problem)
    body = Block(arg_types=types)
    for arg, hint in zip(body.args, hints, strict=True):
        arg.name_hint = hint
    body.add_ops([problem_op(problem, body.args, algorithm), ReturnOp()])
    return ModuleOp([FuncOp(name, (types, ()), Region(body))])


def problem_op(problem: Problem, arrays: tuple[SSAValue, ...], algorithm: str | None = None) -> Operation:
    """The one operation that computes `problem` on arrays of its dims, in the order of its roles."""
    properties: dict[str, Attribute] = {}
    match problem:
        case Conv2d():
            for role in problem.roles:
                properties[f"{role}_layout"] = Names(tuple(dim for dim, _ in problem.dims(role)))
            properties["dilations"] = Ints(problem.dilation)
            properties["strides"] = Ints(problem.stride)
            properties["padding"] = Padding((problem.pad_h, problem.pad_w))
            if algorithm == "channels_last":
                properties["channels_last"] = Bool(True)
            elif algorithm is not None and problem.direction == "backward_data":
                properties["algorithm"] = Word(algorithm)
            return CONVOLUTIONS[problem.direction].build(operands=list(arrays), properties=properties)
        case Gemm():
            flags = {"a_transposed": problem.transpose_a, "b_transposed": problem.transpose_b}
            properties |= {key: Bool(True) for key, given in flags.items() if given}
            scales = {"alpha": (problem.alpha, 1.0), "beta": (problem.beta, 0.0)}
            properties |= {key: Float(float(v)) for key, (v, neutral) in scales.items() if v != neutral}
            if algorithm is not None:
                properties["data_tiled"] = Word(algorithm.removeprefix("data_tiled:"))
            return GemmOp.build(operands=list(arrays), properties=properties)
        case _:
            assert_never(problem)
