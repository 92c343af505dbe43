"""Functions of tensors, with the arguments of `torch.nn.functional`'s, an activation and a residual beside.

Law: activation(f(...) * scale + bias + residual), in one kernel, which stores the sums, too, where a gradient
needs them.  fallback: while a kernel is not there, torch's own op
answers, and the kernel is compiled in the background; else the call waits for it.  batches: "each", a kernel
for each number of images or of rows, or "any", one for all (`imbrex.function.batches`); unless it is said,
"any" in graphs of torch.compile and torch.export, and "each" elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias

from imbrex.function.batches import Batches
from imbrex.torch.activation import activation as row_of
from imbrex.torch.activation import finished
from imbrex.torch.direct import direct
from imbrex.torch.lying import spans
from imbrex.torch.ops import KERNELS, OPS

__all__ = ["addmm", "bmm", "conv2d", "conv2d_shape", "conv_transpose2d", "linear", "mm"]

torch: Any = import_module("torch")
_conv2d = direct(OPS["conv2d"], KERNELS["conv2d"], tensors=5)
_product = direct(OPS["product"], KERNELS["product"], tensors=4)
_data = OPS["conv2d_backward_data"]
_conv2d_with_sums, _product_with_sums = OPS["conv2d_with_sums"], OPS["product_with_sums"]

Pair: TypeAlias = "int | Sequence[int]"


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
    *,
    activation: str | None = None,
    residual: Any = None,
    scale: Any = None,
    fallback: bool = False,
    batches: Batches | None = None,
) -> Any:
    """torch.nn.functional.conv2d.  residual: of the result's shape.  scale: of channels, f32 or f64."""
    if input.dim() == 3:
        more = None if residual is None else residual.unsqueeze(0)
        of_one = (bias, stride, padding, dilation, groups)
        return conv2d(
            input.unsqueeze(0), weight, *of_one, activation=activation, residual=more, scale=scale,
            fallback=fallback, batches=batches,
        ).squeeze(0)  # fmt: skip
    _expect_rank(4, input=input, weight=weight)
    moves = _two(stride), _pads(padding, weight, _two(stride), _two(dilation)), _two(dilation), groups
    given, kernels = (input, weight, scale, bias, residual), _kernels(fallback, batches)
    fused, after, keeps = _split(activation, given)
    if keeps:
        return _conv2d_with_sums(*given, *moves, fused, *kernels)[0]
    return finished(_conv2d(*given, *moves, fused, *kernels), None, after)


def conv2d_shape(
    input: Any, weight: Any, stride: Pair, padding: Pair | str, dilation: Pair
) -> tuple[int, ...]:
    """The shape of that convolution of a batch."""
    steps, apart = _two(stride), _two(dilation)
    pads = _pads(padding, weight, steps, apart)
    return (input.shape[0], weight.shape[0], *spans(input.shape[2:], weight.shape[2:], steps, pads, apart))


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Pair = 1,
    padding: Pair = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
    *,
    activation: str | None = None,
    residual: Any = None,
    fallback: bool = False,
) -> Any:
    """torch.nn.functional.conv_transpose2d; what is added, and the activation, are torch's."""
    if input.dim() == 3:
        more = None if residual is None else residual.unsqueeze(0)
        of_one = (bias, stride, padding, output_padding, groups, dilation)
        return conv_transpose2d(
            input.unsqueeze(0), weight, *of_one, activation=activation, residual=more, fallback=fallback
        ).squeeze(0)  # fmt: skip
    _expect_rank(4, input=input, weight=weight)
    steps, pads, apart = _two(stride), _two(padding), _two(dilation)
    further = _two(output_padding)
    if any(more >= max(s, d) for more, s, d in zip(further, steps, apart, strict=True)):
        raise ValueError(f"'output_padding' {further} should be below stride {steps} or dilation {apart}")
    sizes = [
        (size - 1) * s - 2 * pad + d * (y - 1) + more + 1
        for size, y, s, pad, d, more in zip(
            input.shape[2:], weight.shape[2:], steps, pads, apart, further, strict=True
        )
    ]
    shape = [input.shape[0], weight.shape[1] * groups, *sizes]
    around = [pads[0], pads[0], pads[1], pads[1]]
    result = _data(input, weight, shape, steps, around, apart, groups, fallback)
    if bias is not None:
        result = result + bias.to(result.dtype).reshape(-1, 1, 1)
    if residual is not None:
        result = result + residual.to(result.dtype)
    return finished(result, None, activation or "")


def linear(
    input: Any,
    weight: Any,
    bias: Any = None,
    *,
    activation: str | None = None,
    residual: Any = None,
    fallback: bool = False,
    batches: Batches | None = None,
) -> Any:
    """torch.nn.functional.linear, of an input of any rank.  residual: of the result's shape."""
    _expect_rank(2, weight=weight)
    rows = input.reshape(-1, input.shape[-1])
    more = None if residual is None else residual.reshape(-1, residual.shape[-1])
    result = _multiplied(rows, weight.mT, bias, more, 1.0, activation, _kernels(fallback, batches))
    return result.reshape(*input.shape[:-1], weight.shape[0])


def mm(
    input: Any,
    mat2: Any,
    *,
    bias: Any = None,
    activation: str | None = None,
    residual: Any = None,
    fallback: bool = False,
    batches: Batches | None = None,
) -> Any:
    """torch.mm.  bias: one a column.  residual: of the result's shape."""
    _expect_rank(2, input=input, mat2=mat2)
    return _multiplied(input, mat2, bias, residual, 1.0, activation, _kernels(fallback, batches))


def bmm(
    input: Any,
    mat2: Any,
    *,
    bias: Any = None,
    activation: str | None = None,
    residual: Any = None,
    fallback: bool = False,
) -> Any:
    """torch.bmm.  bias: one a column, of all matrices.  residual: of the result's shape."""
    _expect_rank(3, input=input, mat2=mat2)
    return _multiplied(input, mat2, bias, residual, 1.0, activation, (fallback, "each"))


def addmm(
    input: Any,
    mat1: Any,
    mat2: Any,
    *,
    beta: float = 1,
    alpha: float = 1,
    activation: str | None = None,
    fallback: bool = False,
    batches: Batches | None = None,
) -> Any:
    """torch.addmm: beta * input + alpha * mat1 mat2; without `input`'s numbers where beta is 0."""
    _expect_rank(2, mat1=mat1, mat2=mat2)
    columns, words = mat2.shape[1], (float(alpha), activation, _kernels(fallback, batches))
    if beta == 0:
        return _multiplied(mat1, mat2, None, None, *words)
    added = input if beta == 1 else beta * input
    if added.dim() == 1 and added.shape[0] == columns:
        return _multiplied(mat1, mat2, added, None, *words)
    return _multiplied(mat1, mat2, None, added.expand(mat1.shape[0], columns), *words)


def _multiplied(
    a: Any,
    b: Any,
    bias: Any,
    residual: Any,
    alpha: float,
    activation: str | None,
    kernels: tuple[bool, Batches],
) -> Any:
    """kernels: fallback and batches."""
    fused, after, keeps = _split(activation, (a, b, bias, residual))
    if keeps:
        return _product_with_sums(a, b, bias, residual, alpha, fused, *kernels)[0]
    return finished(_product(a, b, bias, residual, alpha, fused, *kernels), None, after)


def _kernels(fallback: bool, batches: Batches | None) -> tuple[bool, Batches]:
    """Which kernels answer; where `batches` is not said, a graph meets other numbers without a new trace."""
    return fallback, batches or ("any" if torch.compiler.is_compiling() else "each")


def _split(activation: str | None, tensors: tuple[Any, ...]) -> tuple[str, str, bool]:
    """The activation that the kernel applies, and the one that torch does; "" of none.  Does a gradient need
    the sums?
    """
    if activation is None:
        return "", "", False
    row = row_of(activation)
    if not row.fuses(tensors[0].dtype):
        return "", activation, False
    is_followed = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
    return activation, "", is_followed and not row.of_result


def _expect_rank(rank: int, **tensors: Any) -> None:
    for name, tensor in tensors.items():
        if tensor.dim() != rank:
            raise ValueError(f"'{name}' should have {rank} dimensions, got {tensor.dim()}")


def _two(value: Pair) -> tuple[int, ...]:
    if isinstance(value, tuple) and len(value) == 2:
        return value
    if isinstance(value, int):
        return (value, value)
    found = tuple(value)
    return found * 2 if len(found) == 1 else found


def _pads(
    padding: Pair | str, weight: Any, stride: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[int, ...]:
    """Top, bottom, left, right; of "same" the odd one comes after."""
    if not isinstance(padding, str):
        height, width = _two(padding)
        return (height, height, width, width)
    if padding == "valid":
        return (0, 0, 0, 0)
    if padding != "same":
        raise ValueError(f"'padding' should be numbers, 'same' or 'valid', got '{padding}'")
    if stride != (1, 1):
        raise ValueError(f"padding 'same' needs a stride of 1, got {stride}")
    total = [d * (size - 1) for d, size in zip(dilation, weight.shape[2:], strict=True)]
    return (total[0] // 2, total[0] - total[0] // 2, total[1] // 2, total[1] - total[1] // 2)
