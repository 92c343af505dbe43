"""Checking: a program in C that checks every kernel of a library against plain loops in double.

Law: it includes the header of the library and C's own alone.  Operands are small whole numbers; of a large
result elements all over it are computed again, and all of it must have been written.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from importlib.resources import files
from typing import Final, assert_never

import numpy as np

from imbrex.dtype import DType
from imbrex.library.dispatch import HOST, Interface, quoted
from imbrex.library.family import Family, Member
from imbrex.problem import Conv2d, Gemm, Operand, Problem, problem_text
from imbrex.problem.epilogue import SIGNS, Call, Expression, Name, Number
from imbrex.problem.epilogue_array import ARRAYS
from imbrex.problem.layout import DIMENSIONS
from imbrex.problem.operand import dense_strides
from imbrex.symbol import symbol_of

__all__ = ["program"]

KINDS = {"forward": 1, "backward_data": 2, "backward_weight": 3}
SLOTS: Final[tuple[str, ...]] = tuple(ARRAYS)
ALONG = {"nothing": 0, "channels": 1, "result": 2, "rows": 3}


def program(name: str, families: Sequence[Family], interface: Interface = HOST) -> str:
    """NAME_test.c."""
    members = sorted(
        ((one, number) for number, family in enumerate(families) for one in family.members),
        key=lambda found: found[0].kernel,
    )
    lines: list[str] = []
    rows: list[str] = []
    for member, family in members:
        lines += _function(member)
        rows += [_row(member, size, family) for size in member.sizes]
    text = files("imbrex.library").joinpath("check.c").read_text(encoding="utf-8")
    return string.Template(text).substitute(
        name=name, symbol=symbol_of(name), shout=symbol_of(name).upper(), functions="\n".join(lines),
        rows="\n".join(rows), epilogue_arrays=len(ARRAYS),
        run=interface.check.replace("NAME", symbol_of(name)),
    )  # fmt: skip


def _function(member: Member) -> list[str]:
    """The epilogue, in double."""
    after = member.problem.epilogue
    if after is None:
        return []
    value = _expression(after.expression)
    head = f"static double after_{member.kernel}(double x, double *v)"
    return [f"{head} {{ (void)x; (void)v; return {value}; }}"]


def _expression(node: Expression) -> str:
    match node:
        case Name("x"):
            return "x"
        case Name(name):
            return f"v[{SLOTS.index(name)}]"
        case Number(value):
            return f"({float(value)!r})"
        case Call(function, arguments):
            given = [_expression(one) for one in arguments]
            if function in SLOTS:
                return f"(v[{SLOTS.index(function)}] = {given[0]})"
            if function in SIGNS:
                return f"({given[0]} {SIGNS[function]} {given[1]})"
            return f"after_{function}({', '.join(given)})"
        case _:
            assert_never(node)


def _row(member: Member, size: int, family: int) -> str:
    """One problem of the table: a member's, of so many rows."""
    problem = member.problem.at(size)
    arrays = ", ".join(_array(operand) for operand in problem.operands)
    after = f"after_{member.kernel}" if problem.epilogue else "0"
    numbers = ", ".join(map(str, _numbers(problem)))
    alpha, beta = (problem.alpha, problem.beta) if isinstance(problem, Gemm) else (1.0, 0.0)
    own = f"{family}, {size}, {len(problem.operands)}, {{{arrays}}}"
    rest = f"{{{numbers}}}, {problem.terms}, {alpha!r}, {beta!r}, {after}"
    return f"    {{{quoted(problem_text(problem))}, {own}, {rest}}},"


def _array(operand: Operand) -> str:
    dtype = operand.dtype
    sizes = operand.shape
    strides = operand.strides or dense_strides(sizes)
    ranked = (*sizes, *[1] * (4 - len(sizes))), (*strides, *[0] * (4 - len(sizes)))
    shape, steps = ("{" + ", ".join(map(str, numbers)) + "}" for numbers in ranked)
    slot = SLOTS.index(operand.role) if operand.role in SLOTS else -1
    along = ALONG[list(ARRAYS.values())[slot].along] if slot >= 0 else 0
    head = f"{dtype.bytes}, {_mantissa(dtype)}, {_one(dtype)}ull, {operand.reach}, {int(operand.is_written)}"
    return f"{{{head}, {len(sizes)}, {shape}, {steps}, {slot}, {along}}}"


def _mantissa(dtype: DType) -> int:
    """Bits behind the leading one in memory; -1 of a whole number."""
    if np.issubdtype(dtype.numpy, np.integer):
        return -1
    first, second = (
        int(np.array([value]).astype(dtype.numpy).view(f"u{dtype.bytes}")[0]) for value in (1.0, 2.0)
    )
    return (second - first).bit_length() - 1


def _one(dtype: DType) -> int:
    """The bits of 1."""
    return int(np.array([1]).astype(dtype.numpy).view(f"u{dtype.bytes}")[0])


def _numbers(problem: Problem) -> tuple[int, ...]:
    """What the loops need: of a product its kind and k, and which operands are transposed; of a convolution
    its moves, and the place of each dimension in each array.
    """
    if isinstance(problem, Gemm):
        turned = int(problem.transpose_a), int(problem.transpose_b)
        return 0, problem.batch, problem.m, problem.n, problem.k, *turned
    return _of_conv(problem)


def _of_conv(conv: Conv2d) -> tuple[int, ...]:
    places = [conv.layout(role).index(name) for role in conv.roles for name in DIMENSIONS[role]]
    sizes = conv.n, conv.c, conv.h, conv.w, conv.k, conv.y, conv.x, conv.ho, conv.wo
    moves = conv.pad_h[0], conv.pad_w[0], *conv.stride, *conv.dilation, conv.groups
    return KINDS[conv.direction], *sizes, *moves, *places
