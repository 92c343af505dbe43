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
from typing import Any, Final

from imbrex.jax.activation import ACTIVATIONS, OF_RESULT
from imbrex.jax.call import Moves, Shape, Turned, called
from imbrex.problem.activation import finished_text

__all__ = ["conv", "data", "fused", "product"]

jax: Any = import_module("jax")

_jitted: Final = partial(jax.jit, static_argnums=(2,))
_differentiable: Final = partial(jax.custom_vjp, nondiff_argnums=(2,))


@_jitted
@_differentiable
def conv(x: Any, w: Any, moves: Moves) -> Any:
    return called("conv", moves, None, {"input": x, "filter": w})


@_jitted
@_differentiable
def data(dy: Any, w: Any, known: tuple[Moves, Shape]) -> Any:
    return called("data", known, None, {"filter": w, "output": dy})


@_jitted
@_differentiable
def _weight(dy: Any, x: Any, known: tuple[Moves, Shape]) -> Any:
    return called("weight", known, None, {"input": x, "output": dy})


@_jitted
@_differentiable
def product(a: Any, b: Any, turned: Turned) -> Any:
    return called("product", turned, None, {"a": a, "b": b})


@_jitted
@_differentiable
def fused(pair: Any, added: Mapping[str, Any], known: Any) -> Any:
    """Sums with what is added to them, and an activation.  known: the function, what it knows, and the
    activation's name, "" of none.
    """
    return _with_epilogue(pair, added, known, keeps=False)


@_jitted
@_differentiable
def _kept(pair: Any, added: Mapping[str, Any], known: Any) -> Any:
    """The same, and what the activation is applied to."""
    return _with_epilogue(pair, added, known, keeps=True)


def _with_epilogue(pair: Any, added: Mapping[str, Any], known: Any, keeps: bool) -> Any:
    function, own, name = known
    text = finished_text(name, "channel_scale" in added, "bias" in added, "residual" in added, keeps)
    one, other = pair
    if function is conv:
        return called("conv", own, text, {"input": one, "filter": other, **added})
    return called("product", own, text, {"a": one, "b": other, **added})


def _in_one_type(back: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for factors in the type of the result, which is wider where theirs has a byte; its gradients
    are in theirs.
    """

    def backward(known: Any, kept: Any, g: Any) -> Any:
        found = back(known, [one.astype(g.dtype) for one in kept], g)
        return tuple(gradient.astype(one.dtype) for gradient, one in zip(found, kept, strict=True))

    return backward


@_in_one_type
def _conv_back(moves: Moves, kept: Any, dy: Any) -> Any:
    x, w = kept
    return data(dy, w, (moves, x.shape)), _weight(dy, x, (moves, w.shape))


@_in_one_type
def _data_back(known: tuple[Moves, Shape], kept: Any, g: Any) -> Any:
    dy, w = kept
    return conv(g, w, known[0]), _weight(dy, g, (known[0], w.shape))


@_in_one_type
def _weight_back(known: tuple[Moves, Shape], kept: Any, g: Any) -> Any:
    dy, x = kept
    return conv(x, g, known[0]), data(dy, g, (known[0], x.shape))


@_in_one_type
def _product_back(turned: Turned, kept: Any, g: Any) -> Any:
    a, b = kept
    of_a, of_b, batches, tune = turned
    made = partial(Turned, tune=tune)
    da = product(b, g, made(of_b, True)) if of_a else product(g, b, made(False, not of_b, batches))
    rows = "each" if of_a else batches  # k of what lies with k outermost
    db = product(g, a, made(True, of_a, rows)) if of_b else product(a, g, made(not of_a, False, rows))
    return tuple(  # one matrix that meets a batch has a gradient of each
        each if each.ndim == one.ndim else each.sum(0) for each, one in ((da, a), (db, b))
    )


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
    channel = own.layouts.result.index("k") if function is conv else dz.ndim - 1
    others = tuple(position for position in range(dz.ndim) if position != channel)
    scale = added.get("channel_scale")
    scaled = dz
    if scale is not None:  # in its type, which JAX may not choose where promotion is strict
        scaled = (dz.astype(scale.dtype) * jax.numpy.expand_dims(scale, others)).astype(dz.dtype)
    of_pair = (_conv_back if function is conv else _product_back)(own, pair, scaled)

    def of_scale() -> Any:
        assert scale is not None, known
        return (dz.astype(scale.dtype) * function(*pair, own).astype(scale.dtype)).sum(others)

    of_added = {"channel_scale": of_scale, "bias": lambda: dz.sum(others), "residual": lambda: dz}
    return of_pair, {name: of_added[name]() for name in added}


_RULES: Final[Sequence[tuple[Any, Callable[..., Any], Callable[..., Any]]]] = (
    (conv, _keep(conv), _conv_back),
    (data, _keep(data), _data_back),
    (_weight, _keep(_weight), _weight_back),
    (product, _keep(product), _product_back),
    (fused, _fused_forward, _fused_back),
    (_kept, _kept_forward, _kept_back),
)
for _function, _forward, _backward in _RULES:
    _function.__wrapped__.defvjp(_forward, _backward)
