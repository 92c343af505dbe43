"""An operation's problem as values that know no IR: its sizes, and what algorithms ask about."""

from __future__ import annotations

from xdsl.ir import SSAValue

from imbrex.config.algorithm.task import ConvTask, GemmTask
from imbrex.config.finishing import finishing_of, scaling_of
from imbrex.index.map import Dim, Layer
from imbrex.ir.chain import epilogue_of, map_of
from imbrex.ir.element import dtype_of
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp, GemmOp
from imbrex.ir.rewrite import require_static
from imbrex.ir.shape import element_of, shape_of
from imbrex.problem.conv import Direction
from imbrex.problem.layout import ROLES
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.mma import OPERANDS, Operand

__all__ = ["convolution_of", "direction_of", "gemm_task_of", "task_of"]


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


def gemm_task_of(op: GemmOp) -> GemmTask:
    """What algorithms may ask about a product; InvalidOp while a size is `?`."""
    require_static(op, (op.a, op.b, op.c))
    arrays: dict[Operand, SSAValue] = dict(zip(OPERANDS, (op.a, op.b, op.c), strict=True))
    turned = {"a": op.a_transposed, "b": op.b_transposed}
    dims = dict[Operand, tuple[Dim, ...]]()
    for (role, array), names in zip(arrays.items(), ("mk", "kn", "mn"), strict=True):
        is_turned = turned.get(role)
        order = f"g{names[::-1] if is_turned and is_turned.data else names}"
        sizes = [s for s in shape_of(array) if s is not None]
        dims[role] = tuple(Dim(n, s) for n, s in zip(order[-len(sizes) :], sizes, strict=True))
    below: dict[Operand, tuple[Layer, ...]] = {role: _layers(array) for role, array in arrays.items()}
    return GemmTask(
        dims,
        dtype_of(element_of(op.a)),
        dtype_of(element_of(map_of(op.c)[0])),
        finishing_of(epilogue_of(op.c)),
        scaling_of(op.alpha is not None, op.beta is not None),
        below,
    )


def task_of(op: ConvOp) -> ConvTask:
    """What algorithms may ask about an operation; InvalidOp while a size is `?`."""
    written, read = op.operands[op.WRITES], op.operands[(op.WRITES + 1) % 3]
    filters, images, results = map(_layers, op.operands)
    is_merging = op.halo is None or op.merged_groups is not None
    return ConvTask(
        convolution_of(op),
        direction_of(op),
        dtype_of(element_of(read)),
        dtype_of(element_of(map_of(written)[0])),
        finishing_of(epilogue_of(written)),
        1 if is_merging or op.halo is None else op.halo.data,
        (filters, images, results),
    )


def _layers(array: SSAValue) -> tuple[Layer, ...]:
    """Layers of the views above a buffer."""
    _, map = map_of(array)
    return () if map is None else map.layers
