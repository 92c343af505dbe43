"""Shapes of an ONNX graph's values: those that onnx infers, and those that the graph computes of shapes.

Law: what follows from sizes that are known is a number.  An exporter states the shape of a view by nodes
(Shape, Gather, Mul, Concat, Reshape), of which onnx's own propagation follows only some: these are run here.
"""

from __future__ import annotations

from importlib import import_module
from math import prod
from typing import Any, Final

import numpy as np

__all__ = ["inferred", "inlined"]

FOLDED: Final = frozenset(
    (
        "Add And Cast Ceil Concat ConstantOfShape Div Equal Expand Floor Gather Greater Identity Less Max "
        "Min Mod Mul Neg Not Or Range ReduceMax ReduceMin ReduceProd ReduceSum Reshape Size Slice Split Sqrt "
        "Squeeze Sub Transpose Unsqueeze Where"
    ).split()
)
"""Ops of which shapes are computed."""
MOST_ELEMENTS: Final = 64
"""Arrays with more are no shapes."""
DATA: Final = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def inlined(model: Any) -> Any:
    """The model with the bodies of its own functions in their places."""
    return import_module("onnx.inliner").inline_local_functions(model) if model.functions else model


def inferred(onnx: Any, model: Any) -> Any:
    """The model with all shapes that follow; of its constants only the small ones have values.

    Its nodes are fewer where they compute constants.
    """
    for constant in model.graph.initializer:
        if prod(constant.dims) > MOST_ELEMENTS:
            for field in DATA:
                constant.ClearField(field)
    _state_pads(onnx, model.graph)
    while True:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        if not _fold(onnx, model):
            return model


def _state_pads(onnx: Any, graph: Any) -> None:
    """Gives convolutions the pads that ONNX says, where onnx's inference of shapes would read others.

    It takes `pads` although `auto_pad` says otherwise; and a transposed convolution's results of SAME, which
    are stride times as large, are so without `output_padding` alone.  These get pads in numbers.
    """
    shapes = _shapes(graph)
    for node in graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        automatic = bytes(attributes.get("auto_pad", b"NOTSET")).decode()
        if automatic == "NOTSET" or node.op_type not in ("Conv", "ConvInteger", "ConvTranspose"):
            continue
        kept = [a for a in node.attribute if a.name != "pads"]
        sizes = attributes.get("kernel_shape") or shapes.get(node.input[1], ())[2:]
        is_same = automatic.startswith("SAME") and node.op_type == "ConvTranspose"
        if sizes and is_same and "output_shape" not in attributes:
            pads = _same_pads(attributes, sizes, automatic)
            kept = [a for a in kept if a.name != "auto_pad"]
            kept.append(onnx.helper.make_attribute("pads", pads))
        del node.attribute[:]
        node.attribute.extend(kept)


def _same_pads(attributes: dict[str, Any], sizes: Any, automatic: str) -> list[int]:
    """Pads of a transposed convolution whose result is stride times as large as what it reads, or larger."""
    ones, zeros = [1] * len(sizes), [0] * len(sizes)
    rows = zip(
        sizes, attributes.get("dilations", ones), attributes.get("output_padding", zeros),
        attributes.get("strides", ones), strict=True,
    )  # fmt: skip
    every = [max(0, d * (f - 1) + 1 + more - s) for f, d, more, s in rows]
    before = [t // 2 if automatic == "SAME_UPPER" else (t + 1) // 2 for t in every]
    return before + [t - b for b, t in zip(before, every, strict=True)]


def _fold(onnx: Any, model: Any) -> bool:
    """Constants for the results of nodes that have only such; were there any?"""
    numpy_helper = onnx.numpy_helper
    known: dict[str, Any] = {
        constant.name: numpy_helper.to_array(constant)
        for constant in model.graph.initializer
        if prod(constant.dims) <= MOST_ELEMENTS and constant.data_location != onnx.TensorProto.EXTERNAL
    }
    shapes = _shapes(model.graph)
    left: list[Any] = []
    for node in model.graph.node:
        found = _results(onnx, model, node, known, shapes)
        if found is None or any(value.size > MOST_ELEMENTS for value in found):
            left.append(node)
            continue
        for name, value in zip(node.output, found, strict=True):
            known[name] = value
            model.graph.initializer.append(numpy_helper.from_array(value, name))
    is_changed = len(left) < len(model.graph.node)
    if is_changed:
        kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in left]
        del model.graph.node[:]
        model.graph.node.extend(kept)
    return is_changed


def _shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    """Shapes of which all sizes are numbers."""
    found = {constant.name: tuple(constant.dims) for constant in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            found[value.name] = tuple(dim.dim_value for dim in tensor.shape.dim)
    return found


def _results(
    onnx: Any, model: Any, node: Any, known: dict[str, Any], shapes: dict[str, tuple[int, ...]]
) -> list[Any] | None:
    """What a node computes, where that is of constants or of a shape that is known."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type == "Shape":
        shape = shapes.get(node.input[0])
        cut = slice(attributes.get("start"), attributes.get("end"))
        return None if shape is None else [np.array(shape[cut], np.int64)]
    if node.op_type == "Constant" and "value" in attributes:
        is_small = prod(attributes["value"].dims) <= MOST_ELEMENTS
        return [onnx.numpy_helper.to_array(attributes["value"])] if is_small else None
    names: list[str] = [name for name in dict.fromkeys(node.input) if name]
    if node.op_type not in FOLDED or not all(name in known for name in names):
        return None
    helper, given = onnx.helper, [onnx.numpy_helper.from_array(known[name], name) for name in names]
    results = [onnx.ValueInfoProto(name=name) for name in node.output]
    alone = helper.make_model(
        helper.make_graph([node], "alone", [], results, given), opset_imports=model.opset_import
    )
    try:
        evaluator: Any = import_module("onnx.reference").ReferenceEvaluator(alone)
        return [np.asarray(value) for value in evaluator.run(None, {})]
    except Exception:  # of an op of a version that it lacks, of sizes that do not fit: the node stays
        return None
