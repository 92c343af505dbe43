"""Files of ONNX, and the problems that their graphs compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")

from imbrex.capture.graph import captured  # noqa: E402
from imbrex.capture.open_size import OpenSize  # noqa: E402
from imbrex.diagnostic import Diagnostic  # noqa: E402
from imbrex.problem import parse_problem, problem_text  # noqa: E402

H: Any = onnx.helper
FLOAT = onnx.TensorProto.FLOAT


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Convolutions, a transposed one, products, and what is none of these; of `batch` images."""
    node = H.make_node
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
        node("Conv", ["c", "w2"], ["s"], auto_pad="SAME_UPPER", strides=[2, 2], group=2),
        node("Relu", ["s"], ["r"]),
        node("ConvTranspose", ["r", "up"], ["u"], strides=[2, 2]),
        node("GlobalAveragePool", ["u"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "m", "bias"], ["z"], transB=1),
        node("MatMul", ["p", "q"], ["pq"]),
        node("Einsum", ["p", "q"], ["e"], equation="bij,jk->bik"),
    ]
    sizes = {"w": (8, 3, 3, 3), "b": (8,), "w2": (8, 4, 3, 3), "up": (8, 4, 2, 2), "m": (6, 4), "bias": (6,)}
    constants = [
        onnx.numpy_helper.from_array(__import__("numpy").zeros(shape, "float32"), name)
        for name, shape in sizes.items()
    ]
    given = [
        H.make_tensor_value_info("x", FLOAT, ["batch", 3, 9, 8]),
        H.make_tensor_value_info("p", FLOAT, [2, 3, 4]), H.make_tensor_value_info("q", FLOAT, [4, 5]),
    ]  # fmt: skip
    out = [H.make_tensor_value_info(name, FLOAT, None) for name in ("z", "pq", "e")]
    graph = H.make_graph(nodes, "net", given, out, constants)
    path = tmp_path / "model.onnx"
    onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 17)]), str(path))
    return path


def test_a_graph(model: Path) -> None:
    tally = captured(model, {"batch": 2})
    want = [
        "conv -n 2 -c 3 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 --epilogue 'x + bias'",
        "conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1,1 -q 0,1 -u 2 -v 2 -g 2 -F 1",
        "conv -n 2 -c 4 -H 10 -W 8 -k 8 -y 2 -x 2 -u 2 -v 2 -F 2",
        "gemm -m 2 -n 6 -k 4 -transB 1 --epilogue 'x + bias'",
        "gemm -m 6 -n 5 -k 4",
    ]
    found = {problem_text(problem) for problem in tally.problems}
    assert found == {problem_text(problem) for text in want for problem in parse_problem(text)}
    assert tally.left_lines == ["1 Einsum: no problem states it"]
    assert tally.others == {"Relu": 1, "GlobalAveragePool": 1, "Flatten": 1}


def test_sizes_that_the_file_leaves_open(model: Path, tmp_path: Path) -> None:
    tally = captured(model, {})
    assert list(tally.problems.values()) == [1]
    assert all("give it with --size" in line for line in tally.left_lines[:-1])
    with pytest.raises(Diagnostic, match="the graph has no size 'bach'") as error:
        captured(model, {"bach": 2})
    assert error.value.hint == "did you mean 'batch'?"
    (tmp_path / "none.onnx").write_bytes(b"nothing")
    for name, told in (("none.onnx", "is no model of ONNX"), ("missing.onnx", "no such file")):
        with pytest.raises(Diagnostic, match=told):
            captured(tmp_path / name, {})


def test_a_size_that_problems_leave_open(model: Path) -> None:
    tally = captured(model, {}, OpenSize("batch", 1, 64))
    assert {problem_text(problem) for problem in tally.problems} == {
        problem_text(problem)
        for text in (
            "conv -n ?1..64 -c 3 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 --epilogue 'x + bias'",
            "conv -n ?1..64 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1,1 -q 0,1 -u 2 -v 2 -g 2 -F 1",
            "conv -n ?1..64 -c 4 -H 10 -W 8 -k 8 -y 2 -x 2 -u 2 -v 2 -F 2",
            "gemm -m ?1..64 -n 6 -k 4 -transB 1 --epilogue 'x + bias'",
            "gemm -m 6 -n 5 -k 4",
        )
        for problem in parse_problem(text)
    }
    with pytest.raises(Diagnostic, match="the graph has no size 'bach'"):
        captured(model, {}, OpenSize("bach", 1, 64))


def test_what_grows_with_an_open_size_otherwise(tmp_path: Path) -> None:
    """Tokens of all sentences are rows; products for each sentence are so many, and are left out."""
    node = H.make_node
    nodes = [
        node("MatMul", ["x", "w"], ["y"]),
        node("Transpose", ["y"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["y", "t"], ["s"]),
    ]
    weights = [onnx.numpy_helper.from_array(__import__("numpy").zeros((16, 8), "float32"), "w")]
    given = H.make_tensor_value_info("x", FLOAT, ["batch", 7, 16])
    out = H.make_tensor_value_info("s", FLOAT, None)
    path = tmp_path / "tokens.onnx"
    graph = H.make_graph(nodes, "net", [given], [out], weights)
    onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 17)]), str(path))
    tally = captured(path, {}, OpenSize("batch", 2, 10))
    assert [problem_text(problem) for problem in tally.problems] == [
        problem_text(*parse_problem("gemm -m ?14..70 -n 8 -k 16"))
    ]
    reason = "'batch' is more or other than the number of its images or rows; give --size batch=N"
    assert tally.left_lines == [f"1 MatMul: {reason}"]


def saved(path: Path, nodes: list[Any], given: Any, functions: Any = ()) -> Path:
    """A graph of these nodes, whose last one gives its result."""
    inputs = [H.make_tensor_value_info(name, FLOAT, shape) for name, shape in given.items()]
    result = H.make_tensor_value_info(nodes[-1].output[0], FLOAT, None)
    graph = H.make_graph(nodes, "net", inputs, [result])
    domains = [H.make_opsetid("", 17), H.make_opsetid("of.mine", 1)]
    onnx.save(H.make_model(graph, opset_imports=domains, functions=list(functions)), str(path))
    return path


def test_sizes_without_a_name(tmp_path: Path) -> None:
    product = H.make_node("MatMul", ["a", "b"], ["y"])
    path = saved(tmp_path / "net.onnx", [product], {"a": [None, 4], "b": [4, 5]})
    told = "1 MatMul: the size 'a.0' of 'a' is not known; give it with --size a.0=N"
    assert captured(path, {}).left_lines == [told]
    assert list(captured(path, {"a.0": 3}).problems) == parse_problem("gemm -m 3 -n 5 -k 4")
    saved(path, [product], {"a": ["?", 4], "b": [4, 5]})
    assert captured(path, {}).left_lines[0].endswith("give it with --size '?=N'")


def test_shapes_that_the_graph_computes(tmp_path: Path) -> None:
    """Views of heads, as exporters state them: sizes taken of a shape, computed with, and put together."""
    node = H.make_node
    constants = {"zero": [0], "heads": [2], "minus": [-1], "none": [0]}
    nodes = [
        *(node("Constant", [], [name], value=onnx.numpy_helper.from_array(__import__("numpy").array(value)))
          for name, value in constants.items()),
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["n"], axis=0),
        node("Shape", ["x"], ["columns"], start=1), node("Div", ["columns", "heads"], ["each"]),
        node("Mul", ["n", "heads"], ["rows"]), node("Concat", ["rows", "each"], ["wanted"], axis=0),
        node("Cast", ["wanted"], ["real"], to=FLOAT), node("Floor", ["real"], ["whole"]),
        node("Cast", ["whole"], ["target"], to=onnx.TensorProto.INT64),
        node("Reshape", ["x", "target"], ["a"]), node("Transpose", ["a"], ["b"], perm=[1, 0]),
        node("MatMul", ["a", "b"], ["y"]),
    ]  # fmt: skip
    path = saved(tmp_path / "net.onnx", nodes, {"x": ["n", 8]})
    tally = captured(path, {"n": 3})
    assert list(tally.problems) == parse_problem("gemm -m 6 -n 6 -k 4") and tally.others["Shape"] == 2
    (told,) = captured(path, {}).left_lines
    assert "of 'a' does not follow from sizes that are known" in told and "--size" not in told


def test_functions_of_the_file_are_what_they_compute(tmp_path: Path) -> None:
    body = [H.make_node("MatMul", ["a", "b"], ["y"])]
    function = H.make_function("of.mine", "Layer", ["a", "b"], ["y"], body, [H.make_opsetid("", 17)])
    nodes = [H.make_node("Layer", ["a", "b"], ["y"], domain="of.mine")]
    path = saved(tmp_path / "net.onnx", nodes, {"a": [3, 4], "b": [4, 5]}, [function])
    tally = captured(path, {})
    assert list(tally.problems) == parse_problem("gemm -m 3 -n 5 -k 4") and not tally.left


def one(
    tmp_path: Path, op: str, shapes: dict[str, Any], domain: str = "", types: Any = (), **attributes: Any
) -> Any:
    """What a graph of one node of arrays of these shapes holds.  types: of the arrays; floats else."""
    kinds = types or [FLOAT] * len(shapes)
    given = [
        H.make_tensor_value_info(name, kind, shape)
        for (name, shape), kind in zip(shapes.items(), kinds, strict=True)
    ]
    node = H.make_node(op, list(shapes), ["y"], domain=domain, **attributes)
    result = onnx.TensorProto.INT32 if types else FLOAT
    graph = H.make_graph([node], "net", given, [H.make_tensor_value_info("y", result, None)])
    path = tmp_path / "one.onnx"
    domains = [H.make_opsetid("", 17), *([H.make_opsetid(domain, 1)] if domain else [])]
    onnx.save(H.make_model(graph, opset_imports=domains), str(path))
    return captured(path, {})


@pytest.mark.parametrize(
    ("attributes", "pads"),
    [
        ({"output_shape": [10, 10]}, "-p 1,0 -q 1,0"),
        ({"output_shape": [10, 10], "auto_pad": "SAME_UPPER"}, "-p 0,1 -q 0,1"),
        ({"auto_pad": "SAME_UPPER"}, "-p 0,1 -q 0,1"),
        ({"output_padding": [1, 0], "pads": [1, 0, 1, 0]}, "-p 1 -q 0"),
    ],
)
def test_pads_of_a_transposed_convolution(tmp_path: Path, attributes: dict[str, Any], pads: str) -> None:
    shapes = {"x": [1, 4, 5, 5], "w": [4, 6, 3, 3]}
    (problem,) = one(tmp_path, "ConvTranspose", shapes, strides=[2, 2], **attributes).problems
    size = f"-H 10 -W {11 if 'output_padding' in attributes else 10}"
    assert [problem] == parse_problem(f"conv -n 1 -c 6 {size} -k 4 -y 3 -x 3 {pads} -u 2 -v 2 -F 2")
    assert (problem.ho, problem.wo) == (5, 5)


@pytest.mark.parametrize(
    ("op", "shapes", "domain", "reason"),
    [
        ("Conv", {"x": [1, 5, 9, 9], "w": [6, 4, 3, 3]}, "", "filters of 4 channels do not meet images of 5"),
        ("MatMul", {"a": [2, 3, 4], "b": [3, 4, 5]}, "", "batches of (2,) and (3,) do not broadcast"),
        ("FusedMatMul", {"a": [3, 4], "b": [4, 5]}, "com.microsoft", "of the domain 'com.microsoft'"),
    ],
)
def test_what_does_not_fit_or_is_of_others_is_left_out(
    tmp_path: Path, op: str, shapes: dict[str, Any], domain: str, reason: str
) -> None:
    tally = one(tmp_path, op, shapes, domain)
    assert not tally.problems and reason in tally.left_lines[0]


INT8, UINT8 = onnx.TensorProto.INT8, onnx.TensorProto.UINT8
IMAGES = {"x": [1, 4, 9, 9], "w": [6, 4, 3, 3]}


@pytest.mark.parametrize(
    ("op", "shapes", "want"),
    [
        ("MatMulInteger", {"a": [2, 3, 4], "b": [4, 5]}, "gemm -t i8 -m 6 -n 5 -k 4"),
        ("ConvInteger", IMAGES, "convint8 -n 1 -c 4 -H 9 -W 9 -k 6 -y 3 -x 3 -F 1"),
    ],
)
def test_products_of_int8_without_zero_points(
    tmp_path: Path, op: str, shapes: dict[str, Any], want: str
) -> None:
    (problem,) = one(tmp_path, op, shapes, types=[INT8, INT8]).problems
    assert [problem] == parse_problem(want)
    (left,) = one(tmp_path, op, shapes, types=[UINT8, INT8]).left_lines
    assert left == f"1 {op}: '{next(iter(shapes))}' is of uint8, and kernels multiply int8"
    (left,) = one(tmp_path, op, {**shapes, "zero": []}, types=[INT8, INT8, INT8]).left_lines
    assert left == f"1 {op}: zero points are not supported"
