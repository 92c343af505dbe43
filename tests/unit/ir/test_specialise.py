"""specialise: a problem binds every `?` of its own text, and refuses the text of another problem."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import context, load
from imbrex.ir.from_problem import problem_module
from imbrex.ir.passes.specialise import Specialise, specialise
from imbrex.ir.printed import print_module
from imbrex.ir.source import InvalidOp
from imbrex.problem import Conv2d, Gemm

CONV = Conv2d("forward", 2, 8, 10, 11, 16, 3, 2, groups=2, input_layout="NHWC", pad_h=(1, 2), stride=(2, 1))
GEMM = Gemm(3, 4, 5, batch=2, transpose_a=True, alpha=2, beta=1)
BACKWARD = Conv2d("backward_data", 2, 8, 10, 10, 16, 3, 3, filter_layout="KYXC", dilation=2)
WEIGHT = Conv2d("backward_weight", 1, 6, 5, 5, 6, 5, 5, groups=6)


def unsized(text: str) -> str:
    """The text with `?` for every size of a memref."""
    return re.sub(r"memref<[0-9x]+x", lambda m: re.sub(r"\d+", "?", m.group()), text)


def check_binding(problem: Conv2d | Gemm) -> None:
    wanted = print_module(problem_module(problem))
    source = load(unsized(wanted))
    assert "?" in print_module(source.module)
    specialise(source.module, problem)
    source.module.verify()
    assert print_module(source.module) == wanted


@pytest.mark.parametrize("problem", [CONV, GEMM, BACKWARD, WEIGHT], ids=lambda p: p.key())
def test_a_problem_binds_its_own_text(problem: Conv2d | Gemm) -> None:
    check_binding(problem)


sizes = st.integers(1, 9)


@settings(max_examples=50, deadline=None)
@given(
    direction=st.sampled_from(["forward", "backward_data", "backward_weight"]),
    shape=st.tuples(
        sizes, sizes, st.integers(5, 12), st.integers(5, 12), sizes, st.integers(1, 3), st.integers(1, 3)
    ),
    groups=sizes,
    pads=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    layout=st.sampled_from(["NCHW", "NHWC", "CNHW"]),
)
def test_any_problem_binds_its_own_text(direction, shape, groups, pads, stride, layout) -> None:
    n, c, h, w, k, y, x = shape
    check_binding(
        Conv2d(
            direction, n, c * groups, h, w, k * groups, y, x,
            groups=groups, pad_h=pads, pad_w=pads, stride=stride, input_layout=layout,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text_of", "other", "message"),
    [
        (CONV, GEMM, "the problem is a gemm"),
        (GEMM, CONV, "the problem is a convolution"),
        (CONV, BACKWARD, "the problem's direction is backward_data"),
        (
            Conv2d("forward", 1, 4, 8, 8, 4, 3, 3),
            Conv2d("forward", 1, 4, 8, 8, 4, 3, 3, stride=2),
            "'strides' is [1, 1] here but [2, 2] in the problem",
        ),
        (
            Conv2d("forward", 1, 4, 8, 8, 4, 3, 3),
            Conv2d("forward", 1, 4, 8, 8, 4, 3, 3, pad_h=(0, 1)),
            "'padding' is [[0, 0], [0, 0]] here but [[0, 1], [0, 0]] in the problem",
        ),
        (
            Conv2d("forward", 1, 4, 8, 8, 4, 3, 3),
            Conv2d("forward", 1, 4, 8, 8, 4, 3, 3, input_layout="NHWC"),
            "'input_layout' is n, c, hi, wi here but n, hi, wi, c in the problem",
        ),
    ],
)
def test_another_problem_is_refused(text_of: Conv2d | Gemm, other: Conv2d | Gemm, message: str) -> None:
    source = load(unsized(print_module(problem_module(text_of))))
    with pytest.raises(InvalidOp) as caught:
        specialise(source.module, other)
    assert str(caught.value) == message


def test_a_size_that_is_there_must_agree() -> None:
    source = load(print_module(problem_module(Gemm(3, 4, 5))))
    with pytest.raises(InvalidOp, match="the a is 3x5 here, but is to be 6x5"):
        specialise(source.module, Gemm(6, 4, 5))


DRAFT = """
func.func @forward(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  %padded = miopen.transform(%input) {
    layout = [
      0: passthrough(0: n), n
      1: passthrough(1: c), c
      2: pad(2: h, 1, 1), hipad
      3: pad(3: w, 0, 0), wipad
    ]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?xf32>
  %windows = miopen.transform(%padded) {
    layout = [
      0: passthrough(0: n), n
      1: passthrough(1: c), c
      [2, 3]: embed(2: hipad, 2, [1, 2, 0]), [y, ho]
      [4, 5]: embed(3: wipad, 2, [1, 1, 0]), [x, wo]
    ]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?x?x?xf32>
  %a = miopen.transform(%filter) {
    layout = [
      0: merge(1: c, 2: y, 3: x), gemmK
      1: passthrough(0: k), gemmM
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  %b = miopen.transform(%windows) {
    layout = [
      0: merge(1: c, 2: y, 4: x), gemmK
      1: merge(0: n, 3: ho, 5: wo), gemmN
    ]
  } : memref<?x?x?x?x?x?xf32> to memref<?x?xf32>
  %c = miopen.transform(%output) {
    layout = [
      0: passthrough(1: k), gemmM
      1: merge(0: n, 2: ho, 3: wo), gemmN
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  miopen.gridwise_gemm(%a, %b, %c)
  func.return
}
"""


def test_the_first_drafts_names_are_bound_and_windows_tell_the_output() -> None:
    """The first draft's views alone, whose input is n, c, h, w: no convolution says what ho and wo are."""
    source = load(DRAFT)
    Specialise(filter=(8, 2, 3, 3), input=(1, 2, 6, 6)).apply(context(), source.module)
    source.module.verify()
    text = print_module(source.module)
    assert "?" not in text
    assert "%output: memref<1x8x3x4xf32>" in text  # 8 rows of pixels, every second of 6; 6 columns


def test_a_size_that_nothing_says_is_an_error_at_its_place() -> None:
    source = load(DRAFT)
    with pytest.raises(Diagnostic, match="the size of 'n' is still '\\?'; nothing says what it is") as caught:
        with source.sources.diagnosing():
            Specialise(filter=(8, 2, 3, 3)).apply(context(), source.module)
    assert caught.value.line == 10
