"""An operation's convolution as values that know no IR: its sizes, and what algorithms ask about."""

from __future__ import annotations

from imbrex.config.algorithm.task import ConvTask
from imbrex.index.map import Dim
from imbrex.ir.chain import finish_of, map_of
from imbrex.ir.element import dtype_of
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp
from imbrex.ir.rewrite import require_static
from imbrex.ir.shape import element_of
from imbrex.problem.conv import Direction
from imbrex.view.conv.implicit_gemm import Convolution

__all__ = ["ROLES", "convolution_of", "direction_of", "task_of"]

ROLES = ("filter", "input", "output")


def convolution_of(op: ConvOp) -> Convolution:
    """The operation's numbers; InvalidOp while a size is `?`."""
    require_static(op, (op.filter, op.input, op.output))
    dims = [tuple(Dim(n, s) for n, s in op.sizes(role).items() if s is not None) for role in ROLES]
    (sh, sw), (dh, dw) = op.strides.data, op.dilations.data
    (rows, columns) = op.padding.data
    return Convolution(dims[0], dims[1], dims[2], (sh, sw), (dh, dw), (rows, columns))


def direction_of(op: ConvOp) -> Direction:
    """Which of the three arrays is computed."""
    match op:
        case Conv2dBwdDataOp():
            return "backward_data"
        case Conv2dBwdWeightOp():
            return "backward_weight"
        case _:
            return "forward"


def task_of(op: ConvOp) -> ConvTask:
    """What algorithms may ask about an operation; InvalidOp while a size is `?`."""
    written, read = op.operands[op.WRITES], op.operands[(op.WRITES + 1) % 3]
    views = [map_of(array)[1] for array in op.operands]
    filters, images, results = (() if view is None else view.layers for view in views)
    is_merging = op.halo is None or op.merged_groups is not None
    return ConvTask(
        convolution_of(op),
        direction_of(op),
        dtype_of(element_of(read)),
        dtype_of(element_of(map_of(written)[0])),
        finish_of(written) is not None,
        1 if is_merging or op.halo is None else op.halo.data,
        (filters, images, results),
    )
