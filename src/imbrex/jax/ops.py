"""Functions of JAX's arrays: convolutions and products, an activation of both and what is added to sums.

batches, of each: "each", a kernel for each number of images or of rows, or "any", one for all numbers but the
first that is met (`imbrex.function.batches`), and for those of `jax.export` that have no value.

tune, of each: "quick", "normal" or "full", the effort with which kernels, those of gradients too, are tuned
on this machine first, where that was not done before.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from imbrex.argument import truth, whole
from imbrex.dtype import DTYPES, F64, I8, dtype
from imbrex.function.batches import Batches, expect_batches
from imbrex.function.window import Pair, integers
from imbrex.jax.activation import ACTIVATIONS
from imbrex.jax.call import Moves, Shape, Turned, convolution, sizes
from imbrex.jax.derivatives import conv, data, fused, product
from imbrex.jax.device import alike, kind, uncut
from imbrex.jax.layouts import CHANNELS_FIRST, Layouts, is_one, layouts_of, pads_of
from imbrex.kernel.tuned import Effort, expect_effort
from imbrex.numeral import counted
from imbrex.problem.activation import expect_activation, is_f32
from imbrex.problem.epilogue_array import ARRAYS

__all__ = ["conv2d", "conv_transpose2d", "linear", "matmul"]

jax: Any = import_module("jax")

_FACTORS: Final = [
    one.array_name for one in DTYPES.values() if one.is_operand and one.dlpack_code is not None
]


def conv2d(
    x: Any,
    w: Any,
    *,
    stride: Pair = 1,
    padding: Any = 0,
    dilation: Pair = 1,
    groups: int = 1,
    dimension_numbers: Any = CHANNELS_FIRST,
    scale: Any = None,
    bias: Any = None,
    residual: Any = None,
    activation: str | None = None,
    batches: Batches = "each",
    tune: Effort | None = None,
) -> Any:
    """activation(convolution of images by filters * scale + bias + residual), one kernel.

    dimension_numbers: layouts of x, w and the result, as `jax.lax.conv_general_dilated` takes them as text:
    ("NHWC", "HWIO", "NHWC") is flax's.  Filters hold the channels of one group.  padding: a number, one of
    height and one of width, a pair of each, "SAME", "SAME_LOWER" or "VALID".  scale, bias: (k,); the scale is
    float32, or float64 of such arrays.  residual: of the result's shape.  activation: a name of
    `problem.activation`.

    Raises ValueError and TypeError for what does not fit, before anything is compiled.
    """
    moves = _moves(stride, dilation, groups, dimension_numbers, batches, tune)
    x, w = _factors("x", x, "w", w, 4)
    images, filters = sizes(x.shape, moves.layouts.images), sizes(w.shape, moves.layouts.filters)
    if images["c"] != filters["c"] * moves.groups:
        each = f"{filters['c']} in each of 'groups', {moves.groups}"
        channels = f"'x' of {counted(images['c'], 'channel')} does not meet 'w' of {each}"
        raise ValueError(channels)
    pads = pads_of(
        padding,
        (images["h"], images["w"]),
        (filters["y"], filters["x"]),
        (moves.stride, moves.dilation),
    )
    moves = moves._replace(padding=pads)
    found = convolution("forward", x.shape, w.shape, moves, x.dtype).result.shape
    shape = _with_number(found, moves.layouts.result.index("n"), images["n"])
    return _finish(conv, x, w, moves, (scale, bias, residual, filters["k"], shape), activation)


def conv_transpose2d(
    x: Any,
    w: Any,
    *,
    stride: Pair = 1,
    padding: Any = 0,
    output_padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    dimension_numbers: Any = CHANNELS_FIRST,
    batches: Batches = "each",
    tune: Effort | None = None,
) -> Any:
    """The transposed convolution: what `conv2d` of these numbers makes of its images' gradient.

    w: the filters of that convolution, whose results have the channels of x.  dimension_numbers: layouts of
    x, w and the result, in which w's O are the channels of x, its I those of a group of the result.
    padding: of that convolution: a number, one of height and one of width, or a pair of each, cut off the
    result.  output_padding: rows and columns more at the end of it, below the stride or the dilation.

    Raises ValueError and TypeError for what does not fit, before anything is compiled.
    """
    layouts = layouts_of(dimension_numbers)
    moves = _moves(stride, dilation, groups, dimension_numbers, batches, tune)
    x, w = _factors("x", x, "w", w, 4)
    of, filters = sizes(x.shape, layouts.images), sizes(w.shape, layouts.filters)
    if of["c"] != filters["k"]:
        theirs = counted(of["c"], "channel")
        raise ValueError(f"filters of {counted(filters['k'], 'channel')} do not meet {theirs} of 'x'")
    if isinstance(padding, str):
        raise ValueError(f"'padding' of a transposed convolution should be numbers, got {padding!r}")
    window, further = (filters["y"], filters["x"]), _two("output_padding", output_padding, 0)
    pads = pads_of(padding, (of["h"], of["w"]), window, (moves.stride, moves.dilation))
    if any(
        not 0 <= more < max(s, d) for more, s, d in zip(further, moves.stride, moves.dilation, strict=True)
    ):
        below = f"stride {moves.stride} or dilation {moves.dilation}"
        raise ValueError(f"'output_padding' {further} should be from 0 to below {below}")
    rows = zip((of["h"], of["w"]), window, moves.stride, pads, moves.dilation, further, strict=True)
    height, width = ((size - 1) * s - sum(pad) + d * (y - 1) + more + 1 for size, y, s, pad, d, more in rows)
    if min(height, width) < 1:
        raise ValueError(f"padding {pads} leaves nothing: height and width would be {height} and {width}")
    found = {"n": of["n"], "c": filters["c"] * moves.groups, "h": height, "w": width}
    back = Layouts(_exchanged(layouts.result), layouts.filters, _exchanged(layouts.images))
    shape = tuple(found[name] for name in back.images)
    one, other = alike(x, w)
    return data(one, other, (moves._replace(padding=pads, layouts=back), shape))


def _exchanged(layout: str) -> str:
    """The layout of images as that of results, and the other way round."""
    return layout.translate(str.maketrans("ck", "kc"))


def matmul(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    scale: Any = None,
    bias: Any = None,
    residual: Any = None,
    activation: str | None = None,
    batches: Batches = "each",
    tune: Effort | None = None,
) -> Any:
    """activation(product of matrices * scale + bias + residual), one kernel; the batch of `a` is further rows
    of one matrix `b`, or as large as that of `b`.

    transpose_a, transpose_b: is the array (..., k, m), or (..., n, k)?  Read where it lies, so that each
    matrix of a transposed `a` meets one `b` in a batch of products.  scale, bias: (n,), the scale float32, or
    float64 of such arrays; residual: of the result's shape.  activation: a name of `problem.activation`.
    """
    kind()
    expect_batches(batches)
    expect_effort(tune)
    a, b = _factors("a", a, "b", b)
    turned = Turned(truth("transpose_a", transpose_a), truth("transpose_b", transpose_b), batches, tune)
    if (
        a.ndim < 2
        or b.ndim < 2
        or (b.ndim > 2 and a.shape[:-2] != b.shape[:-2])
        or a.shape[-2 if turned.a else -1] != b.shape[-1 if turned.b else -2]
    ):
        said = ", transpose_a=True" * turned.a + ", transpose_b=True" * turned.b
        raise ValueError(f"no product of arrays of shapes {a.shape} and {b.shape}{said}")
    outer, m, n = a.shape[:-2], a.shape[-1 if turned.a else -2], b.shape[-2 if turned.b else -1]
    residual = _shaped("residual", residual, (*outer, m, n))
    is_rows = b.ndim == 2 and not turned.a
    if is_rows:
        one, other, many = a.reshape(-1, a.shape[-1]), b, (-1, n)
    elif a.ndim == 2:
        one, other, many = a, b, (m, n)
    else:
        one, many = a.reshape(-1, *a.shape[-2:]), (-1, m, n)
        other = b if b.ndim == 2 else b.reshape(-1, *b.shape[-2:])
    more = None if residual is None else residual.reshape(*many)
    shape = (one.shape[0], n) if is_rows else (*one.shape[:-2], m, n)
    found = _finish(product, one, other, turned, (scale, bias, more, n, shape), activation)
    return found.reshape(*outer, m, n)


def linear(
    x: Any,
    w: Any,
    *,
    scale: Any = None,
    bias: Any = None,
    residual: Any = None,
    activation: str | None = None,
    batches: Batches = "each",
    tune: Effort | None = None,
) -> Any:
    """activation(x w^T * scale + bias + residual), one kernel.  x: (..., k); w: (n, k), as PyTorch has it."""
    x, w = _factors("x", x, "w", w)
    if w.ndim != 2 or x.ndim == 0 or x.shape[-1] != w.shape[1]:
        raise ValueError(f"'x' of shape {x.shape} should end in the columns of a matrix 'w', got {w.shape}")
    shape = (*x.shape[:-1], w.shape[0])
    residual = _shaped("residual", residual, shape)
    more = None if residual is None else residual.reshape(-1, w.shape[0])
    rows = x.reshape(-1, x.shape[-1])
    found = matmul(
        rows, w, transpose_b=True, scale=scale, bias=bias, residual=more, activation=activation,
        batches=batches, tune=tune,
    )  # fmt: skip
    return found.reshape(shape)


def _moves(
    stride: Pair,
    dilation: Pair,
    groups: int,
    dimension_numbers: Any,
    batches: Batches,
    tune: Effort | None,
) -> Moves:
    """The numbers of a convolution but its padding."""
    kind()
    expect_batches(batches)
    expect_effort(tune)
    layouts = layouts_of(dimension_numbers)
    both = _two("stride", stride), _two("dilation", dilation)
    return Moves(both[0], ((0, 0), (0, 0)), both[1], whole("groups", groups, 1), layouts, batches, tune)


def _with_number(shape: Sequence[int], at: int, number: Any) -> Shape:
    """The shape with JAX's own number of images."""
    return (*shape[:at], number, *shape[at + 1 :])


def _finish(
    function: Any,
    one: Any,
    other: Any,
    known: Any,
    more: tuple[Any, Any, Any, int, Shape],
    activation: str | None,
) -> Any:
    """The function's sums with what follows them, in its kernel where that is as exact."""
    scale, bias, residual, channels, shape = more
    element = dtype(one.dtype.name)
    factor, sums = ARRAYS["channel_scale"].dtype(element, element), element.output
    added: dict[str, Any] = {}
    for role, name, array, wanted, of in (
        ("channel_scale", "scale", scale, (channels,), factor),
        ("bias", "bias", bias, (channels,), sums),
        ("residual", "residual", residual, shape, sums),
    ):
        found = _shaped(name, array, wanted)
        if found is not None:
            added[role] = found = _strong(found, of.numpy)
            if dtype(found.dtype.name) != of:
                raise TypeError(f"'{name}' should be of {np.dtype(of.numpy)}, got {found.dtype}")
    name = "" if activation is None else expect_activation(activation)
    if element == I8 and (name or added):
        raise TypeError("sums of int8 have no scale, bias, residual or activation here")
    after = name if name and element == F64 and is_f32(name) else ""
    own = "" if after else name
    is_plain = not added and not own
    one, other, *further = alike(one, other, *added.values())
    added = dict(zip(added, further, strict=True))
    result = function(one, other, known) if is_plain else fused((one, other), added, (function, known, own))
    return ACTIVATIONS[after](result) if after else result


def _two(name: str, value: Any, least: int = 1) -> tuple[int, int]:
    """Height and width; TypeError and ValueError, naming the argument, for others or below `least`."""
    found = integers(name, (value, value) if is_one(value) else tuple(value), least)
    if len(found) != 2:
        raise ValueError(f"'{name}' should be one integer or two, got {len(found)}")
    return found[0], found[1]


def _factors(first: str, one: Any, second: str, other: Any, rank: int | None = None) -> tuple[Any, Any]:
    """Both as JAX has them; TypeError and ValueError, naming the argument, for others than kernels take."""
    one, other = _array(first, one), _array(second, other)
    for name, array in ((first, one), (second, other)):
        if rank is not None and array.ndim != rank:
            raise ValueError(
                f"'{name}' should have {counted(rank, 'dimension')}, got the shape {array.shape}"
            )
    one, other = _strong(one, other.dtype), _strong(other, one.dtype)
    if one.dtype != other.dtype:
        raise TypeError(f"'{first}' and '{second}' should be of one type, got {one.dtype} and {other.dtype}")
    if one.dtype.name not in _FACTORS:
        known = ", ".join(_FACTORS)
        raise TypeError(f"'{first}' has dtype {one.dtype}; convert it to what kernels take: {known}")
    for name, array in ((first, one), (second, other)):
        if 0 in array.shape:
            raise ValueError(f"'{name}' has no elements, and arrays without any are not supported")
    return one, other


def _strong(array: Any, wanted: Any) -> Any:
    """The array in that type where its own is a weak one that gives way, as in JAX's functions: that of
    `jnp.full((4,), 0.5)` beside bfloat16.
    """
    is_weak = array.weak_type and array.dtype != wanted
    gives_way = is_weak and jax.numpy.result_type(array, jax.ShapeDtypeStruct((), wanted)) == wanted
    return array.astype(wanted) if gives_way else array


def _shaped(name: str, value: Any, wanted: Shape) -> Any:
    """Nothing, or an array of that shape, as JAX has it."""
    if value is None:
        return None
    found = _array(name, value)
    if tuple(found.shape) != tuple(wanted):
        raise ValueError(f"'{name}' should have shape {wanted}, got {tuple(found.shape)}")
    return found


def _array(name: str, value: Any) -> Any:
    """An array of JAX's, of NumPy's one of the type that it has there: float32 of float64 without x64."""
    if not isinstance(value, jax.Array | np.ndarray):
        raise TypeError(f"'{name}' should be an array of JAX's or NumPy's, got {type(value).__name__}")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"'{name}' is a masked array, and kernels know no mask; fill it first")
    return uncut(value if isinstance(value, jax.Array) else jax.numpy.asarray(value))
