"""A module at the problem's level gives back its problem; anything else is a message with its place."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.module_problem import problems_of
from imbrex.ir.printed import print_module
from imbrex.ir.problem_module import problem_module
from imbrex.problem import Conv2d, Gemm, Problem

ODD = {"filter_layout": "XKCY", "input_layout": "HCWN", "output_layout": "WNKH"}
PROBLEMS: list[Problem] = [
    Conv2d("forward", 2, 3, 6, 5, 4, 3, 3, pad_h=(1, 2), pad_w=(0, 1), stride=(2, 1), dilation=(1, 2)),
    Conv2d("backward_data", 1, 6, 9, 9, 4, 3, 3, pad_h=1, pad_w=1, groups=2, **ODD),
    Conv2d("backward_weight", 1, 4, 8, 8, 8, 1, 1, groups=4, dtype="bf16", input_layout="NHWC"),
    Conv2d("forward", 1, 4, 8, 8, 8, 1, 1, dtype="i8"),
    Gemm(5, 7, 9),
    Gemm(5, 7, 9, batch=3, transpose_a=True, transpose_b=True, alpha=2.0, beta=0.5, dtype="f64"),
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
        (gemm_text("memref<?x6xf16>", "memref<?x5xf16>"), "x.mlir:2:", "sizes '?'"),
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
