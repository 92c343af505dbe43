"""A size `?` in the IR's text: a problem whose kernel is told it, there and back, or an error."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.from_problem import problem_module
from imbrex.ir.printed import print_module
from imbrex.ir.to_problem import problems_of
from imbrex.problem import Conv2d, Gemm, Problem

LAST = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
PROBLEMS: list[Problem] = [
    Gemm("?3..40", 7, 9, transpose_b=True, beta=0.5),
    Gemm("?", 7, 9, epilogue="relu(x * row_scale + bias + residual)", dtype="bf16"),
    Conv2d("forward", "?1..5", 3, 6, 5, 4, 3, 3, pad_h=(1, 2), stride=(2, 1)),
    Conv2d("forward", "?2..9", 3, 6, 5, 4, 3, 3, epilogue="x + bias + residual", **LAST),
]


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.key())
def test_the_text_of_a_problem_states_it(problem: Problem, compact: bool) -> None:
    text = print_module(problem_module(problem, "layer"), compact=compact)
    assert "memref<?x" in text
    (stated,) = problems_of(text)
    assert stated.problem == problem


def gemm_text(a: str, b: str, c: str, extra: str = "") -> str:
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
  miopen.gemm(%a, %b, %c) {{{extra}}} : {a}, {b}, {c}
  func.return
}}
"""


def test_arrays_as_the_notes_write_them() -> None:
    (stated,) = problems_of(gemm_text("memref<?x6xf32>", "memref<6x5xf32>", "memref<?x5xf32>"))
    assert stated.problem == Gemm("?", 5, 6)


SIZED = "has sizes '?', and a kernel is made for numbers; imbrex-opt -p specialise{...} gives them"
REFUSED = [
    (
        "memref<?x6xf32>",
        "memref<6x5xf32>",
        "memref<4x5xf32>",
        "",
        "m is a run-time size of one array and",
    ),
    ("memref<?x?xf32>", "memref<6x5xf32>", "memref<?x5xf32>", "", "only 'm' may be a run-time size"),
    ("memref<4x6xf32>", "memref<6x?xf32>", "memref<4x?xf32>", "", SIZED),
    ("memref<6x?xf32>", "memref<6x5xf32>", "memref<?x5xf32>", " a_transposed = true ", SIZED),
    ("memref<?x4x6xf32>", "memref<?x6x5xf32>", "memref<?x4x5xf32>", "", SIZED),
]


@pytest.mark.parametrize(("a", "b", "c", "extra", "message"), REFUSED)
def test_what_no_kernel_is_made_for(a: str, b: str, c: str, extra: str, message: str) -> None:
    with pytest.raises(Diagnostic) as error:
        problems_of(gemm_text(a, b, c, extra), "layer.mlir")
    assert message in error.value.message
    assert error.value.file == "layer.mlir" and error.value.line is not None


def test_arrays_agree_on_the_range() -> None:
    text = print_module(problem_module(Gemm("?3..40", 7, 9), "layer"), compact=True)
    assert text.count("prefix(0: m, 3)") == 2
    with pytest.raises(Diagnostic, match="has another range there"):
        problems_of(text.replace("prefix(0: m, 3)", "prefix(0: m, 2)", 1))
