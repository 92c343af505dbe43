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
from typing import Any

from imbrex.function.batches import Batches
from imbrex.numeral import counted
from imbrex.torch.activation import activation as row_of
from imbrex.torch.activation import finished, fuses
from imbrex.torch.arguments import (
    Pair,
    expect_broadcast,
    expect_factors,
    expect_fit,
    expect_further,
    expect_product,
    expect_rank,
    expect_tensors,
    kernels,
    number,
    pads,
    pair,
    whole,
)
from imbrex.torch.lying import spans
from imbrex.torch.transform import op_of

__all__ = ["addmm", "bmm", "conv2d", "conv2d_shape", "conv_transpose2d", "linear", "mm"]

torch: Any = import_module("torch")
_conv2d, _product, _data = op_of("conv2d"), op_of("product"), op_of("conv2d_backward_data")
_conv2d_with_sums, _product_with_sums = op_of("conv2d_with_sums"), op_of("product_with_sums")


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
    expect_factors("input", input, "weight", weight)
    expect_further(input, bias=bias, residual=residual, scale=scale)
    if input.dim() == 3:
        more = None if residual is None else residual.unsqueeze(0)
        of_one = (bias, stride, padding, dilation, groups)
        return conv2d(
            input.unsqueeze(0), weight, *of_one, activation=activation, residual=more, scale=scale,
            fallback=fallback, batches=batches,
        ).squeeze(0)  # fmt: skip
    expect_rank(4, "input", input)
    expect_rank(4, "weight", weight)
    steps, apart = pair("stride", stride, 1), pair("dilation", dilation, 1)
    moves = steps, pads(padding, weight, steps, apart), apart, whole("groups", groups, 1)
    if input.shape[1] != weight.shape[1] * groups:
        each = f"{counted(weight.shape[1], 'channel')} in each of {counted(groups, 'group')}"
        raise ValueError(f"'weight' of shape {tuple(weight.shape)} has {each}, and 'input' {input.shape[1]}")
    given, answering = (input, weight, scale, bias, residual), kernels(fallback, batches)
    fused, after, keeps = _split(activation, given)
    if keeps:
        return _conv2d_with_sums(*given, *moves, fused, *answering)[0]
    return finished(_conv2d(*given, *moves, fused, *answering), None, after)


def conv2d_shape(
    input: Any, weight: Any, stride: Pair, padding: Pair | str, dilation: Pair
) -> tuple[int, ...]:
    """The shape of that convolution of a batch."""
    steps, apart = pair("stride", stride, 1), pair("dilation", dilation, 1)
    around = pads(padding, weight, steps, apart)
    return (input.shape[0], weight.shape[0], *spans(input.shape[2:], weight.shape[2:], steps, around, apart))


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
    batches: Batches | None = None,
) -> Any:
    """torch.nn.functional.conv_transpose2d; what is added, and the activation, are torch's."""
    expect_factors("input", input, "weight", weight)
    expect_further(input, bias=bias, residual=residual)
    if input.dim() == 3:
        more = None if residual is None else residual.unsqueeze(0)
        of_one = (bias, stride, padding, output_padding, groups, dilation)
        return conv_transpose2d(
            input.unsqueeze(0), weight, *of_one, activation=activation, residual=more, fallback=fallback,
            batches=batches,
        ).squeeze(0)  # fmt: skip
    expect_rank(4, "input", input)
    expect_rank(4, "weight", weight)
    if activation is not None:
        row_of(activation)
    steps, around, apart = (
        pair("stride", stride, 1),
        pair("padding", padding, 0),
        pair("dilation", dilation, 1),
    )
    moves = steps, around, apart, pair("output_padding", output_padding, 0)
    shape = _transposed_shape(input, weight, moves, whole("groups", groups, 1))
    expect_fit("bias", bias, shape[1:2])
    expect_fit("residual", residual, shape)
    result = _transposed(input, weight, moves, groups, shape, kernels(fallback, batches))
    if bias is not None:
        result = result + bias.to(result.dtype).reshape(-1, 1, 1)
    if residual is not None:
        result = result + residual.to(result.dtype)
    return finished(result, None, activation or "")


def _transposed(
    input: Any,
    weight: Any,
    moves: Sequence[Sequence[int]],
    groups: int,
    shape: Sequence[int],
    answering: tuple[bool, Batches],
) -> Any:
    """That transposed convolution.  It is the gradient of one by images of `shape`, unless output padding is
    a stride or more: then that has more windows than `input`, and what no padding cuts is cut, and widened.
    """
    steps, around, apart, further = moves
    if all(more < step for more, step in zip(further, steps, strict=True)):
        both = [around[0], around[0], around[1], around[1]]
        return _data(input, weight, shape, steps, both, apart, groups, *answering)
    none = (0, 0)
    whole_shape = _transposed_shape(input, weight, (steps, none, apart, none), groups)
    found = _data(input, weight, whole_shape, steps, [0, 0, 0, 0], apart, groups, *answering)
    (top, left), (more_rows, more_columns) = around, further
    return torch.nn.functional.pad(found, (-left, more_columns - left, -top, more_rows - top))


def _transposed_shape(input: Any, weight: Any, moves: Sequence[Sequence[int]], groups: int) -> list[int]:
    """The shape of that transposed convolution's result; ValueError where there is none.

    moves: strides, padding, dilations and output padding, each along height and width.
    """
    steps, around, apart, further = moves
    if input.shape[1] != weight.shape[0]:
        shapes = f"'weight' of shape {tuple(weight.shape)} takes {counted(weight.shape[0], 'channel')}"
        raise ValueError(f"{shapes}, and 'input' has {input.shape[1]}")
    if any(more >= max(s, d) for more, s, d in zip(further, steps, apart, strict=True)):
        raise ValueError(f"'output_padding' {further} should be below stride {steps} or dilation {apart}")
    rows = zip(input.shape[2:], weight.shape[2:], *moves, strict=True)
    sizes = [(size - 1) * s - 2 * pad + d * (y - 1) + more + 1 for size, y, s, pad, d, more in rows]
    if min(sizes) < 1:
        message = f"padding {around} leaves nothing of a result of {tuple(input.shape[2:])}"
        raise ValueError(f"{message}: its height and width would be {tuple(sizes)}")
    return [input.shape[0], weight.shape[1] * groups, *sizes]


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
    expect_factors("input", input, "weight", weight)
    expect_further(input, bias=bias, residual=residual)
    expect_rank(2, "weight", weight)
    if input.dim() == 0 or input.shape[-1] != weight.shape[1]:
        message = (
            f"'input' of shape {tuple(input.shape)} does not end in the {counted(weight.shape[1], 'column')}"
        )
        raise ValueError(f"{message} of 'weight' {tuple(weight.shape)}")
    expect_fit("residual", residual, (*input.shape[:-1], weight.shape[0]))
    more = None if residual is None else _rows(residual)
    matrices = _rows(input), weight.mT, bias, more
    result = _multiplied(matrices, 1.0, activation, kernels(fallback, batches))
    return result.reshape(*input.shape[:-1], weight.shape[0])


def _rows(of: Any) -> Any:
    """A tensor of any rank as the matrix of its rows, which may be of no elements."""
    return of.flatten(0, -2) if of.dim() > 1 else of.unsqueeze(0)


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
    _expect_matrices(2, input, mat2, bias, residual)
    return _multiplied((input, mat2, bias, residual), 1.0, activation, kernels(fallback, batches))


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
    _expect_matrices(3, input, mat2, bias, residual)
    answering: tuple[bool, Batches] = kernels(fallback, None)[0], "each"
    return _multiplied((input, mat2, bias, residual), 1.0, activation, answering)


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
    expect_factors("mat1", mat1, "mat2", mat2)
    expect_rank(2, "mat1", mat1)
    expect_rank(2, "mat2", mat2)
    expect_product("mat1", mat1, "mat2", mat2)
    columns = mat2.shape[1]
    options = number("alpha", alpha), activation, kernels(fallback, batches)
    factor = number("beta", beta)
    if factor == 0:
        return _multiplied((mat1, mat2, None, None), *options)
    expect_tensors("mat1", mat1, "input", input)
    expect_broadcast("input", input, (mat1.shape[0], columns))
    if not input.is_floating_point():
        factor = whole("beta", beta, -(2**31))
    added = input if factor == 1 else factor * input
    if added.dim() == 1 and added.shape[0] == columns:
        return _multiplied((mat1, mat2, added, None), *options)
    return _multiplied((mat1, mat2, None, added.expand(mat1.shape[0], columns)), *options)


def _expect_matrices(rank: int, input: Any, mat2: Any, bias: Any, residual: Any) -> None:
    expect_factors("input", input, "mat2", mat2)
    expect_further(input, bias=bias, residual=residual)
    expect_rank(rank, "input", input)
    expect_rank(rank, "mat2", mat2)
    expect_product("input", input, "mat2", mat2)


def _multiplied(
    given: tuple[Any, Any, Any, Any], alpha: float, activation: str | None, kernels: tuple[bool, Batches]
) -> Any:
    """given: a, b, bias and residual.  kernels: fallback and batches."""
    fused, after, keeps = _split(activation, given)
    if keeps:
        return _product_with_sums(*given, alpha, fused, *kernels)[0]
    return finished(_product(*given, alpha, fused, *kernels), None, after)


def _split(activation: str | None, tensors: tuple[Any, ...]) -> tuple[str, str, bool]:
    """The activation that the kernel applies, and the one that torch does; "" of none.  Does a gradient need
    the sums?
    """
    if activation is None:
        return "", "", False
    row = row_of(activation)
    if not fuses(activation, tensors[0].dtype):
        return "", activation, False
    is_followed = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
    return activation, "", is_followed and not row.of_result
