"""Pads of transposed convolutions in files of ONNX: the problem computes what ONNX defines.

Each case is computed twice, on whole numbers: by the definition, taps that are added at stride * i + dilation
* tap - pad into a result whose size ONNX states, and by the problem that is captured.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")

from imbrex.capture.graph import captured  # noqa: E402
from imbrex.problem import Conv2d, parse_problem  # noqa: E402

H: Any = onnx.helper
FLOAT = onnx.TensorProto.FLOAT
Array = NDArray[np.float64]


def model(path: Path, op: str, shapes: dict[str, Any], **attributes: Any) -> Path:
    """A file of one node that reads arrays of these shapes."""
    given = [H.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items()]
    node = H.make_node(op, list(shapes), ["y"], **attributes)
    graph = H.make_graph([node], "net", given, [H.make_tensor_value_info("y", FLOAT, None)])
    onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 19)]), str(path))
    return path


def scattered(
    x: Array, w: Array, size: list[int], before: list[int], stride: list[int], dilation: list[int]
) -> Array:
    """What is added of images x by filters w, at places counted from the pads before."""
    room = [40, 40]
    found = np.zeros((x.shape[0], w.shape[1], 2 * room[0], 2 * room[1]))
    for i, j, r, q in np.ndindex(*x.shape[2:], *w.shape[2:]):
        row = room[0] + i * stride[0] + r * dilation[0] - before[0]
        column = room[1] + j * stride[1] + q * dilation[1] - before[1]
        found[:, :, row, column] += x[:, :, i, j] @ w[:, :, r, q]
    return found[:, :, room[0] : room[0] + size[0], room[1] : room[1] + size[1]]


def stated(case: Random) -> tuple[dict[str, Any], list[int], list[int], list[int], list[int]]:
    """Attributes of a node, sizes of its images and of its filter, of its result, and its pads before."""
    stride, dilation = [case.choice([1, 2, 3]) for _ in "hw"], [case.choice([1, 1, 2]) for _ in "hw"]
    sizes, taps = [case.choice([2, 3, 5]) for _ in "hw"], [case.choice([1, 2, 3, 4]) for _ in "hw"]
    added = [case.randrange(max(s, d)) for s, d in zip(stride, dilation, strict=True)]
    mode = case.choice(["SAME_UPPER", "SAME_LOWER", "NOTSET", "VALID"])
    attributes: dict[str, Any] = {"strides": stride, "dilations": dilation, "auto_pad": mode}
    attributes["output_padding"] = added = added if case.random() < 0.6 else [0, 0]
    whole = [s * (i - 1) + more + d * (f - 1) + 1
             for i, f, s, d, more in zip(sizes, taps, stride, dilation, added, strict=True)]  # fmt: skip
    total = [0, 0]
    if mode != "VALID" and case.random() < 0.4:
        total = [case.randrange(min(4, size)) for size in whole]
        attributes["output_shape"] = [size - pad for size, pad in zip(whole, total, strict=True)]
    elif mode == "NOTSET":
        pads = [case.randrange(2) if size > 2 else 0 for size in whole * 2]
        attributes["pads"] = pads
        return (
            attributes,
            sizes,
            taps,
            [size - a - b for size, a, b in zip(whole, pads[:2], pads[2:], strict=True)],
            pads[:2],
        )
    elif mode != "VALID":
        total = [max(0, size - s * i) for size, s, i in zip(whole, stride, sizes, strict=True)]
    before = [pad // 2 if mode == "SAME_UPPER" else (pad + 1) // 2 for pad in total]
    return attributes, sizes, taps, [size - pad for size, pad in zip(whole, total, strict=True)], before


def gradient(problem: Conv2d, x: Array, w: Array) -> Array:
    """The problem's result: the gradient by its images, of x by the filters w."""
    before = [problem.pad_h[0], problem.pad_w[0]]
    stride, dilation = list(problem.stride), list(problem.dilation)
    return scattered(x, w, [problem.h, problem.w], before, stride, dilation)


@pytest.mark.parametrize("seed", range(40))
def test_a_problem_computes_what_the_graph_does(tmp_path: Path, seed: int) -> None:
    attributes, sizes, taps, result, before = stated(Random(seed))
    shapes = {"x": [2, 4, *sizes], "w": [4, 3, *taps]}
    tally = captured(model(tmp_path / "net.onnx", "ConvTranspose", shapes, **attributes), {})
    numbers = np.random.default_rng(seed)
    x, w = (numbers.integers(-3, 4, shape).astype(float) for shape in shapes.values())
    if tally.left:  # rows that no window reaches are of no convolution
        assert "no window reaches" in tally.left_lines[0]
        assert any(attributes["output_padding"])
        return
    (problem,) = tally.problems
    assert isinstance(problem, Conv2d) and (problem.ho, problem.wo) == tuple(sizes)
    want = scattered(x, w, result, before, attributes["strides"], attributes["dilations"])
    np.testing.assert_array_equal(gradient(problem, x, w), want)


@pytest.mark.parametrize(
    ("automatic", "pads"),
    [("VALID", "-p 0 -q 0"), ("SAME_UPPER", "-p 1 -q 1,2"), ("SAME_LOWER", "-p 1 -q 2,1")],
)
def test_automatic_pads_and_others_beside_them(tmp_path: Path, automatic: str, pads: str) -> None:
    """`pads` counts for nothing beside `auto_pad`, whatever onnx's inference makes of both."""
    shapes = {"x": [1, 3, 8, 8], "w": [4, 3, 3, 4]}
    given = [1, 1, 1, 1] if automatic == "VALID" else [0, 0, 0, 0]
    path = model(tmp_path / "net.onnx", "Conv", shapes, auto_pad=automatic, pads=given)
    (problem,) = captured(path, {}).problems
    assert [problem] == parse_problem(f"conv -n 1 -c 3 -H 8 -W 8 -k 4 -y 3 -x 4 {pads} -F 1")


@pytest.mark.parametrize(
    ("shape", "after"),
    [
        ([], "bias"), ([1], "bias"), ([1, 1], "bias"), ([5], "bias"), ([1, 5], "bias"),
        ([3, 1], "residual"), ([3, 5], "residual"),
    ],
)  # fmt: skip
def test_what_a_product_adds(tmp_path: Path, shape: list[int], after: str) -> None:
    path = model(tmp_path / "net.onnx", "Gemm", {"a": [3, 4], "b": [4, 5], "c": shape})
    (problem,) = captured(path, {}).problems
    assert [problem] == parse_problem(f'gemm -m 3 -n 5 -k 4 --epilogue "x + {after}"')


def test_convolutions_whose_taps_move_are_left_out(tmp_path: Path) -> None:
    shapes = {"x": [1, 3, 8, 8], "w": [4, 3, 3, 3], "offset": [1, 18, 6, 6]}
    tally = captured(model(tmp_path / "net.onnx", "DeformConv", shapes), {})
    assert tally.left_lines == ["1 DeformConv: no problem states it"]
