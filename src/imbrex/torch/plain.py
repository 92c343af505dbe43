"""What the ops of ours compute, by torch's own: what answers while a kernel is not there.

Law: factors of a byte are multiplied as wider numbers, as kernels do, and integers are rounded once, at last.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from imbrex.torch.activation import finished
from imbrex.torch.lying import sums_type

__all__ = ["Moves", "conv2d", "conv2d_backward_data", "conv2d_backward_weight", "product"]

torch: Any = import_module("torch")
_F: Any = torch.nn.functional


class Moves(NamedTuple):
    """How a window moves.  pads: top, bottom, left, right."""

    stride: Sequence[int]
    pads: Sequence[int]
    dilation: Sequence[int]
    groups: int


def conv2d(
    x: Any,
    w: Any,
    scale: Any,
    bias: Any,
    residual: Any,
    moves: Moves,
    activation: str,
    keeps: bool = False,
) -> Any:
    """activation(conv(x, w) * scale + bias + residual).  keeps: a pair of it and of what the activation is
    applied to.
    """
    stride, pads, dilation, groups = moves
    padded, around = _padded(_wide(x), pads)
    sums = _F.conv2d(padded, _wide(w), None, stride, around, dilation, groups)
    if scale is not None:
        sums = (sums * scale.reshape(-1, 1, 1)).to(sums.dtype)
    if bias is not None:
        sums = sums + bias.reshape(-1, 1, 1)
    return _pair(sums, residual, activation) if keeps else _narrow(finished(sums, residual, activation), x)


def conv2d_backward_data(dy: Any, w: Any, shape: Sequence[int], moves: Moves) -> Any:
    """The gradient of a convolution by its images."""
    top, bottom, left, right = moves.pads
    around, more = _around(moves.pads)
    height, width = shape[2] + sum(more[2:]), shape[3] + sum(more[:2])
    images = dy.new_empty((*shape[:2], height, width))
    dx = _backward(dy, images, w, moves._replace(pads=around))[0]
    return dx if not any(more) else dx[:, :, top : height - bottom, left : width - right]


def conv2d_backward_weight(dy: Any, x: Any, shape: Sequence[int], moves: Moves) -> Any:
    """The gradient of a convolution by its filters."""
    padded, around = _padded(x, moves.pads)
    return _backward(dy, padded, dy.new_empty(shape), moves._replace(pads=around))[1]


def product(
    a: Any, b: Any, bias: Any, residual: Any, alpha: float, activation: str, keeps: bool = False
) -> Any:  # fmt: skip
    """activation(alpha * a b + bias + residual), and with `keeps` what the activation is applied to."""
    sums = torch.matmul(_wide(a), _wide(b))
    sums = sums if alpha == 1 else alpha * sums
    sums = sums if bias is None else sums + bias
    return _pair(sums, residual, activation) if keeps else _narrow(finished(sums, residual, activation), a)


def _wide(factor: Any) -> Any:
    """A factor as numbers whose sums are exact, where they are integers, or as wide as the result."""
    return factor.to(sums_type(factor.dtype)) if factor.is_floating_point() else factor.double()


def _narrow(result: Any, factor: Any) -> Any:
    """A result of wide factors in the type that it has of this one."""
    return result if factor.is_floating_point() else result.round().long().to(sums_type(factor.dtype))


def _pair(sums: Any, residual: Any, activation: str) -> tuple[Any, Any]:
    kept = finished(sums, residual, "")
    return finished(kept, None, activation) if activation else kept.clone(), kept


def _around(pads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Pads as torch's convolutions take them, and what is padded before: left, right, top, bottom."""
    top, bottom, left, right = pads
    if top == bottom and left == right:
        return [top, left], [0, 0, 0, 0]
    return [0, 0], [left, right, top, bottom]


def _padded(x: Any, pads: Sequence[int]) -> tuple[Any, list[int]]:
    around, more = _around(pads)
    return (_F.pad(x, more) if any(more) else x), around


def _backward(dy: Any, x: Any, w: Any, moves: Moves) -> Any:
    """Both gradients.  moves: with the same pads on both sides."""
    arguments = (moves.stride, moves.pads, moves.dilation, False, [0, 0], moves.groups)
    return torch.ops.aten.convolution_backward(dy, x, w, None, *arguments, [True, True, False])
