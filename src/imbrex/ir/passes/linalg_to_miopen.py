"""linalg-to-miopen: linalg's convolutions and products over memrefs become conv2d and gemm.

    linalg.conv_2d_nchw_fchw ins(%input, %filter) outs(%output)   ->  miopen.conv2d(%filter, %input, %output)
    linalg.conv(%filter, %input, %output)                         ->  miopen.conv2d(%filter, %input, %output)
    linalg.matmul ins(%a, %b) outs(%c)                            ->  miopen.gemm(%a, %b, %c) { beta = 1.0 }

conv2d writes its output, where linalg adds to it: the convolution must start from zeros.  A `linalg.fill` of
the output with zero just before goes away with it; one with another value is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.dialects.linalg.abstract_ops import ConvOperation, PoolingOperation
from xdsl.dialects.linalg.ops import FillOp, MatmulOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from imbrex.ir.attrs import Bool, Float, Ints, Names, Padding
from imbrex.ir.ops import Conv2dOp, GemmOp, LinalgConvOp
from imbrex.ir.rewrite import blaming, replace_with
from imbrex.ir.source import InvalidOp
from imbrex.problem.layout import DIMENSIONS

Layouts = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]

LAYOUTS: Final[dict[str, tuple[str, str, str]]] = {
    "linalg.conv_2d_nchw_fchw": ("k c y x", "n c hi wi", "n k ho wo"),
    "linalg.conv_2d_nhwc_hwcf": ("y x c k", "n hi wi c", "n ho wo k"),
    "linalg.conv_2d_nhwc_fhwc": ("k y x c", "n hi wi c", "n ho wo k"),
    "linalg.conv_2d_ngchw_gfchw": ("g k c y x", "n g c hi wi", "n g k ho wo"),
    "linalg.conv_2d_ngchw_fgchw": ("k g c y x", "n g c hi wi", "n g k ho wo"),
    "linalg.conv_2d_nhwgc_gfhwc": ("g k y x c", "n hi wi g c", "n ho wo g k"),
}
"""Layouts of filter, input and output, after the indexing maps of MLIR's named operations."""


@dataclass(frozen=True)
class LinalgToMiopen(ModulePass):
    """See the module's first lines."""

    name = "linalg-to-miopen"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(op.walk()):
            with blaming(found):
                _rewrite(found)


def _rewrite(op: Operation) -> None:
    match op:
        case LinalgConvOp():
            _replace(op, _from_draft(op), op.output)
        case MatmulOp():
            replace_with(op, [_from_matmul(op)])
        case ConvOperation() | PoolingOperation():
            _replace(op, _from_named(op), op.outputs[0])
        case _:
            pass


def _replace(op: Operation, conv: Conv2dOp, output: SSAValue) -> None:
    _drop_zero_fill(op, output)
    replace_with(op, [conv])


def _from_named(op: ConvOperation | PoolingOperation) -> Conv2dOp:
    """A named convolution: the name tells the layouts."""
    if op.name not in LAYOUTS or not isinstance(op, ConvOperation):
        raise InvalidOp(op, f"has no counterpart in miopen; there is one for {', '.join(LAYOUTS)}")
    _require_memrefs(op)
    input, filter = op.inputs
    filter_layout, input_layout, output_layout = (tuple(names.split()) for names in LAYOUTS[op.name])
    strides, dilations = _pair(op.strides), _pair(op.dilations)
    layouts = (filter_layout, input_layout, output_layout)
    return _conv([filter, input, op.outputs[0]], layouts, strides, dilations, Padding(((0, 0), (0, 0))))


def _from_draft(op: LinalgConvOp) -> Conv2dOp:
    """The seeds' linalg.conv: what is not given is 1, 0, KCYX, NCHW and NKHW."""
    filter_layout, input_layout, output_layout = (
        names.data if names is not None else DIMENSIONS[role]
        for role, names in zip(DIMENSIONS, (op.filter_layout, op.input_layout, op.output_layout), strict=True)
    )
    strides, dilations = op.strides or Ints((1, 1)), op.dilations or Ints((1, 1))
    padding = op.padding or Padding(((0, 0), (0, 0)))
    layouts = (filter_layout, input_layout, output_layout)
    return _conv([op.filter, op.input, op.output], layouts, strides, dilations, padding)


def _conv(
    operands: Sequence[SSAValue], layouts: Layouts, strides: Ints, dilations: Ints, padding: Padding
) -> Conv2dOp:
    names: dict[str, Attribute] = {
        f"{role}_layout": Names(layout) for role, layout in zip(DIMENSIONS, layouts, strict=True)
    }
    rest = {"dilations": dilations, "strides": strides, "padding": padding}
    return Conv2dOp.build(operands=list(operands), properties=names | rest)


def _from_matmul(op: MatmulOp) -> GemmOp:
    """c += a * b, with the transposes that the indexing maps say."""
    _require_memrefs(op)
    maps = op.indexing_maps.data
    orders = [str(m.data).rsplit("-> ", 1)[-1] for m in maps]
    plain, transposed = ["(d0, d2)", "(d2, d1)", "(d0, d1)"], ["(d2, d0)", "(d1, d2)"]
    a, b = (
        have == turned if have in (want, turned) else None
        for have, want, turned in zip(orders[:2], plain[:2], transposed, strict=True)
    )
    if a is None or b is None or orders[2] != plain[2]:
        raise InvalidOp(op, f"its indexing maps are not those of a product, plain or transposed: {orders}")
    flags: dict[str, Attribute] = {
        key: Bool(True) for key, turned in (("a_transposed", a), ("b_transposed", b)) if turned
    }
    return GemmOp.build(operands=[*op.inputs, op.outputs[0], []], properties=flags | {"beta": Float(1.0)})


def _require_memrefs(op: MatmulOp | ConvOperation) -> None:
    for value in (*op.inputs, *op.outputs):
        if not isinstance(value.type, MemRefType):
            raise InvalidOp(op, f"an operand is {value.type}; miopen works on memrefs: bufferize first")


def _pair(values: DenseIntElementsAttr) -> Ints:
    found = tuple(int(v) for v in values.get_values())
    return Ints(found * (2 // len(found)))


def _drop_zero_fill(op: Operation, output: SSAValue) -> None:
    """Erase the fill with zero that gave the output its start; refuse any other fill."""
    fill = _user_before(op, output)
    if not isinstance(fill, FillOp):
        return
    value = fill.inputs[0].owner
    literal = value.value if isinstance(value, arith.ConstantOp) else None
    start = literal.value.data if isinstance(literal, IntegerAttr | FloatAttr) else None
    if output in fill.outputs and start != 0:
        raise InvalidOp(
            op, "adds to an output that is filled with another value than 0; conv2d overwrites it"
        )
    if output in fill.outputs:
        Rewriter.erase_op(fill)


def _user_before(op: Operation, value: SSAValue) -> Operation | None:
    """The nearest operation above in the same block that uses `value`, or may do so inside."""
    before = op.prev_op
    while before is not None and value not in before.operands and not before.regions:
        before = before.prev_op
    return before
