"""Reference: what a problem's result is, in float64, and the sum of |a||b| from which an error bound follows.

Law: nothing here is shared with the views or the kernels.  A convolution is, for every window position (y,
x), one batched matrix product between the filter's plane and the input's strided window; i8 is exact, since
float64 adds integers below 2^53 without rounding.  The magnitude is the same computation on absolute
values.  Probes are mostly zeros, and cost as much as there is of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from imbrex.dtype import E8M0, F64, SCALED, saturated, widened
from imbrex.problem import Conv2d, Gemm, Role
from imbrex.problem.axis import Axis
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.layout import DIMENSIONS
from imbrex.verify.epilogue import Finished, largest_of

__all__ = ["Reference", "reference"]

Float = npt.NDArray[np.float64]
Slices = tuple[slice, slice]

SPARSE = 4
"""Zeros a number from which on a matrix is sparse: its zeros are then left out."""


@dataclass(frozen=True)
class Reference:
    """want: the result in float64, or int64 where operands are i8.  magnitude: each element's sum of |a||b|,
    None where nobody asked.  lost: the part of it whose products have a subnormal operand, None where there
    are none, or nobody asked.  scaled: |alpha x| + |beta c| of its sum x.

    All have the shape of the written array, in its layout.  finished: how the epilogue made `want`.  before:
    the same of its pre-activation, where it stores one.
    """

    want: npt.NDArray[Any]
    magnitude: Float | None
    scaled: Float
    finished: Finished | None = None
    lost: Float | None = None
    before: Reference | None = None


def reference(
    problem: Conv2d | Gemm,
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    magnitude: bool = True,
    flushes: bool = False,
) -> Reference:
    """The result of `problem` on `arrays`, by role; the written role is needed only where beta is not 0.

    Computed in float64.  magnitude: with the sum of absolute values, as much work again, that a bound for
    data of any kind is proportional to.  flushes: by a unit that takes subnormal operands as zeros.
    ValueError where an array has another shape than its operand.
    """
    operands = {role: np.asarray(array) for role, array in arrays.items()}
    for operand in problem.operands:
        if operand.role in operands and operands[operand.role].shape != operand.shape:
            got = operands[operand.role].shape
            raise ValueError(f"'{operand.role}' must have shape {operand.shape}, got {got}")
    of = {operand.role: operand.dtype for operand in problem.operands}
    operands = {role: widened(array, of.get(role, F64)) for role, array in operands.items()}
    x = _sum(problem, operands)
    want, scaled = _scaled(problem, x, operands)
    sizes: Float | None = None
    if magnitude:
        absolute = {role: np.abs(array) for role, array in operands.items()}
        _, sizes = _scaled(problem, _sum(problem, absolute), absolute)
    lost = _lost(problem, operands) if flushes else None
    if problem.epilogue is not None:
        values = {"x": want, **_further(problem, operands)}

        def through(epilogue: Epilogue, before: Reference | None = None) -> Reference:
            finished = Finished(epilogue, values, largest_of(problem), problem.result.dtype)
            return Reference(_stored(finished.want, problem), sizes, scaled, finished, lost, before)

        kept = problem.epilogue.before
        return through(problem.epilogue, None if kept is None else through(kept))
    return Reference(want if problem.dtype.is_float else want.astype(np.int64), sizes, scaled, None, lost)


def _lost(problem: Conv2d | Gemm, operands: Mapping[str, Float]) -> Float | None:
    """The sum of |a||b| where either is subnormal, times |alpha|; None where none is."""
    read = {
        o.role: np.abs(operands[o.role]) for o in problem.operands[: len(problem.roles)] if not o.is_written
    }
    small = {role: (x > 0) & (x < problem.dtype.smallest_normal) for role, x in read.items()}
    if not any(map(np.any, small.values())):
        return None
    (one, other), (of_one, of_other) = read, small.values()
    kept = np.where(of_one, 0.0, read[one])
    parts = ({one: np.where(of_one, read[one], 0.0), other: read[other]},
             {one: kept, other: np.where(of_other, read[other], 0.0)})  # fmt: skip
    found: Float = sum(_sum(problem, part) for part in parts)  # type: ignore[assignment]
    return found * abs(problem.alpha) if isinstance(problem, Gemm) else found


def _sum(problem: Conv2d | Gemm, operands: Mapping[str, Float]) -> Float:
    match problem:
        case Conv2d():
            return _conv(problem, operands)
        case Gemm():
            a, b = operands["a"], operands["b"]
            a, b = a.mT if problem.transpose_a else a, b.mT if problem.transpose_b else b
            if problem.dtype.is_microscaled:
                a = a * np.repeat(operands["block_scale_a"], SCALED, axis=-1)
                b = b * np.repeat(operands["block_scale_b"], SCALED, axis=-1).mT
            return _product(a, b)
        case _:
            assert_never(problem)


def _scaled(problem: Conv2d | Gemm, x: Float, operands: Mapping[str, Float]) -> tuple[Float, Float]:
    """alpha x + beta c, and |alpha x| + |beta c|; a factor of 0 reads nothing, as in BLAS."""
    if isinstance(problem, Conv2d):
        return x, np.abs(x)
    own = problem.alpha * x if problem.alpha else np.zeros_like(x)
    if problem.beta == 0.0:
        return own, np.abs(own)
    other = problem.beta * operands["c"]
    return own + other, np.abs(own) + np.abs(other)


def _product(a: Float, b: Float) -> Float:
    """a @ b; where most of `a` is zero, rows with the same non-zeros by what these meet of a finite `b`."""
    if np.count_nonzero(a) * SPARSE > a.size or not np.isfinite(b).all():
        return a @ b
    found = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    for batch in np.ndindex(found.shape[:-2]):
        one, other = a[batch], b[batch]
        _, first, kind = np.unique(
            np.packbits(one != 0, axis=1), axis=0, return_index=True, return_inverse=True
        )
        for number, row in enumerate(first):
            rows, met = np.flatnonzero(kind.reshape(-1) == number), np.flatnonzero(one[row])
            found[batch][rows] = one[np.ix_(rows, met)] @ other[met]
    return found


def _stored(want: Float, problem: Conv2d | Gemm) -> Float:
    result = problem.result.dtype
    return want if result.is_float else saturated(want, result)


def _further(problem: Conv2d | Gemm, operands: Mapping[str, Float]) -> dict[str, Float]:
    """The epilogue's arrays, such that they broadcast with the result."""
    further = [o for o in problem.operands[len(problem.roles) :] if not o.is_written and o.dtype != E8M0]
    return {o.role: operands[o.role].reshape(o.shape_along(problem.result)) for o in further}


def _conv(conv: Conv2d, operands: Mapping[str, Float]) -> Float:
    """The written array, from the two others as (g, k, c, y, x), (n, g, c, hi, wi) and (n, g, k, ho, wo)."""
    match conv.direction:
        case "forward":
            result = _forward(conv, _filter(conv, operands), _padded(conv, _input(conv, operands)))
            return _in_layout(conv, "output", result)
        case "backward_data":
            result = _backward_data(conv, _filter(conv, operands), _output(conv, operands))
            return _in_layout(conv, "input", result)
        case "backward_weight":
            result = _backward_weight(conv, _padded(conv, _input(conv, operands)), _output(conv, operands))
            return _in_layout(conv, "filter", result)
        case _:
            assert_never(conv.direction)


def _forward(conv: Conv2d, filter_: Float, padded: Float) -> Float:
    g, n, pixels = conv.groups, conv.n, conv.ho * conv.wo
    output = np.zeros((n, g, conv.k // g, pixels))
    for y, x, window in _windows(conv):
        output += filter_[..., y, x] @ padded[..., *window].reshape(n, g, conv.c // g, pixels)
    return output


def _backward_data(conv: Conv2d, filter_: Float, output: Float) -> Float:
    g, n = conv.groups, conv.n
    padded = np.zeros((n, g, conv.c // g, *(axis.padded for axis in conv.axes)))
    columns = output.reshape(n, g, conv.k // g, conv.ho * conv.wo)
    for y, x, window in _windows(conv):
        gradient = filter_[..., y, x].mT @ columns
        padded[..., *window] += gradient.reshape(n, g, conv.c // g, conv.ho, conv.wo)
    (top, _), (left, _) = conv.pad_h, conv.pad_w
    return padded[..., top : top + conv.h, left : left + conv.w]


def _backward_weight(conv: Conv2d, padded: Float, output: Float) -> Float:
    g, pixels = conv.groups, conv.n * conv.ho * conv.wo
    filter_ = np.zeros((g, conv.k // g, conv.c // g, conv.y, conv.x))
    rows = output.transpose(1, 2, 0, 3, 4).reshape(g, conv.k // g, pixels)
    for y, x, window in _windows(conv):
        columns = padded[..., *window].transpose(1, 0, 3, 4, 2).reshape(g, pixels, conv.c // g)
        filter_[..., y, x] = rows @ columns
    return filter_


def _windows(conv: Conv2d) -> Iterator[tuple[int, int, Slices]]:
    """Every window position with the padded input's elements that it meets, one an output position."""
    height, width = conv.axes
    for y in range(conv.y):
        for x in range(conv.x):
            yield y, x, (_met(height, y), _met(width, x))


def _met(axis: Axis, position: int) -> slice:
    """The padded elements that the window's element at `position` meets, one for each output."""
    first = position * axis.dilation
    return slice(first, first + (axis.outputs - 1) * axis.stride + 1, axis.stride)


def _filter(conv: Conv2d, operands: Mapping[str, Float]) -> Float:
    array = _canonical(conv, "filter", operands)
    return array.reshape(conv.groups, conv.k // conv.groups, *array.shape[1:])


def _input(conv: Conv2d, operands: Mapping[str, Float]) -> Float:
    array = _canonical(conv, "input", operands)
    return array.reshape(conv.n, conv.groups, conv.c // conv.groups, *array.shape[2:])


def _output(conv: Conv2d, operands: Mapping[str, Float]) -> Float:
    array = _canonical(conv, "output", operands)
    return array.reshape(conv.n, conv.groups, conv.k // conv.groups, *array.shape[2:])


def _padded(conv: Conv2d, input_: Float) -> Float:
    return np.pad(input_, ((0, 0), (0, 0), (0, 0), conv.pad_h, conv.pad_w))


def _canonical(conv: Conv2d, role: Role, operands: Mapping[str, Float]) -> Float:
    """The array with its dimensions in the default order, KCYX, NCHW or NKHW."""
    return operands[role].transpose([conv.layout(role).index(name) for name in DIMENSIONS[role]])


def _in_layout(conv: Conv2d, role: Role, array: Float) -> Float:
    """A result in the default order, its group not yet joined to its channels, as the user lays it out."""
    sizes = dict(zip(conv.layout(role), conv.shapes(role), strict=True))
    joined = array.reshape([sizes[name] for name in DIMENSIONS[role]])
    return np.ascontiguousarray(
        joined.transpose([DIMENSIONS[role].index(name) for name in conv.layout(role)])
    )
