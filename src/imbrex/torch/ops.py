"""The ops that torch's dispatcher knows, `torch.ops.imbrex.*`: schema, kernel and fake of each.

    conv2d                    activation(conv(x, w) + bias + residual)
    conv2d_backward_data      gradient of a convolution by its images; the transposed convolution
    conv2d_backward_weight    gradient of a convolution by its filters
    product                   activation(alpha * a b + bias + residual), of matrices or batches of them

Law: each is a function of its arguments alone, and launches in torch's current stream, with as many threads
of the CPU as torch uses.  The three convolutions and the product are each other's gradients (`gradient`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from imbrex.function import conv, gemm
from imbrex.torch.activation import epilogue
from imbrex.torch.lying import images, matrices, spans

__all__ = ["LIBRARY", "OPS"]

torch: Any = import_module("torch")

LIBRARY: Final[Any] = torch.library.Library("imbrex", "DEF")
_TAGS: Final = (
    torch.Tag.pt2_compliant_tag,
    getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order),
)
_MOVES: Final = "int[2] stride, int[4] pads, int[2] dilation, int groups"
_MORE: Final = "Tensor? bias, Tensor? residual"
_SCHEMAS: Final = (
    f"conv2d(Tensor x, Tensor w, {_MORE}, {_MOVES}, str activation) -> Tensor",
    f"conv2d_backward_data(Tensor dy, Tensor w, SymInt[4] input_shape, {_MOVES}) -> Tensor",
    f"conv2d_backward_weight(Tensor dy, Tensor x, SymInt[4] filter_shape, {_MOVES}) -> Tensor",
    f"product(Tensor a, Tensor b, {_MORE}, float alpha, str activation) -> Tensor",
)


def _conv2d(
    x: Any,
    w: Any,
    bias: Any,
    residual: Any,
    stride: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    activation: str,
) -> Any:
    out = _conv2d_fake(x, w, bias, residual, stride, pads, dilation, groups, activation)
    return conv.conv2d(
        x, w, **_moves(stride, pads, dilation, groups), bias=bias, residual=residual,
        epilogue=epilogue(activation, bias is not None, residual is not None), out=out, threads=_threads(x),
    )  # fmt: skip


def _conv2d_fake(
    x: Any,
    w: Any,
    bias: Any,
    residual: Any,
    stride: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    activation: str,
) -> Any:
    del bias, residual, groups, activation
    shape = (x.shape[0], w.shape[0], *spans(x.shape[2:], w.shape[2:], stride, pads, dilation))
    return images(shape, x, w)


def _backward_data(
    dy: Any,
    w: Any,
    input_shape: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    moves = _moves(stride, pads, dilation, groups)
    out, shape = images(input_shape, dy, w), tuple(input_shape)
    return conv.conv2d_backward_data(dy, w, shape, **moves, out=out, threads=_threads(dy))


def _backward_weight(
    dy: Any,
    x: Any,
    filter_shape: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    moves = _moves(stride, pads, dilation, groups)
    out, shape = images(filter_shape, dy, x), tuple(filter_shape)
    return conv.conv2d_backward_weight(dy, x, shape, **moves, out=out, threads=_threads(dy))


def _gradient_fake(one: Any, other: Any, shape: Sequence[int], *moves: object) -> Any:
    del moves
    return images(shape, one, other)


def _product(a: Any, b: Any, bias: Any, residual: Any, alpha: float, activation: str) -> Any:
    after = epilogue(activation, bias is not None, residual is not None)
    return gemm.gemm(
        a, b, alpha=alpha, epilogue=after, bias=bias, residual=residual,
        out=matrices(a, b), threads=_threads(a),
    )  # fmt: skip


def _product_fake(a: Any, b: Any, bias: Any, residual: Any, alpha: float, activation: str) -> Any:
    del bias, residual, alpha, activation
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"a {a.shape} and b {b.shape} do not fit")
    return matrices(a, b)


def _moves(
    stride: Sequence[int], pads: Sequence[int], dilation: Sequence[int], groups: int
) -> dict[str, Any]:
    """As our functions take them, fit to be the key of a plan."""
    top, bottom, left, right = pads
    around = ((top, bottom), (left, right))
    return {"stride": tuple(stride), "padding": around, "dilation": tuple(dilation), "groups": groups}


def _threads(array: Any) -> int | None:
    return torch.get_num_threads() if array.device.type == "cpu" else None


_KERNELS: Final[tuple[tuple[Callable[..., Any], Callable[..., Any]], ...]] = (
    (_conv2d, _conv2d_fake),
    (_backward_data, _gradient_fake),
    (_backward_weight, _gradient_fake),
    (_product, _product_fake),
)
"""Kernel and fake of each schema."""


def _defined() -> dict[str, Any]:
    """Ops by name, once the dispatcher knows them."""
    for schema, (kernel, fake) in zip(_SCHEMAS, _KERNELS, strict=True):
        name = schema.partition("(")[0]
        LIBRARY.define(schema, tags=_TAGS)
        for device in ("CPU", "CUDA"):
            LIBRARY.impl(name, kernel, device)
        torch.library.register_fake(f"imbrex::{name}", fake, lib=LIBRARY)
    names = [schema.partition("(")[0] for schema in _SCHEMAS]
    return {name: getattr(torch.ops.imbrex, name).default for name in names}


OPS: Final = _defined()
"""Overloads by name."""
