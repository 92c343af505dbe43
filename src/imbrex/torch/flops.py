"""Operations that ops of ours take, for `torch.utils.flop_counter`, which counts others as none.

Law: a sum of k products is 2 k, as of torch's own ops; what follows the sums is not counted, as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

__all__ = ["register"]

torch: Any = import_module("torch")
Shape = Sequence[int]


def register() -> None:
    """Tells torch's counter of all ops."""
    ops, register = torch.ops.imbrex, import_module("torch.utils.flop_counter").register_flop_formula
    register([ops.conv2d, ops.conv2d_with_sums])(_forward)
    register(ops.conv2d_backward_data)(_backward_data)
    register(ops.conv2d_backward_weight)(_backward_weight)
    register([ops.product, ops.product_with_sums])(_product)


def _forward(x: Shape, w: Shape, *rest: Any, out_shape: Any, **named: Any) -> int:
    return 2 * prod(_first(out_shape)) * prod(w[1:])


def _backward_data(dy: Shape, w: Shape, *rest: Any, **named: Any) -> int:
    return 2 * prod(dy) * prod(w[1:])


def _backward_weight(dy: Shape, x: Shape, filters: Shape, *rest: Any, **named: Any) -> int:
    return 2 * prod(dy) * prod(filters[1:])


def _product(a: Shape, b: Shape, *rest: Any, out_shape: Any, **named: Any) -> int:
    return 2 * prod(_first(out_shape)) * a[-1]


def _first(shapes: Any) -> Shape:
    """The shape of an op's result, of several the first one's."""
    return shapes[0] if isinstance(shapes[0], Sequence) else shapes
