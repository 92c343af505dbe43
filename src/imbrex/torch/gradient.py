"""Gradients of the ops, made of the ops: as convolutions and products are linear in each factor, every
derivative of one of them is another one, and so are derivatives of derivatives.

    conv2d(x, w)                        by x: backward_data(dy, w)    by w: backward_weight(dy, x)
    backward_data(dy, w)       of g:    by dy: conv2d(g, w)           by w: backward_weight(dy, g)
    backward_weight(dy, x)     of g:    by dy: conv2d(x, g)           by x: backward_data(dy, g)
    product(a, b)              of g:    by a: product(g, b^T)         by b: product(a^T, g)

An activation is differentiated by torch's own ops; where these need the sums, those are taken that an op
`.._with_sums` stored, and those of the others are computed again.  Tangents, of forward mode, are made alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from imbrex.torch.activation import ACTIVATIONS
from imbrex.torch.ops import LIBRARY
from imbrex.torch.transform import declare, op_of

__all__ = ["register"]

torch: Any = import_module("torch")
_conv2d, _product = op_of("conv2d"), op_of("product")
_data, _weight = op_of("conv2d_backward_data"), op_of("conv2d_backward_weight")


def register() -> None:
    """Tells torch how each op is differentiated."""
    _with("conv2d", _conv2d_backward, _keep_conv2d, _conv2d_tangent)
    _with("conv2d_with_sums", _conv2d_with_sums_backward, _keep_conv2d_with_sums, _conv2d_with_sums_tangent)
    _with(
        "product_with_sums", _product_with_sums_backward, _keep_product_with_sums, _product_with_sums_tangent
    )
    _with("conv2d_backward_data", _data_backward, _keep_factors, _factors_tangent(_data))
    _with("conv2d_backward_weight", _weight_backward, _keep_factors, _factors_tangent(_weight))
    _with("product", _product_backward, _keep_product, _product_tangent)


def _with(
    name: str, backward: Callable[..., Any], keep: Callable[..., None], tangent: Callable[..., Any]
) -> None:
    torch.library.register_autograd(f"imbrex::{name}", backward, setup_context=keep, lib=LIBRARY)
    declare(name, keep, backward, tangent)


def _save(ctx: Any, *tensors: Any) -> None:
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def _keep_conv2d(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, w, scale, bias, residual, *moves, activation, fallback, batches = inputs
    ctx.moves, ctx.activation, ctx.kernels = tuple(moves), activation, (fallback, batches)
    _save(ctx, x, w, scale, *_of_activation(bias, residual, activation, output))


def _conv2d_backward(ctx: Any, dy: Any) -> Any:
    x, w, scale, *kept = ctx.saved_tensors

    def sums(bias: Any, residual: Any) -> Any:
        return _conv2d(x, w, scale, bias, residual, *ctx.moves, "", *ctx.kernels)

    return _by_factors(ctx, _at_sums(dy, ctx.activation, kept, sums), x, w, scale)


def _keep_conv2d_with_sums(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, w, scale, _, _, *moves, activation, fallback, batches = inputs
    ctx.moves, ctx.activation, ctx.kernels = tuple(moves), activation, (fallback, batches)
    ctx.set_materialize_grads(False)
    _save(ctx, x, w, scale, output[1])


def _conv2d_with_sums_backward(ctx: Any, dy: Any, dsums: Any) -> Any:
    x, w, scale, kept = ctx.saved_tensors
    return _by_factors(ctx, _with_kept(dy, dsums, ctx.activation, kept), x, w, scale)


def _by_factors(ctx: Any, dz: Any, x: Any, w: Any, scale: Any) -> Any:
    """The gradients of a convolution's arguments.  dz: by what the activation is applied to, or None."""
    if dz is None:
        return (None,) * 12
    by_x, by_w, by_scale, by_bias, by_residual = ctx.needs_input_grad[:5]
    _expect_alike(dz, x, by_x or by_w)
    options = (*ctx.moves, *ctx.kernels)
    scaled = _times(dz, scale)
    dx = _data(scaled, w, x.shape, *options) if by_x else None
    dw = _weight(scaled, x, w.shape, *options) if by_w else None
    sums = _conv2d(x, w, None, None, None, *ctx.moves, "", *ctx.kernels) if by_scale else None
    dscale = (dz * sums).sum((0, 2, 3), dtype=scale.dtype) if by_scale else None
    dbias = dz.sum((0, 2, 3)) if by_bias else None
    return dx, dw, dscale, dbias, dz if by_residual else None, *(None,) * 7


def _expect_alike(dz: Any, factor: Any, is_needed: bool) -> None:
    """TypeError where gradients by factors are asked for that are narrower than their sums."""
    if is_needed and dz.dtype != factor.dtype:
        kind = str(factor.dtype).removeprefix("torch.")
        raise TypeError(f"factors of {kind} have no gradients; detach them, or convert them before the call")


def _conv2d_tangent(ctx: Any, *given: Any) -> Any:
    x, w, scale, *kept = ctx.saved_tensors

    def sums(bias: Any, residual: Any) -> Any:
        return _conv2d(x, w, scale, bias, residual, *ctx.moves, "", *ctx.kernels)

    return _at_sums(_conv2d_sums_tangent(ctx, x, w, scale, given), ctx.activation, kept, sums)


def _conv2d_with_sums_tangent(ctx: Any, *given: Any) -> Any:
    x, w, scale, kept = ctx.saved_tensors
    dz = _conv2d_sums_tangent(ctx, x, w, scale, given)
    return _with_kept(dz, None, ctx.activation, kept), dz


def _conv2d_sums_tangent(ctx: Any, x: Any, w: Any, scale: Any, given: tuple[Any, ...]) -> Any:
    """The tangent of what the activation is applied to.  given: those of the op's arguments."""
    dx, dw, dscale, dbias, dresidual = given[:5]
    options = (None, None, *ctx.moves, "", *ctx.kernels)
    parts = [dresidual] if dresidual is not None else []
    parts += [_conv2d(dx, w, scale, *options)] if dx is not None else []
    parts += [_conv2d(x, dw, scale, *options)] if dw is not None else []
    if dscale is not None:
        parts.append(_times(_conv2d(x, w, None, *options), dscale))
    total = _sum(parts)
    if dbias is None:
        return total
    rows = dbias.reshape(-1, 1, 1)
    return total + rows if total is not None else rows + x.new_zeros(_conv2d(x, w, None, *options).shape)


def _sum(parts: Sequence[Any]) -> Any:
    """None of none."""
    return sum(parts[1:], start=parts[0]) if parts else None


def _times(dz: Any, scale: Any) -> Any:
    return dz if scale is None else (dz * scale.reshape(-1, 1, 1)).to(dz.dtype)


def _keep_factors(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    del output
    one, other, shape, *options = inputs
    ctx.shape, ctx.options = tuple(shape), tuple(options)
    _save(ctx, one, other)


def _factors_tangent(op: Callable[..., Any]) -> Callable[..., Any]:
    def tangent(ctx: Any, dleft: Any, dright: Any, *_: Any) -> Any:
        left, right = ctx.saved_tensors
        options = (ctx.shape, *ctx.options)
        parts = [op(dleft, right, *options)] if dleft is not None else []
        return _sum(parts + ([op(left, dright, *options)] if dright is not None else []))

    return tangent


def _data_backward(ctx: Any, g: Any) -> Any:
    dy, w = ctx.saved_tensors
    by_dy, by_w = ctx.needs_input_grad[:2]
    ddy = _again(g, w, ctx.options) if by_dy else None
    dw = _weight(dy, g, w.shape, *ctx.options) if by_w else None
    return ddy, dw, *(None,) * 7


def _weight_backward(ctx: Any, g: Any) -> Any:
    dy, x = ctx.saved_tensors
    by_dy, by_x = ctx.needs_input_grad[:2]
    ddy = _again(x, g, ctx.options) if by_dy else None
    dx = _data(dy, g, x.shape, *ctx.options) if by_x else None
    return ddy, dx, *(None,) * 7


def _again(x: Any, w: Any, options: tuple[Any, ...]) -> Any:
    """The convolution that a gradient is of.  options: its moves, fallback and batches."""
    *moves, fallback, batches = options
    return _conv2d(x, w, None, None, None, *moves, "", fallback, batches)


def _keep_product(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    a, b, bias, residual, *options = inputs
    ctx.options = tuple(options)
    _save(ctx, a, b, *_of_activation(bias, residual, options[1], output))


def _product_backward(ctx: Any, dy: Any) -> Any:
    a, b, *kept = ctx.saved_tensors
    alpha, activation, *kernels = ctx.options
    dz = _at_sums(dy, activation, kept, lambda bias, r: _product(a, b, bias, r, alpha, "", *kernels))
    return _by_matrices(ctx, dz, a, b)


def _keep_product_with_sums(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    a, b, _, _, *options = inputs
    ctx.options = tuple(options)
    ctx.set_materialize_grads(False)
    _save(ctx, a, b, output[1])


def _product_with_sums_backward(ctx: Any, dy: Any, dsums: Any) -> Any:
    a, b, kept = ctx.saved_tensors
    return _by_matrices(ctx, _with_kept(dy, dsums, ctx.options[1], kept), a, b)


def _by_matrices(ctx: Any, dz: Any, a: Any, b: Any) -> Any:
    """The gradients of a product's arguments.  dz: by what the activation is applied to, or None."""
    if dz is None:
        return (None,) * 8
    alpha, _, fallback, batches = ctx.options
    by_a, by_b, by_bias, by_residual = ctx.needs_input_grad[:4]
    _expect_alike(dz, a, by_a or by_b)
    da = _product(dz, b.mT, None, None, alpha, "", fallback, batches) if by_a else None
    db = _product(a.mT, dz, None, None, alpha, "", fallback, batches) if by_b else None
    dbias = dz.flatten(0, -2).sum(0) if by_bias else None
    return da, db, dbias, dz if by_residual else None, None, None, None, None


def _product_tangent(ctx: Any, *given: Any) -> Any:
    a, b, *kept = ctx.saved_tensors
    alpha, activation, *kernels = ctx.options
    dz = _product_sums_tangent(ctx, a, b, given)
    return _at_sums(dz, activation, kept, lambda bias, r: _product(a, b, bias, r, alpha, "", *kernels))


def _product_with_sums_tangent(ctx: Any, *given: Any) -> Any:
    a, b, kept = ctx.saved_tensors
    dz = _product_sums_tangent(ctx, a, b, given)
    return _with_kept(dz, None, ctx.options[1], kept), dz


def _product_sums_tangent(ctx: Any, a: Any, b: Any, given: tuple[Any, ...]) -> Any:
    da, db, dbias, dresidual = given[:4]
    alpha, _, *kernels = ctx.options
    options = (None, None, alpha, "", *kernels)
    parts = [dresidual] if dresidual is not None else []
    parts += [_product(da, b, *options)] if da is not None else []
    parts += [_product(a, db, *options)] if db is not None else []
    total = _sum(parts)
    if dbias is None:
        return total
    return total + dbias if total is not None else dbias.expand(*a.shape[:-1], b.shape[-1])


def _of_activation(bias: Any, residual: Any, activation: str, output: Any) -> Sequence[Any]:
    """What the derivative of an activation needs beside the factors: the result, or what gives the sums."""
    if not activation:
        return ()
    return (output,) if ACTIVATIONS[activation].of_result else (bias, residual)


def _at_sums(dy: Any, activation: str, kept: Sequence[Any], sums: Callable[[Any, Any], Any]) -> Any:
    """The gradient by the sums.  kept: see `_of_activation`."""
    if not activation:
        return dy
    row = ACTIVATIONS[activation]
    return row.backward(dy, kept[0] if row.of_result else sums(*kept))


def _with_kept(dy: Any, dsums: Any, activation: str, kept: Any) -> Any:
    """The gradient by the sums, of the result's and of their own, of which either may be None."""
    if dy is None:
        return dsums
    through = ACTIVATIONS[activation].backward(dy, kept) if activation else dy
    return through if dsums is None else through + dsums
