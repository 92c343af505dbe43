"""Reference on a device: a problem's result in float64 by torch, and each element's sum of |a||b|.

Law: that of `verify.reference`, which says it for NumPy: nothing is shared with views or kernels.  A
convolution is, for every position of the window, one batched product over all groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from imbrex.problem import Conv2d, Gemm, Problem, Role
from imbrex.problem.layout import DIMENSIONS

__all__ = ["Tensor", "Truth", "true_result"]

Tensor: TypeAlias = Any
"""torch.Tensor, which need not be installed."""


@dataclass(frozen=True)
class Truth:
    """What `verify.reference` has: the result in float64 before its epilogue; each element's sum of |a||b|,
    None where nobody asked; |alpha x| + |beta c| of its sum x.
    """

    want: Tensor
    magnitude: Tensor | None
    scaled: Tensor


def true_result(problem: Problem, tensors: Mapping[str, Tensor], *, magnitude: bool = True) -> Truth:
    """The truth in the result's layout.  magnitude: as much work again."""
    wide = {role: _wide(tensor) for role, tensor in tensors.items()}
    want, scaled = _scaled(problem, _sum(problem, wide), wide)
    if not magnitude:
        return Truth(want, None, scaled)
    sizes = {role: tensor.abs() for role, tensor in wide.items()}
    return Truth(want, _scaled(problem, _sum(problem, sizes), sizes)[1], scaled)


def _scaled(problem: Problem, x: Tensor, wide: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """alpha x + beta c, and |alpha x| + |beta c|; a factor of 0 reads nothing, as in BLAS."""
    if not isinstance(problem, Gemm):
        return x, x.abs()
    own = x if problem.alpha == 1.0 else x * problem.alpha if problem.alpha else x.new_zeros(x.shape)
    if problem.beta == 0.0:
        return own, own.abs()
    other = problem.beta * wide["c"]
    return own + other, own.abs() + other.abs()


def _wide(tensor: Tensor) -> Tensor:
    """The operand in float64; of 8-bit floats by way of float32, which torch has everywhere."""
    return (tensor.float() if tensor.element_size() == 1 else tensor).double()


def _sum(problem: Problem, wide: Mapping[str, Tensor]) -> Tensor:
    if not isinstance(problem, Gemm):
        return _conv(problem, wide)
    a, b = wide["a"], wide["b"]
    return (a.mT if problem.transpose_a else a) @ (b.mT if problem.transpose_b else b)


def _conv(conv: Conv2d, wide: Mapping[str, Tensor]) -> Tensor:
    """One batched product for each position of the window, over all groups."""
    g = conv.groups
    arrays = {role: wide[role].permute(_order(conv, role)) for role in conv.roles if role in wide}
    if conv.direction == "forward":
        result = _forward(conv, _split(arrays["filter"], 0, g), _images(arrays["input"], g))
    elif conv.direction == "backward_data":
        result = _backward_data(conv, _split(arrays["filter"], 0, g), _images(arrays["output"], g))
    else:
        result = _backward_weight(conv, _images(arrays["input"], g), _images(arrays["output"], g))
    role = conv.written
    sizes = dict(zip(conv.layout(role), conv.shapes(role), strict=True))
    joined = result.reshape([sizes[name] for name in DIMENSIONS[role]])
    return joined.permute([DIMENSIONS[role].index(name) for name in conv.layout(role)]).contiguous()


def _order(conv: Conv2d, role: Role) -> list[int]:
    return [conv.layout(role).index(name) for name in DIMENSIONS[role]]


def _split(array: Tensor, dim: int, groups: int) -> Tensor:
    return array.unflatten(dim, (groups, array.shape[dim] // groups))


def _images(array: Tensor, groups: int) -> Tensor:
    """(n, channels, h, w) as (group, channel, n, h, w)."""
    return _split(array, 1, groups).permute(1, 2, 0, 3, 4)


def _windows(conv: Conv2d) -> list[tuple[int, int, tuple[slice, slice]]]:
    """Every position of the window with the padded input's elements that it meets, one an output."""
    met = [
        [
            slice(p * a.dilation, p * a.dilation + (a.outputs - 1) * a.stride + 1, a.stride)
            for p in range(a.window)
        ]
        for a in conv.axes
    ]
    return [(y, x, (met[0][y], met[1][x])) for y in range(conv.y) for x in range(conv.x)]


def _padded(conv: Conv2d, images: Tensor) -> Tensor:
    torch: Any = import_module("torch")
    return torch.nn.functional.pad(images, (*conv.pad_w, *conv.pad_h))


def _forward(conv: Conv2d, filters: Tensor, images: Tensor) -> Tensor:
    padded, total = _padded(conv, images), 0.0
    for y, x, (rows, columns) in _windows(conv):
        seen = padded[..., rows, columns].flatten(2)
        total = total + filters[..., y, x] @ seen
    shape = (conv.n, conv.ho, conv.wo)
    result: Any = total
    return result.unflatten(2, shape).permute(2, 0, 1, 3, 4)


def _backward_data(conv: Conv2d, filters: Tensor, gradient: Tensor) -> Tensor:
    g, c = conv.groups, conv.c // conv.groups
    height, width = (axis.padded for axis in conv.axes)
    padded = gradient.new_zeros((g, c, conv.n, height, width))
    columns_of = gradient.flatten(2)
    for y, x, (rows, columns) in _windows(conv):
        part = filters[..., y, x].mT @ columns_of
        padded[..., rows, columns] += part.unflatten(2, (conv.n, conv.ho, conv.wo))
    (top, _), (left, _) = conv.pad_h, conv.pad_w
    return padded[..., top : top + conv.h, left : left + conv.w].permute(2, 0, 1, 3, 4)


def _backward_weight(conv: Conv2d, images: Tensor, gradient: Tensor) -> Tensor:
    torch: Any = import_module("torch")
    padded, rows_of = _padded(conv, images), gradient.flatten(2)
    parts = [rows_of @ padded[..., rows, columns].flatten(2).mT for _, _, (rows, columns) in _windows(conv)]
    return torch.stack(parts, dim=-1).unflatten(-1, (conv.y, conv.x))
