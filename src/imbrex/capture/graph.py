"""Nodes of an ONNX file: convolutions and products, by the shapes that onnx infers.

Law: sizes that the file leaves open have to be given by name; a node whose shapes are not known is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from shlex import quote
from typing import Any, Final, TypeAlias

from imbrex.capture.layer import Conv, product
from imbrex.capture.open_size import OpenSize
from imbrex.capture.shapes import inferred, inlined
from imbrex.capture.tally import Tally
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import I8
from imbrex.problem import Conv2d, Problem

__all__ = ["captured"]

UNSUPPORTED: Final = {
    "Attention": "no problem states it", "Einsum": "no problem states it", "LSTM": "no problem states it",
    "GRU": "no problem states it", "RNN": "no problem states it", "DeformConv": "no problem states it",
    "QLinearConv": "zero points are not supported", "QLinearMatMul": "zero points are not supported",
    "If": "its body runs as often as the data says", "Loop": "its body runs as often as the data says",
    "Scan": "its body runs as often as the data says",
}  # fmt: skip


@dataclass(frozen=True)
class Values:
    """Shapes and types of a graph's values; a dimension that is not known is its name.

    open_sizes: names of those that the file leaves open; others are of what onnx could not infer.
    """

    shapes: Mapping[str, tuple[int | str, ...]]
    types: Mapping[str, str]
    open_sizes: frozenset[str]

    def shape(self, name: str) -> tuple[int, ...]:
        """A Diagnostic where it is not known."""
        if name not in self.shapes:
            raise Diagnostic(f"the shape of '{name}' is not known")
        found = self.shapes[name]
        for position, size in enumerate(found):
            if isinstance(size, str) and size in self.open_sizes:
                option = f"--size {quote(size + '=N')}"
                raise Diagnostic(f"the size '{size}' of '{name}' is not known; give it with {option}")
            if isinstance(size, str):
                message = f"size {position} of '{name}' does not follow from sizes that are known"
                raise Diagnostic(message)
        return tuple(size for size in found if not isinstance(size, str))


def captured(file: Path, sizes: Mapping[str, int], left_open: OpenSize | None = None) -> Tally:
    """The problems of a graph.  sizes: of the dimensions that it leaves open, by name.  left_open: the one
    that problems leave open, too.
    """
    if find_spec("onnx") is None:
        raise Diagnostic("reading an ONNX file needs the package onnx", hint="pip install 'imbrex[onnx]'")
    onnx: Any = import_module("onnx")
    try:
        model = inlined(onnx.load(str(file), load_external_data=False))
        given = [dict(sizes)]
        if left_open is not None:
            given = [{**sizes, left_open.name: number} for number in left_open.numbers]
        read = [_read(onnx, model, of) for of in given]
    except OSError as error:
        raise Diagnostic(f"cannot read '{file}': {(error.strerror or str(error)).lower()}") from None
    except Diagnostic:
        raise
    except Exception as error:  # onnx's own, protobuf's
        raise Diagnostic(f"'{file}' is no model of ONNX that can be read: {error}") from error
    tally = Tally()
    nodes, every = read[0][0], [values for _, values in read]
    for node in nodes:
        _note(tally, onnx, node, every, left_open)
    return tally


def _read(onnx: Any, model: Any, sizes: Mapping[str, int]) -> tuple[Sequence[Any], Values]:
    """The nodes, with the pads that count, and what is known of values where sizes are these numbers."""
    bound = onnx.ModelProto.FromString(model.SerializeToString())
    open_sizes = _bind(bound.graph, sizes)
    values = _values(onnx, inferred(onnx, bound).graph, open_sizes)
    return bound.graph.node, values


def _bind(graph: Any, sizes: Mapping[str, int]) -> frozenset[str]:
    """Numbers for names of dimensions, and the names that are left; a Diagnostic for one that there is not.

    An input's dimension that has no name in the file is INPUT.POSITION.
    """
    for value in graph.input:
        for position, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.dim_param and not dim.HasField("dim_value"):
                dim.dim_param = f"{value.name}.{position}"
    open_sizes = [
        dim for value in (*graph.input, *graph.value_info, *graph.output)
        for dim in value.type.tensor_type.shape.dim if dim.dim_param
    ]  # fmt: skip
    names = dict.fromkeys(dim.dim_param for dim in open_sizes)
    for name in sizes:
        if name not in names:
            hint = did_you_mean(name, names) or f"it leaves open {', '.join(names) or 'none'}"
            raise Diagnostic(f"the graph has no size '{name}'", hint=hint)
    for dim in open_sizes:
        if dim.dim_param in sizes:
            dim.dim_value = sizes[dim.dim_param]
    return frozenset(names.keys() - sizes.keys())


def _values(onnx: Any, graph: Any, open_sizes: frozenset[str]) -> Values:
    shapes: dict[str, tuple[int | str, ...]] = {}
    types: dict[str, str] = {}
    named = onnx.helper.tensor_dtype_to_np_dtype
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if tensor.elem_type and tensor.HasField("shape"):
            shapes[value.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
                for dim in tensor.shape.dim
            )
            types[value.name] = named(tensor.elem_type).name
    for constant in graph.initializer:
        shapes[constant.name], types[constant.name] = tuple(constant.dims), named(constant.data_type).name
    return Values(shapes, types, open_sizes)


def _note(tally: Tally, onnx: Any, node: Any, every: Sequence[Values], left_open: OpenSize | None) -> None:
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    reader = READERS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if reader is not None:

        def stated() -> list[Problem]:
            found = [reader(list(node.input), node.output[0], attributes, values) for values in every]
            return found if left_open is None else [left_open.problem(found)]

        tally.add(node.op_type, stated)
    elif node.op_type in UNSUPPORTED:
        tally.leave(node.op_type, UNSUPPORTED[node.op_type])
    elif node.domain not in ("", "ai.onnx"):
        tally.leave(node.op_type, f"ops of the domain '{node.domain}' are not known")
    else:
        tally.pass_by(node.op_type)


def _conv(names: list[str], out: str, attributes: Mapping[str, Any], values: Values) -> Problem:
    x, w, y = values.shape(names[0]), values.shape(names[1]), values.shape(out)
    after = "x + bias" if len(names) > 2 and names[2] else None
    problem = Conv(x, w, *_moves(x, w, y, attributes), values.types[names[0]]).problem("forward", after)
    return _meeting(problem, y)


def _conv_transpose(names: list[str], out: str, attributes: Mapping[str, Any], values: Values) -> Problem:
    """The gradient by the images of the convolution that reads what this one writes.

    Rows that `output_padding` adds lie behind all windows: the convolution skips them as what its stride
    leaves over, but for whole strides, by which its pads behind are smaller.
    """
    x, w = values.shape(names[0]), values.shape(names[1])
    stated = attributes.get("output_shape")
    groups = int(attributes.get("group", 1))
    y = values.shape(out) if stated is None else (x[0], w[1] * groups, *stated[2 - len(x) :])
    added = tuple(attributes.get("output_padding", [0] * len(x[2:])))
    stride, pads, dilation, groups = _moves(y, w, x, attributes, added)
    pads = tuple(
        (before, behind - more // s * s)
        for (before, behind), more, s in zip(pads, added, stride, strict=True)
    )
    if any(behind < 0 for _, behind in pads):
        raise Diagnostic("'output_padding' adds rows that no window reaches, which no problem states")
    conv = Conv(y, w, stride, pads, dilation, groups, values.types[names[0]])
    return _meeting(conv.problem("backward_data"), x)


def _meeting(problem: Conv2d, shape: tuple[int, ...]) -> Conv2d:
    """The problem, whose result has the shape of the graph's; a Diagnostic where it does not."""
    found = (problem.n, problem.k, *(problem.ho, problem.wo)[4 - len(shape) :])
    if found != shape:
        message = f"pads and strides make results of {found}, and the graph says {shape}"
        raise Diagnostic(message)
    return problem


def _moves(
    x: tuple[int, ...],
    w: tuple[int, ...],
    y: tuple[int, ...],
    attributes: Mapping[str, Any],
    added: Sequence[int] | None = None,
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], tuple[int, ...], int]:
    """Stride, pads, dilation and groups of a convolution that reads x and writes y.

    added: rows of x, one number a dimension, that are no window's, which ONNX counts among its pads.
    """
    rank = len(x) - 2
    stride = tuple(attributes.get("strides", [1] * rank))
    dilation = tuple(attributes.get("dilations", [1] * rank))
    given = list(attributes.get("pads", [0] * 2 * rank))
    pads = tuple(zip(given[:rank], given[rank:], strict=True))
    automatic = bytes(attributes.get("auto_pad", b"NOTSET")).decode()
    if automatic.startswith("SAME") or "output_shape" in attributes:
        rows = zip(x[2:], y[2:], w[2:], stride, dilation, added or (0,) * rank, strict=True)
        every = [max(0, (ys - 1) * s + d * (f - 1) + 1 + more - xs) for xs, ys, f, s, d, more in rows]
        is_upper = automatic == "SAME_UPPER"  # else the odd one comes before (ONNX)
        before = [t // 2 if is_upper else (t + 1) // 2 for t in every]
        pads = tuple((b, t - b) for b, t in zip(before, every, strict=True))
    return stride, pads, dilation, int(attributes.get("group", 1))


def _gemm(names: list[str], out: str, attributes: Mapping[str, Any], values: Values) -> Problem:
    turned = bool(attributes.get("transA", 0)), bool(attributes.get("transB", 0))
    a, b = (
        shape[::-1] if is_turned else shape
        for shape, is_turned in zip((values.shape(names[0]), values.shape(names[1])), turned, strict=True)
    )
    after = None
    if len(names) > 2 and names[2] and (beta := float(attributes.get("beta", 1.0))):
        added = values.shape(names[2])
        is_row = added in ((b[-1],), (1, b[-1])) or prod(added) == 1
        word = "bias" if is_row else "residual"
        after = f"x + {word}" if beta == 1.0 else f"x + {word} * {beta!r}"
    return product(
        a, b, values.types[names[0]], transpose_a=turned[0], transpose_b=turned[1],
        alpha=float(attributes.get("alpha", 1.0)), epilogue=after,
    )  # fmt: skip


def _matmul(names: list[str], out: str, attributes: Mapping[str, Any], values: Values) -> Problem:
    return product(values.shape(names[0]), values.shape(names[1]), values.types[names[0]])


Reader: TypeAlias = Callable[[list[str], str, Mapping[str, Any], Values], Problem]
"""Names of a node's inputs, that of its result, attributes, and what is known of values."""


def _of_integers(read: Reader) -> Reader:
    """The reader of the op of int8 by int8 into int32; zero points follow the two arrays."""

    def reader(names: list[str], out: str, attributes: Mapping[str, Any], values: Values) -> Problem:
        if any(names[2:]):
            raise Diagnostic("zero points are not supported")
        for name in names[:2]:
            if (found := values.types.get(name, I8.numpy.name)) != I8.numpy.name:
                raise Diagnostic(f"'{name}' is of {found}, and kernels multiply int8")
        return read(names[:2], out, attributes, values)

    return reader


READERS: Final[Mapping[str, Reader]] = {
    "Conv": _conv, "ConvTranspose": _conv_transpose, "Gemm": _gemm, "MatMul": _matmul,
    "ConvInteger": _of_integers(_conv), "MatMulInteger": _of_integers(_matmul),
}  # fmt: skip
