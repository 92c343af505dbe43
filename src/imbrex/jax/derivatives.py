"""Kernels as functions of JAX's arrays that it differentiates, each other's derivatives.

    conv(x, w)             by x: data(dy, w)     by w: weight(dy, x)
    data(dy, w)    of g:   by dy: conv(g, w)     by w: weight(dy, g)
    weight(dy, x)  of g:   by dy: conv(x, g)     by x: data(dy, g)
    product(a, b)  of g:   products of g with a and with b, read transposed
    fused, kept            conv or product, what is added to its sums, and an activation of both

Where a derivative follows, a kernel stores what its activation is applied to, too; the activation's own
derivative is JAX's.

Law: reverse derivatives exist to any order; an array is never copied to be transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

from imbrex.diagnostic import Diagnostic
from imbrex.jax.activation import ACTIVATIONS, OF_RESULT
from imbrex.jax.device import kind
from imbrex.jax.handler import on_gpu, registered
from imbrex.jax.layouts import Layouts, Pads
from imbrex.problem import Conv2d, Direction, Gemm, Problem
from imbrex.problem.activation import finished_text
from imbrex.run.cpu import thread_count

__all__ = ["Moves", "Shape", "Turned", "conv", "convolution", "fused", "product", "sizes"]

jax: Any = import_module("jax")

Shape: TypeAlias = tuple[int, ...]


class Moves(NamedTuple):
    """Numbers of a convolution, height before width."""

    stride: tuple[int, int]
    padding: Pads
    dilation: tuple[int, int]
    groups: int
    layouts: Layouts


class Turned(NamedTuple):
    """Is the matrix in memory the transposed one?"""

    a: bool
    b: bool


def _call(problem: Problem, arrays: Mapping[str, Any]) -> Any:
    """The kernel on the arrays that it reads, by role: its result, or a tuple with what it stores besides."""
    written = [operand for operand in problem.operands if operand.is_written]
    read = [arrays[operand.role] for operand in problem.operands if not operand.is_written]
    target = kind()
    name = registered(problem, thread_count(None)) if target == "cpu" else on_gpu(problem, target)
    shapes = [jax.ShapeDtypeStruct(one.shape, one.dtype.numpy) for one in written]
    found = jax.ffi.ffi_call(name, shapes, vmap_method="sequential")(*read)
    return found[0] if len(written) == 1 else tuple(found)


def convolution(
    direction: Direction, x: Shape, w: Shape, moves: Moves, dtype: Any, epilogue: str | None = None
) -> Conv2d:
    """A ValueError where there is none."""
    images, filters = sizes(x, moves.layouts.images), sizes(w, moves.layouts.filters)
    try:
        return Conv2d(
            direction, images["n"], images["c"], images["h"], images["w"],
            filters["k"], filters["y"], filters["x"],
            pad_h=moves.padding[0], pad_w=moves.padding[1], stride=moves.stride, dilation=moves.dilation,
            groups=moves.groups, dtype=dtype.name, epilogue=epilogue, input_layout=moves.layouts.images,
            filter_layout=moves.layouts.filters, output_layout=moves.layouts.result,
        )  # fmt: skip
    except Diagnostic as error:
        raise ValueError(error.message) from None


def sizes(shape: Shape, layout: str) -> dict[str, int]:
    return dict(zip(layout, shape, strict=True))


_jitted: Final = partial(jax.jit, static_argnums=(2,))
_differentiable: Final = partial(jax.custom_vjp, nondiff_argnums=(2,))


@_jitted
@_differentiable
def conv(x: Any, w: Any, moves: Moves) -> Any:
    return _called(conv, x, w, moves, None, {})


@_jitted
@_differentiable
def _data(dy: Any, w: Any, known: tuple[Moves, Shape]) -> Any:
    moves, shape = known
    return _call(convolution("backward_data", shape, w.shape, moves, dy.dtype), {"filter": w, "output": dy})


@_jitted
@_differentiable
def _weight(dy: Any, x: Any, known: tuple[Moves, Shape]) -> Any:
    moves, shape = known
    return _call(convolution("backward_weight", x.shape, shape, moves, dy.dtype), {"input": x, "output": dy})


@_jitted
@_differentiable
def product(a: Any, b: Any, turned: Turned) -> Any:
    return _called(product, a, b, turned, None, {})


def _called(
    function: Any, one: Any, other: Any, known: Any, epilogue: str | None, more: Mapping[str, Any]
) -> Any:
    """The kernel of `conv` or of `product`, its epilogue, and the arrays of that."""
    if function is conv:
        problem = convolution("forward", one.shape, other.shape, known, one.dtype, epilogue)
        return _call(problem, {"input": one, "filter": other, **more})
    m, k = one.shape[-2:][::-1] if known.a else one.shape[-2:]
    n = other.shape[-2] if known.b else other.shape[-1]
    batch = one.shape[0] if one.ndim == 3 else 1
    problem = Gemm(
        m,
        n,
        k,
        batch=batch,
        transpose_a=known.a,
        transpose_b=known.b,
        dtype=one.dtype.name,
        epilogue=epilogue,
    )
    is_one = one.ndim == 3 and batch == 1
    arrays = {"a": one, "b": other, **more}
    flat = {
        role: array.reshape(array.shape[1:]) if is_one and array.ndim == 3 else array
        for role, array in arrays.items()
    }
    found = _call(problem, flat)
    shape = *one.shape[:-2], m, n
    return jax.tree.map(partial(_reshaped, shape), found)


def _reshaped(shape: Shape, array: Any) -> Any:
    return array.reshape(shape)


@_jitted
@_differentiable
def fused(pair: Any, added: Mapping[str, Any], known: Any) -> Any:
    """Sums with what is added to them, and an activation.  known: the function, what it knows, and the
    activation's name, "" of none.
    """
    function, own, name = known
    text = finished_text(name, False, "bias" in added, "residual" in added)
    return _called(function, pair[0], pair[1], own, text, added)


@_jitted
@_differentiable
def _kept(pair: Any, added: Mapping[str, Any], known: Any) -> Any:
    """The same, and what the activation is applied to."""
    function, own, name = known
    text = finished_text(name, False, "bias" in added, "residual" in added, True)
    return _called(function, pair[0], pair[1], own, text, added)


def _conv_back(moves: Moves, kept: Any, dy: Any) -> Any:
    x, w = kept
    return _data(dy, w, (moves, x.shape)), _weight(dy, x, (moves, w.shape))


def _data_back(known: tuple[Moves, Shape], kept: Any, g: Any) -> Any:
    dy, w = kept
    return conv(g, w, known[0]), _weight(dy, g, (known[0], w.shape))


def _weight_back(known: tuple[Moves, Shape], kept: Any, g: Any) -> Any:
    dy, x = kept
    return conv(x, g, known[0]), _data(dy, g, (known[0], x.shape))


def _product_back(turned: Turned, kept: Any, g: Any) -> Any:
    a, b = kept
    of_a, of_b = turned
    da = product(b, g, Turned(of_b, True)) if of_a else product(g, b, Turned(False, not of_b))
    db = product(g, a, Turned(True, of_a)) if of_b else product(a, g, Turned(not of_a, False))
    return da, db


def _keep(function: Any) -> Any:
    """The forward pass of a derivative: what is computed, and both arrays."""

    def forward(one: Any, other: Any, known: Any) -> Any:
        return function(one, other, known), (one, other)

    return forward


def _fused_forward(pair: Any, added: Mapping[str, Any], known: Any) -> Any:
    if known[2] in ("", OF_RESULT):
        result = fused(pair, added, known)
        return result, (pair, added, result)
    result, sums = _kept(pair, added, known)
    return result, (pair, added, sums)


def _fused_back(known: Any, kept: Any, dy: Any) -> Any:
    pair, added, sums = kept
    return _back(known, pair, added, _through(known[2], sums, dy))


def _kept_forward(pair: Any, added: Mapping[str, Any], known: Any) -> Any:
    result, sums = _kept(pair, added, known)
    return (result, sums), (pair, added, sums)


def _kept_back(known: Any, kept: Any, given: Any) -> Any:
    pair, added, sums = kept
    dy, dz = given
    return _back(known, pair, added, dz + _through(known[2], sums, dy))


def _through(name: str, sums: Any, dy: Any) -> Any:
    """The gradient of what an activation is applied to."""
    return jax.vjp(ACTIVATIONS[name], sums)[1](dy)[0] if name else dy


def _back(known: Any, pair: Any, added: Mapping[str, Any], dz: Any) -> Any:
    """Gradients of the arrays, of those of all sums."""
    function, own, _ = known
    of_pair = (_conv_back if function is conv else _product_back)(own, pair, dz)
    channel = own.layouts.result.index("k") if function is conv else dz.ndim - 1
    others = tuple(position for position in range(dz.ndim) if position != channel)
    of_added = {"bias": lambda: dz.sum(others), "residual": lambda: dz}
    return of_pair, {name: of_added[name]() for name in added}


_RULES: Final[Sequence[tuple[Any, Callable[..., Any], Callable[..., Any]]]] = (
    (conv, _keep(conv), _conv_back),
    (_data, _keep(_data), _data_back),
    (_weight, _keep(_weight), _weight_back),
    (product, _keep(product), _product_back),
    (fused, _fused_forward, _fused_back),
    (_kept, _kept_forward, _kept_back),
)
for _function, _forward, _backward in _RULES:
    _function.__wrapped__.defvjp(_forward, _backward)
