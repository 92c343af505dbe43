"""Functions of JAX's arrays: a convolution and a product, an activation of both and what is added to sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from imbrex.dtype import F64, I8, dtype
from imbrex.function.window import integers
from imbrex.jax.activation import ACTIVATIONS
from imbrex.jax.derivatives import Moves, Shape, Turned, conv, convolution, fused, product, sizes
from imbrex.jax.device import kind
from imbrex.jax.layouts import CHANNELS_FIRST, is_one, layouts_of, pads_of
from imbrex.problem.activation import expect_activation, is_f32

__all__ = ["conv2d", "matmul"]

Pair: TypeAlias = "int | Sequence[int]"


def conv2d(
    x: Any,
    w: Any,
    *,
    stride: Pair = 1,
    padding: Any = 0,
    dilation: Pair = 1,
    groups: int = 1,
    dimension_numbers: Any = CHANNELS_FIRST,
    bias: Any = None,
    residual: Any = None,
    activation: str | None = None,
) -> Any:
    """activation(convolution of images by filters + bias + residual), one kernel.

    dimension_numbers: layouts of x, w and the result, as `jax.lax.conv_general_dilated` takes them as text:
    ("NHWC", "HWIO", "NHWC") is flax's.  Filters hold the channels of one group.  padding: a number, one of
    height and one of width, a pair of each, "SAME", "SAME_LOWER" or "VALID".  bias: (k,); residual: of the
    result's shape.  activation: a name of `problem.activation`.

    Raises ValueError and TypeError for what does not fit, before anything is compiled.
    """
    kind()
    _expect_alike(x, w, 4)
    layouts = layouts_of(dimension_numbers)
    both = _two("stride", stride), _two("dilation", dilation)
    (groups,) = integers("groups", (groups,), 1)
    images, filters = sizes(x.shape, layouts.images), sizes(w.shape, layouts.filters)
    if images["c"] != filters["c"] * groups:
        channels = f"images of {images['c']} channels do not meet filters of {filters['c']} in each group"
        raise ValueError(channels)
    pads = pads_of(padding, (images["h"], images["w"]), (filters["y"], filters["x"]), both)
    moves = Moves(both[0], pads, both[1], groups, layouts)
    result = convolution("forward", x.shape, w.shape, moves, x.dtype).result.shape
    return _finish(conv, x, w, moves, (bias, residual, filters["k"], tuple(result)), activation)


def matmul(a: Any, b: Any, *, bias: Any = None, residual: Any = None, activation: str | None = None) -> Any:
    """activation(product of matrices + bias + residual), one kernel; the batch of `a` is further rows of one
    matrix `b`, or as large as that of `b`.

    bias: (n,); residual: of the result's shape.  activation: a name of `problem.activation`.
    """
    kind()
    _expect_alike(a, b)
    if (
        a.ndim < 2
        or b.ndim < 2
        or (b.ndim > 2 and a.shape[:-2] != b.shape[:-2])
        or a.shape[-1] != b.shape[-2]
    ):
        raise ValueError(f"no product of arrays of shapes {a.shape} and {b.shape}")
    (*outer, m, k), n = a.shape, b.shape[-1]
    if residual is not None and residual.shape != (*outer, m, n):
        raise ValueError(f"'residual' should have shape {(*outer, m, n)}, got {residual.shape}")
    flat, one, many = ((-1, k), b, (-1, n)) if b.ndim == 2 else ((-1, m, k), b.reshape(-1, k, n), (-1, m, n))
    rows, more = a.reshape(*flat), None if residual is None else residual.reshape(*many)
    shape = (*rows.shape[:-1], n)
    found = _finish(product, rows, one, Turned(False, False), (bias, more, n, shape), activation)
    return found.reshape(*outer, m, n)


def _finish(
    function: Any, one: Any, other: Any, known: Any, more: tuple[Any, Any, int, Shape], activation: str | None
) -> Any:
    """The function's sums with what is added, and the activation, in its kernel where that is as exact."""
    bias, residual, channels, shape = more
    for name, array, wanted in (("bias", bias, (channels,)), ("residual", residual, shape)):
        if array is not None and tuple(array.shape) != wanted:
            raise ValueError(f"'{name}' should have shape {wanted}, got {tuple(array.shape)}")
        if array is not None and array.dtype != one.dtype:
            raise TypeError(f"'{name}' should be of {one.dtype}, as the arrays are, got {array.dtype}")
    name = "" if activation is None else expect_activation(activation)
    element = dtype(one.dtype.name)
    if element == I8 and (name or bias is not None or residual is not None):
        raise TypeError("sums of int8 have no bias, residual or activation here")
    after = name if name and element == F64 and is_f32(name) else ""
    added = {key: array for key, array in (("bias", bias), ("residual", residual)) if array is not None}
    own = "" if after else name
    is_plain = not added and not own
    result = function(one, other, known) if is_plain else fused((one, other), added, (function, known, own))
    return ACTIVATIONS[after](result) if after else result


def _two(name: str, value: Any) -> tuple[int, int]:
    """Height and width; TypeError and ValueError, in which `name` is the argument, for what is neither."""
    found = integers(name, (value, value) if is_one(value) else tuple(value), 1)
    if len(found) != 2:
        raise ValueError(f"'{name}' should be one integer or two, got {len(found)}")
    return found[0], found[1]


def _expect_alike(one: Any, other: Any, rank: int | None = None) -> None:
    for array in (one, other):
        if not hasattr(array, "dtype"):
            raise TypeError(f"an array of JAX's or NumPy's is wanted, got {type(array).__name__}")
        if rank is not None and array.ndim != rank:
            raise ValueError(f"an array of {rank} dimensions is wanted, got the shape {array.shape}")
    if one.dtype != other.dtype:
        raise TypeError(f"arrays should be of one type, got {one.dtype} and {other.dtype}")
    if 0 in (*one.shape, *other.shape):
        raise ValueError("arrays without elements are not supported")
