"""Meaning of conv2d, its gradients and gemm: straight from their definitions, nothing of the algebra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls

from imbrex.dtype import BLOCK, SCALED, DType, widened
from imbrex.ir.chosen import Phased
from imbrex.ir.meaning.memory import Array, View
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, Conv2dOp, ConvOp, DraftConvOp, GemmOp
from imbrex.problem.layout import Role
from imbrex.view.gemm.blocks import together

CANONICAL: Final[dict[Role, tuple[str, ...]]] = {
    "filter": ("g", "k", "c", "y", "x"),
    "input": ("n", "g", "c", "hi", "wi"),
    "output": ("n", "g", "k", "ho", "wo"),
}


@register_impls
class ProblemFunctions(InterpreterFunctions):
    """The problem level."""

    @impl(Conv2dOp)
    def forward(self, interpreter: Interpreter, op: Conv2dOp, args: PythonValues) -> PythonValues:
        return _forward(op, args)

    @impl(DraftConvOp)
    def draft(self, interpreter: Interpreter, op: DraftConvOp, args: PythonValues) -> PythonValues:
        return _forward(op, args)

    @impl(Conv2dBwdDataOp)
    def backward_data(
        self, interpreter: Interpreter, op: Conv2dBwdDataOp, args: PythonValues
    ) -> PythonValues:
        filter, input, output = _canonical(op, args)
        padded = _padded(op, np.zeros(input.shape, args[1].dtype.accumulator.numpy))
        for y, x, window in _windows(op, filter, padded, output):
            window += np.einsum("ngkhw,gkc->ngchw", _wide(args[2], output), _wide(args[0], filter[..., y, x]))
        (top, _), (left, _) = op.padding.data
        inside = padded[..., top : top + input.shape[3], left : left + input.shape[4]]
        _store(op, "input", args[1], inside)
        return ()

    @impl(Conv2dBwdWeightOp)
    def backward_weight(
        self, interpreter: Interpreter, op: Conv2dBwdWeightOp, args: PythonValues
    ) -> PythonValues:
        filter, input, output = _canonical(op, args)
        _, k, c, *_ = filter.shape  # a copy may have more channels than the filter
        input, output = input[:, :, :c], output[:, :, :k]
        total = np.zeros(filter.shape, args[0].dtype.accumulator.numpy)
        for y, x, window in _windows(op, filter, _padded(op, _wide(args[1], input)), output):
            total[..., y, x] = np.einsum("ngchw,ngkhw->gkc", window, _wide(args[2], output))
        _store(op, "filter", args[0], total)
        return ()

    @impl(GemmOp)
    def gemm(self, interpreter: Interpreter, op: GemmOp, args: PythonValues) -> PythonValues:
        a, b, c, *scales = (v.load() for v in args)
        a, b = _wide(args[0], a), _wide(args[1], b)
        if op.a_transposed is not None and op.a_transposed.data:
            a = a.swapaxes(-1, -2)
        if op.b_transposed is not None and op.b_transposed.data:
            b = b.swapaxes(-1, -2)
        if scales:
            of_a, of_b = (np.repeat(s.astype(a.dtype), SCALED, axis=-1) for s in scales)
            a, b = a * of_a, b * of_b.swapaxes(-1, -2)
        product = a @ b
        args[2].store(scaled(product, c, op.alpha, op.beta))
        return ()


def multiplied(a: Array, b: Array, phased: Phased | None, batch: int = 0) -> Array:
    """The product of (k, m) and (k, n), or the columns of its phases, each the sum over some parts of K.

    batch: the number of a single product.
    """
    if phased is None:
        return a.swapaxes(-1, -2) @ b
    phases, columns = phased.data, b.shape[-1]
    box, parts = phases.box, phases.of
    if a.ndim > 2:
        return np.stack([multiplied(*pair, phased, i) for i, pair in enumerate(zip(a, b, strict=True))])
    length, taken = a.shape[0] // len(parts), phases.lengths[batch % len(phases.lengths)]
    found, every = np.zeros((a.shape[1], columns * box.count), a.dtype), np.arange(columns, dtype=np.int64)
    for number, phase in enumerate(parts):
        part = slice(number * length, number * length + taken)
        (stored,), _ = box.stored_columns(columns).evaluate([every, phase])
        found[:, stored] += a[part].T @ b[part]
    return found


def numbers(values: Array, dtype: DType, kind: Any, axis: int = -1) -> Array:
    """Elements as numbers of a wider type, those of packs one by one.  axis: k, along which packs are; of
    those that lie across it the last but one, of blocks.
    """
    if dtype.pack == 1:
        return values.astype(kind)
    if dtype.across:
        *outer, k, m = values.shape
        count = together(dtype)
        assert axis in (-2, values.ndim - 2), f"blocks are of the last two dims, k is {axis}"
        found = widened(values, dtype).reshape(*outer, k, m // (BLOCK * count), BLOCK, count * BLOCK)
        return np.moveaxis(found, -2, -3).reshape(*outer, k * BLOCK, m).astype(kind)
    return np.moveaxis(widened(np.moveaxis(values, axis, -1), dtype), -1, axis).astype(kind)


def by_scales(values: Array, scales: View, pack: int, index: Sequence[Any] = ()) -> Array:
    """Elements, (.., k, rows), each by its scale, of which there is one for each pack."""
    return values * np.repeat(scales.load(index).astype(values.dtype), pack, axis=-2)


def scaled(product: Array, old: Array, alpha: Any, beta: Any) -> Array:
    """alpha * product + beta * old; a factor of 0 does not read what it multiplies."""
    kind = product.dtype.type
    if alpha is not None:
        product = kind(alpha.data) * product if alpha.data else np.zeros_like(product)
    if beta is not None and beta.data:
        product = product + kind(beta.data) * old.astype(product.dtype)
    return product


def _forward(op: ConvOp, args: PythonValues) -> PythonValues:
    filter, input, output = _canonical(op, args)
    total = np.zeros(output.shape, args[0].dtype.accumulator.numpy)
    for y, x, window in _windows(op, filter, _padded(op, _wide(args[1], input)), output):
        total += np.einsum("ngchw,gkc->ngkhw", window, _wide(args[0], filter[..., y, x]))
    _store(op, "output", args[2], total)
    return ()


def _store(op: ConvOp, role: Role, view: View, total: Array) -> None:
    """A result, whose dims are in the canonical order, where its view says."""
    layout = op.layouts[role]
    names = [n for n in CANONICAL[role] if n in layout]
    whole = total if "g" in layout else total.squeeze(CANONICAL[role].index("g"))
    view.store(whole.transpose([names.index(n) for n in layout]))


def _canonical(op: ConvOp, args: PythonValues) -> tuple[Array, Array, Array]:
    """The arrays with their dims in one order, and a group dim even where there is one group."""
    out: list[Array] = []
    for (role, names), view in zip(CANONICAL.items(), args, strict=True):
        assert isinstance(view, View)
        layout = op.layouts[role]
        array = view.data.reshape(view.shape) if view.map is None else view.load()
        array = array.transpose([layout.index(n) for n in names if n in layout])
        out.append(array if "g" in layout else np.expand_dims(array, names.index("g")))
    return out[0], out[1], out[2]


def _padded(op: ConvOp, input: Array) -> Array:
    return np.pad(input, [(0, 0), (0, 0), (0, 0), *op.padding.data])


def _windows(op: ConvOp, filter: Array, padded: Array, output: Array) -> Iterator[tuple[int, int, Array]]:
    """The input elements that the output's pixels see through each filter tap."""
    (sh, sw), (dh, dw), (ho, wo) = op.strides.data, op.dilations.data, output.shape[3:]
    for y in range(filter.shape[3]):
        for x in range(filter.shape[4]):
            rows = slice(y * dh, y * dh + sh * (ho - 1) + 1, sh)
            columns = slice(x * dw, x * dw + sw * (wo - 1) + 1, sw)
            yield y, x, padded[..., rows, columns]


def _wide(view: View, array: Array) -> Array:
    return numbers(array, view.dtype, view.dtype.accumulator.numpy, -2 if view.dtype.across else -1)
