"""A module at the problem's level gives back its problem; anything else is a message with its place."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.from_problem import problem_module
from imbrex.ir.printed import print_module
from imbrex.ir.to_problem import problems_of
from imbrex.problem import Conv2d, Gemm, Problem

ODD = {"filter_layout": "XKCY", "input_layout": "HCWN", "output_layout": "WNKH"}
PROBLEMS: list[Problem] = [
    Conv2d("forward", 2, 3, 6, 5, 4, 3, 3, pad_h=(1, 2), pad_w=(0, 1), stride=(2, 1), dilation=(1, 2)),
    Conv2d("backward_data", 1, 6, 9, 9, 4, 3, 3, pad_h=1, pad_w=1, groups=2, **ODD),
    Conv2d("backward_weight", 1, 4, 8, 8, 8, 1, 1, groups=4, dtype="bf16", input_layout="NHWC"),
    Conv2d("forward", 1, 4, 8, 8, 8, 1, 1, dtype="i8"),
    Gemm(5, 7, 9),
    Gemm(5, 7, 9, batch=3, transpose_a=True, transpose_b=True, alpha=2.0, beta=0.5, dtype="f64"),
    Gemm(5, 7, 9, epilogue="relu(x + bias) + residual"),
    Gemm(5, 7, 9, lda=12, ldb=8, ldc=7, epilogue="relu(x)"),
    Gemm(5, 7, 9, batch=3, lda=27, stride_a=9, ldb=21, stride_b=7, ldc=21, stride_c=7, transpose_b=False),
    Gemm(5, 7, 9, batch=3, lda=10, stride_a=53, stride_b=0, ldc=7, stride_c=36),
    Gemm(1, 7, 9, batch=3, stride_a=11, transpose_a=True, lda=2, ldc=100),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.key())
def test_the_text_of_a_problem_states_it(problem: Problem) -> None:
    (stated,) = problems_of(print_module(problem_module(problem, "layer")))
    assert (stated.problem, stated.name, stated.algorithm) == (problem, "layer", None)


@pytest.mark.parametrize(("place", "algorithm"), [(1, "v1r1"), (0, "channels_last"), (1, "channels_last")])
def test_the_algorithm_is_kept(place: int, algorithm: str) -> None:
    (stated,) = problems_of(print_module(problem_module(PROBLEMS[place], "layer", algorithm)))
    assert (stated.problem, stated.algorithm) == (PROBLEMS[place], algorithm)


def test_linalg() -> None:
    text = """
    func.func @mm(%a: memref<4x6xf32>, %b: memref<6x5xf32>, %c: memref<4x5xf32>) {
      linalg.matmul ins(%a, %b : memref<4x6xf32>, memref<6x5xf32>) outs(%c : memref<4x5xf32>)
      func.return
    }
    """
    (stated,) = problems_of(text)
    assert stated.problem == Gemm(4, 5, 6, beta=1.0)


def gemm_text(a: str, c: str) -> str:
    return f"""func.func @f(%a: {a}, %b: memref<6x5xf16>, %c: {c}) {{
  miopen.gemm(%a, %b, %c) {{ }} : {a}, memref<6x5xf16>, {c}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (gemm_text("memref<4x?xf16>", "memref<4x5xf16>"), "x.mlir:2:", "'?'"),
        (gemm_text("memref<4x6xf16>", "memref<4x5xf32>"), "x.mlir:2:", "a kernel of f16 stores f16, not f32"),
        ("func.func @f() {\n  func.return\n}\n", "x.mlir: ", "no conv2d, gradient or gemm"),
        (
            "func.func @f() {\n  miopen.lds_barrier()\n  func.return\n}\n",
            "x.mlir:2:3: ",
            "level below the problem",
        ),
        ("miopen.conv2d(", "x.mlir:1:", "error: "),
    ],
)
def test_what_states_no_problem_says_why(text: str, place: str, message: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        problems_of(text, "x.mlir")
    assert str(caught.value).startswith(place)
    assert message in str(caught.value)


def viewed(entries: str, source: str, result: str) -> str:
    return f"""func.func @f(%a: memref<{source}xf32>, %b: memref<6x5xf32>, %c: memref<4x5xf32>) {{
  %view = miopen.transform(%a) {{ layout = [{entries}] }} : memref<{source}xf32> to memref<{result}xf32>
  miopen.gemm(%view, %b, %c) : memref<{result}xf32>, memref<6x5xf32>, memref<4x5xf32>
  func.return
}}
"""


def test_a_view_that_strides_can_tell() -> None:
    text = viewed("0: slice(0: m, 0, 4), m, 1: slice(1: k, 0, 6), k", "9x8", "4x6")
    (stated,) = problems_of(text)
    assert stated.problem == Gemm(4, 5, 6, lda=8)


@pytest.mark.parametrize(
    ("entries", "source"),
    [
        ("0: slice(0: m, 1, 5), m, 1: passthrough(1: k), k", "9x6"),
        ("0: passthrough(0: m), m, 1: slice(1: k, 2, 8), k", "4x8"),
        ("0: passthrough(0: m), m, 1: pad(1: k, 0, 2), k", "4x4"),
        ("0: passthrough(1: m), m, 1: passthrough(0: k), k", "6x4"),
        ("0: passthrough(0: m), m, 1: embed(1: k, 1, [2, 0]), k", "4x12"),
        ("[0, 1]: embed(0: x, 2, [1, -1, 5]), [m, k]", "16"),
    ],
)
def test_a_view_that_no_strides_tell(entries: str, source: str) -> None:
    with pytest.raises(
        Diagnostic, match="is a view that no leading dimension and batch stride can tell"
    ) as caught:
        problems_of(viewed(entries, source, "4x6"), "x.mlir")
    assert caught.value.line == 3


def test_a_view_of_an_image_is_refused() -> None:
    text = print_module(problem_module(PROBLEMS[3])).replace("%filter, %input", "%filter, %view")
    view = """    %view = miopen.transform(%wide) { layout = [
      0: passthrough(0: n), n, 1: slice(1: c, 0, 4), c, 2: passthrough(2: hi), hi, 3: passthrough(3: wi), wi
    ] } : memref<1x6x8x8xi8> to memref<1x4x8x8xi8>
"""
    text = text.replace("    miopen.conv2d", view + "    miopen.conv2d")
    text = text.replace("%input: memref<1x4x8x8xi8>", "%wide: memref<1x6x8x8xi8>")
    with pytest.raises(Diagnostic, match="is a view, and a kernel takes arrays of a convolution as they are"):
        problems_of(text)
