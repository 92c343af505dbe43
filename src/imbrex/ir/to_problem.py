"""The Problems that a module states: each conv2d, gradient or gemm of it, linalg's included.

Law: problems_of(print_module(problem_module(p))) is p again.  Sizes must be numbers, but for a run-time one
(`run-time-sizes`); an operation of a lower level states no problem.  Views are of a problem where they are an
epilogue's, say how a matrix lies, or that a prefix of an array exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from imbrex.config.algorithm.table import rows_for
from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import lin
from imbrex.index.query import linear, strides
from imbrex.index.rule import PassThrough, Prefix
from imbrex.ir.attrs import Bool, Int, Keyword
from imbrex.ir.chain import map_of
from imbrex.ir.dialect import context, load
from imbrex.ir.element import dtype_of
from imbrex.ir.ops import FinishOp, GemmOp
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, Conv2dOp, ConvOp
from imbrex.ir.ops.scales import product_type
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.passes.linalg_to_miopen import LinalgToMiopen
from imbrex.ir.passes.run_time_sizes import RunTimeSizes
from imbrex.ir.shape import element_of, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.problem import Conv2d, Direction, Gemm, Problem
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.layout import ROLES, Role, parse_layout
from imbrex.problem.operand import dense_strides
from imbrex.problem.stride import LEADING, STRIDES

__all__ = ["Stated", "problems_of"]

DIRECTIONS: Final[dict[type[ConvOp], Direction]] = {
    Conv2dOp: "forward",
    Conv2dBwdDataOp: "backward_data",
    Conv2dBwdWeightOp: "backward_weight",
}


@dataclass(frozen=True)
class Stated:
    """A problem, the function that states it, and the algorithm that the text asks for."""

    problem: Problem
    name: str
    algorithm: str | None


def problems_of(text: str, file: str = "<input>") -> list[Stated]:
    """Problems in order; a Diagnostic with its place where there is none, or where no kernel can be made."""
    source = load(text, file)
    with source.sources.diagnosing():
        LinalgToMiopen().apply(context(), source.module)
        RunTimeSizes().apply(context(), source.module)
        found = list(_stated(source.module))
    if not found:
        raise Diagnostic("no conv2d, gradient or gemm in the module", file=file)
    return found


def _stated(module: Operation) -> Iterator[Stated]:
    for function in module.walk():
        if not isinstance(function, FuncOp):
            continue
        for op in function.walk():
            match op:
                case ConvOp():
                    yield Stated(_conv(op), function.sym_name.data, _algorithm(op))
                case GemmOp():
                    yield Stated(_gemm(op), function.sym_name.data, _algorithm(op))
                case TransformOp() | FinishOp() if _leads_to_problem(op):
                    pass
                case _ if op.name.startswith("miopen."):
                    message = "is of a level below the problem; imbrex-opt takes it further down"
                    raise InvalidOp(op, message)
                case _:
                    pass


def _leads_to_problem(op: TransformOp | FinishOp) -> bool:
    users = [use.operation for use in op.result.uses]
    return all(
        isinstance(u, ConvOp | GemmOp) or (isinstance(u, TransformOp | FinishOp) and _leads_to_problem(u))
        for u in users
    )


def _algorithm(op: ConvOp | GemmOp) -> str | None:
    """The algorithm that an operation's keys ask for; where one brings another's along, the last one."""
    kind = DIRECTIONS[type(op)] if isinstance(op, ConvOp) else "product"
    for row in reversed(rows_for(kind)):
        match op.properties.get(row.name) if row.stated == "key" else None:
            case Int() as count:
                return f"{row.name}:{count.data}"
            case Keyword() as name:
                return f"{row.name}:{name.data}"
            case Bool() as flag if flag.data:
                return row.name
            case _:
                pass
    return op.algorithm.data if isinstance(op, Conv2dBwdDataOp) and op.algorithm else None


def _conv(op: ConvOp) -> Conv2d:
    for number, array in enumerate((op.filter, op.input, op.output)):
        if not _is_plain(array):
            raise InvalidOp(
                op, "is a view, and a kernel takes arrays of a convolution as they are", "type", number
            )
    sizes = {role: dict(zip(op.layouts[role], _static(op, i), strict=True)) for i, role in enumerate(ROLES)}
    filter_, input_ = sizes["filter"], sizes["input"]
    groups = filter_.get("g", 1)
    pads, strides, dilations = op.padding.data, op.strides.data, op.dilations.data
    layouts = [_layout(op, role) for role in ROLES]
    problem = Conv2d(
        DIRECTIONS[type(op)],
        *(input_["n"], input_["c"] * groups, input_["hi"], input_["wi"]),
        *(filter_["k"] * groups, filter_["y"], filter_["x"]),
        pad_h=pads[0],
        pad_w=pads[1],
        stride=(strides[0], strides[1]),
        dilation=(dilations[0], dilations[1]),
        groups=groups,
        filter_layout=layouts[0],
        input_layout=layouts[1],
        output_layout=layouts[2],
        dtype=dtype_of(element_of((op.filter, op.input, op.output)[2 if op.WRITES != 2 else 0])),
        epilogue=_epilogue(op.output, op.input) if op.WRITES == 2 else None,
        least_n=_least(op, "n"),
    )
    _check_result(op, (op.filter, op.input, op.output)[op.WRITES], op.WRITES, problem)
    return problem


def _gemm(op: GemmOp) -> Gemm:
    (*batch, _, _), (*_, p, q), (*_, m, n) = (_static(op, i) for i in range(3))
    for position, value in enumerate(op.scales, 3):
        if map_of(value)[1] is not None:
            raise InvalidOp(op, "is a view, and a kernel takes scales as they are", "type", position)
    transposes = [flag is not None and flag.data for flag in (op.a_transposed, op.b_transposed)]
    strides = [_strides(op, i) for i in range(3)]
    packs = [dtype_of(element_of(v)).pack for v in (op.a, op.b)] + [1]
    steps = [tuple(step * pack for step in of) for of, pack in zip(strides, packs, strict=True)]
    leading = {name: of[-2] for name, of in zip(LEADING.values(), steps, strict=True)}
    apart = {name: of[0] for name, of in zip(STRIDES.values(), steps, strict=True)} if batch else {}
    problem = Gemm(
        m,
        n,
        (q if transposes[1] else p) * packs[1],
        batch=batch[0] if batch else 1,
        transpose_a=transposes[0],
        transpose_b=transposes[1],
        alpha=op.alpha.data if op.alpha is not None else 1.0,
        beta=op.beta.data if op.beta is not None else 0.0,
        dtype=product_type(element_of(op.a), element_of(op.b), op.scales),
        epilogue=_epilogue(op.c, op.a),
        least_m=_least(op, "m") if not transposes[0] else None,
        least_k=_least(op, "k") if transposes[0] else None,
        **leading,
        **apart,
    )
    _check_result(op, op.c, 2, problem)
    return problem


def _strides(op: GemmOp, number: int) -> tuple[int, ...]:
    """How a matrix lies in its array, from whose first element on."""
    value = op.operands[number]
    _, map = map_of(value)
    if map is None:
        return dense_strides(tuple(size for size in shape_of(value) if size is not None))
    found, (offset, guards) = strides(map), linear(map)
    guards = () if _is_plain(value) else guards
    is_plain = (
        found is not None and not guards and offset.subs(dict.fromkeys(offset.variables, lin(0))) == lin(0)
    )
    if found is None or not is_plain or found[-1] != 1:
        message = "is a view that no leading dimension and batch stride can tell"
        raise InvalidOp(op, message, "type", number)
    return found


def _is_plain(value: SSAValue) -> bool:
    """Is it an array, or its prefix?  An epilogue may stand between."""
    map = map_of(value)[1]
    return map is None or all(
        isinstance(step.rule, PassThrough | Prefix) for layer in map.layers for step in layer.steps
    )


def _least(op: ConvOp | GemmOp, name: str) -> int | None:
    """The least run-time size, which all arrays that have one agree on; None where all sizes are numbers."""
    found: dict[int | None, int] = {}
    for number, value in enumerate(op.operands):
        layers = map.layers if (map := map_of(value)[1]) is not None else ()
        prefixes = [s for layer in layers for s in layer.steps if isinstance(s.rule, Prefix)]
        is_own = name in (op.layouts[ROLES[number]] if isinstance(op, ConvOp) else ("mk", "kn", "mn")[number])
        if prefixes and not is_own:
            raise InvalidOp(op, f"a run-time size is {name}, which this array has not", "type", number)
        if is_own:
            found.setdefault(
                next((s.rule.least for s in prefixes if isinstance(s.rule, Prefix)), None), number
            )
    if len(found) > 1:
        message = f"{name} is a run-time size of one array and not of another, or has another range there"
        raise InvalidOp(op, message, "type", max(found.values()))
    return next(iter(found), None)


def _epilogue(written: SSAValue, read: SSAValue) -> Epilogue | None:
    """The epilogue of the view that is written; it names the result type where that is not the usual."""
    finish = written.owner
    if not isinstance(finish, FinishOp):
        return None
    stored, usual = dtype_of(element_of(finish.source)), dtype_of(element_of(read)).output
    return Epilogue(finish.epilogue.expression, None if stored == usual else stored)


def _static(op: Operation, number: int) -> tuple[int, ...]:
    shape = shape_of(op.operands[number])
    found = tuple(size for size in shape if size is not None)
    if len(found) != len(shape):
        message = "has sizes '?', and a kernel is made for numbers; imbrex-opt -p specialise{...} gives them"
        raise InvalidOp(op, message, "type", number)
    return found


def _layout(op: ConvOp, role: Role) -> tuple[str, ...]:
    try:
        return parse_layout(role, op.layouts[role])
    except Diagnostic as error:
        raise InvalidOp(op, error.message, f"{role}_layout") from None


def _check_result(op: Operation, written: SSAValue, number: int, problem: Problem) -> None:
    if isinstance(written.owner, FinishOp):
        return
    have, made = dtype_of(element_of(written)), problem.dtype.output
    if have != made:
        raise InvalidOp(op, f"a kernel of {problem.dtype} stores {made}, not {have}", "type", number)
