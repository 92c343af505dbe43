"""The ops that torch's dispatcher knows, `torch.ops.imbrex.*`: schema, kernel and fake of each.

    conv2d                    activation(conv(x, w) * scale + bias + residual), scale and bias one a channel
    conv2d_with_sums          the same, and what the activation is applied to, which its gradient needs
    conv2d_backward_data      gradient of a convolution by its images; the transposed convolution
    conv2d_backward_weight    gradient of a convolution by its filters
    product                   activation(alpha * a b + bias + residual), of matrices or batches of them
    product_with_sums         the same, and what the activation is applied to

Law: each is a function of its arguments alone, and launches in torch's current stream, with as many threads
of the CPU as torch uses.  With `fallback` torch's own op answers until the kernel is there (`fallback`).
batches: "any" has one kernel for all numbers of images or of rows (`imbrex.function.batches`).  The three
convolutions and the product are each other's gradients (`gradient`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from imbrex.function import conv, gemm
from imbrex.function.batches import Batches
from imbrex.problem.activation import finished_text
from imbrex.torch import plain
from imbrex.torch.fallback import answered
from imbrex.torch.forward_mode import refusing
from imbrex.torch.lying import images, matrices, spans

__all__ = ["KERNELS", "LIBRARY", "OPS"]

torch: Any = import_module("torch")

LIBRARY: Final[Any] = torch.library.Library("imbrex", "DEF")
_TAGS: Final = (
    torch.Tag.pt2_compliant_tag,
    getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order),
)
_MOVES: Final = "int[2] stride, int[4] pads, int[2] dilation, int groups"
_BATCHES: Final = "bool fallback, str batches='each'"
_MORE: Final = "Tensor? bias, Tensor? residual"
_CONVOLVED: Final = f"Tensor x, Tensor w, Tensor? scale, {_MORE}, {_MOVES}, str activation, {_BATCHES}"
_MULTIPLIED: Final = f"Tensor a, Tensor b, {_MORE}, float alpha, str activation, {_BATCHES}"
_SCHEMAS: Final = (
    f"conv2d({_CONVOLVED}) -> Tensor",
    f"conv2d_with_sums({_CONVOLVED}) -> (Tensor, Tensor)",
    f"conv2d_backward_data(Tensor dy, Tensor w, SymInt[4] input_shape, {_MOVES}, {_BATCHES}) -> Tensor",
    f"conv2d_backward_weight(Tensor dy, Tensor x, SymInt[4] filter_shape, {_MOVES}, {_BATCHES}) -> Tensor",
    f"product({_MULTIPLIED}) -> Tensor",
    f"product_with_sums({_MULTIPLIED}) -> (Tensor, Tensor)",
)


def _convolved(keeps: bool) -> Callable[..., Any]:
    """The kernel of a convolution; keeps: with its sums."""

    def computed(
        x: Any,
        w: Any,
        scale: Any,
        bias: Any,
        residual: Any,
        stride: Sequence[int],
        pads: Sequence[int],
        dilation: Sequence[int],
        groups: int,
        activation: str,
        fallback: bool,
        batches: Batches = "each",
    ) -> Any:
        moves = plain.Moves(stride, pads, dilation, groups)
        out = (_two_of(_conv2d_fake) if keeps else _conv2d_fake)(x, w, scale, bias, residual, *moves)

        def ours() -> Any:
            has = scale is not None, bias is not None, residual is not None
            return conv.conv2d(
                x, w, **_moves(moves), bias=bias, residual=residual,
                scales=None if scale is None else {"channel_scale": scale}, out=out, threads=_threads(x),
                batches=batches, epilogue=finished_text(activation, *has, keeps),
            )  # fmt: skip

        def theirs() -> Any:
            return plain.conv2d(x, w, scale, bias, residual, moves, activation, keeps)

        return answered(ours, theirs, out) if fallback else ours()

    return computed


def _conv2d_fake(
    x: Any,
    w: Any,
    scale: Any,
    bias: Any,
    residual: Any,
    stride: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
    *options: object,
) -> Any:
    del scale, bias, residual, options
    shape = (x.shape[0], w.shape[0], *spans(x.shape[2:], w.shape[2:], stride, pads, dilation))
    return images(shape, x, w)


def _two_of(fake: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """The fake of an op that gives its sums, too, which lie as its result does."""
    return lambda *given: (fake(*given), fake(*given))


def _gradient(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient of a convolution, by a function of ours and one of torch's."""

    def computed(
        one: Any,
        other: Any,
        shape: Sequence[int],
        stride: Sequence[int],
        pads: Sequence[int],
        dilation: Sequence[int],
        groups: int,
        fallback: bool,
        batches: Batches = "each",
    ) -> Any:
        moves = plain.Moves(stride, pads, dilation, groups)
        out = images(shape, one, other)

        def kernel() -> Any:
            made = {"out": out, "threads": _threads(one), "batches": batches}
            return ours(one, other, tuple(shape), **_moves(moves), **made)

        return answered(kernel, lambda: theirs(one, other, shape, moves), out) if fallback else kernel()

    return computed


def _gradient_fake(one: Any, other: Any, shape: Sequence[int], *options: object) -> Any:
    del options
    return images(shape, one, other)


def _multiplied(keeps: bool) -> Callable[..., Any]:
    """The kernel of a product; keeps: with its sums."""

    def computed(
        a: Any,
        b: Any,
        bias: Any,
        residual: Any,
        alpha: float,
        activation: str,
        fallback: bool,
        batches: Batches = "each",
    ) -> Any:
        out = (matrices(a, b), matrices(a, b)) if keeps else matrices(a, b)

        def ours() -> Any:
            after = finished_text(activation, False, bias is not None, residual is not None, keeps)
            return gemm.gemm(
                a, b, alpha=alpha, epilogue=after, bias=bias, residual=residual, out=out,
                threads=_threads(a), batches=batches,
            )  # fmt: skip

        def theirs() -> Any:
            return plain.product(a, b, bias, residual, alpha, activation, keeps)

        return answered(ours, theirs, out) if fallback else ours()

    return computed


def _product_fake(a: Any, b: Any, *options: object) -> Any:
    del options
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"a {a.shape} and b {b.shape} do not fit")
    return matrices(a, b)


def _moves(moves: plain.Moves) -> dict[str, Any]:
    """Keywords as our functions take them, fit to be the key of a plan."""
    top, bottom, left, right = moves.pads
    around, groups = ((top, bottom), (left, right)), moves.groups
    return {
        "stride": tuple(moves.stride),
        "padding": around,
        "dilation": tuple(moves.dilation),
        "groups": groups,
    }


def _threads(array: Any) -> int | None:
    return torch.get_num_threads() if array.device.type == "cpu" else None


_KERNELS: Final[tuple[tuple[Callable[..., Any], Callable[..., Any]], ...]] = (
    (_convolved(keeps=False), _conv2d_fake),
    (_convolved(keeps=True), _two_of(_conv2d_fake)),
    (_gradient(conv.conv2d_backward_data, plain.conv2d_backward_data), _gradient_fake),
    (_gradient(conv.conv2d_backward_weight, plain.conv2d_backward_weight), _gradient_fake),
    (_multiplied(keeps=False), _product_fake),
    (_multiplied(keeps=True), _two_of(_product_fake)),
)
"""Kernel and fake of each schema."""


def _defined() -> dict[str, Any]:
    """Ops by name, once the dispatcher knows them."""
    for schema, (kernel, fake) in zip(_SCHEMAS, _KERNELS, strict=True):
        name = schema.partition("(")[0]
        LIBRARY.define(schema, tags=_TAGS)
        for device in ("CPU", "CUDA"):
            LIBRARY.impl(name, refusing(name, kernel), device)
        torch.library.register_fake(f"imbrex::{name}", fake, lib=LIBRARY)
    names = [schema.partition("(")[0] for schema in _SCHEMAS]
    return {name: getattr(torch.ops.imbrex, name).default for name in names}


OPS: Final = _defined()
"""Overloads by name."""
KERNELS: Final[Mapping[str, Callable[..., Any]]] = {
    name: kernel for name, (kernel, _) in zip(OPS, _KERNELS, strict=True)
}
"""What they call on a CPU or a GPU, by name."""
