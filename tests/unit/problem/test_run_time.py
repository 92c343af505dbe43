"""A run-time size in a problem: its texts, what it may not be, and the problem of one number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Gemm, Problem, from_json, parse_problem, problem_text
from imbrex.problem.run_time import RunTime, expect_fixed

GEMM = "gemm -t f32 -m {} -n 5 -k 7 -transA 0 -transB 1 -g 1"
SUMS = "gemm -t f32 -m 4 -n 5 -k {} -transA 1 -transB 0 -g 1"
CONV = "conv -n {} -c 8 -H 8 -W 9 -k 6 -y 3 -x 3 -p 1 -q 1 -u 2 -v 1 -l 1 -j 1 -g 1 -F 1"

WEIGHTS = f"{CONV[:-1]}4"


def one(text: str) -> Problem:
    (found,) = parse_problem(text)
    return found


@pytest.mark.parametrize(
    ("text", "size", "canonical"),
    [
        (GEMM.format("?"), RunTime("m", 1, 65536), GEMM.format("?1..65536")),
        (GEMM.format("?3..19"), RunTime("m", 3, 19), GEMM.format("?3..19")),
        (GEMM.format("?4..4"), RunTime("m", 4, 4), GEMM.format("?4..4")),
        (SUMS.format("?"), RunTime("k", 1, 65536, is_summed=True), SUMS.format("?1..65536")),
        (SUMS.format("?2..9"), RunTime("k", 2, 9, is_summed=True), SUMS.format("?2..9")),
        (
            WEIGHTS.format("?2..9"),
            RunTime("n", 2, 9, is_summed=True),
            WEIGHTS.format("?2..9"),
        ),
        (CONV.format("?"), RunTime("n", 1, 1024), CONV.format("?1..1024")),
        (CONV.format("?2..9"), RunTime("n", 2, 9), CONV.format("?2..9")),
    ],
)
def test_every_text_form(text: str, size: RunTime, canonical: str) -> None:
    problem = one(text)
    assert problem.run_time == size
    assert problem_text(problem) == canonical
    assert one(canonical) == from_json(problem.to_json()) == replace(problem) == problem
    assert problem.key() != problem.at(size.most).key()


def test_numbers_have_none_and_their_texts_are_as_ever() -> None:
    gemm, conv = Gemm(4, 5, 6), Conv2d("forward", 2, 3, 8, 8, 4, 3, 3)
    assert gemm.run_time is conv.run_time is None
    assert not {"least_m", "least_k"} & gemm.to_json().keys() and "least_n" not in conv.to_json()
    assert gemm.at(9) is gemm


def test_the_problem_of_one_number() -> None:
    problem = Gemm("?3..19", 5, 6, epilogue="relu(x + bias)")
    assert problem.at(7) == Gemm(7, 5, 6, epilogue="relu(x + bias)")
    for size in (2, 20):
        with pytest.raises(Diagnostic, match=f"m is from 3 to 19, got {size}"):
            problem.at(size)
    assert [o.role for o in problem.operands if RunTime("m", 3, 19).is_of(o)] == ["a", "c"]
    sums = Gemm(4, 5, "?3..19", transpose_a=True)
    assert sums.at(7) == Gemm(4, 5, 7, transpose_a=True)
    assert sums.run_time and [o.role for o in sums.operands if sums.run_time.is_of(o)] == ["a", "b"]


REFUSED = {
    "gemm -m ?9..3 -n 5 -k 7": "m is a number, '?' or a range such as '?1..65536', got '?9..3'",
    "gemm -m ?0..3 -n 5 -k 7": "m is a number, '?' or a range such as '?1..65536', got '?0..3'",
    "gemm -m ?x -n 5 -k 7": "m is a number, '?' or a range such as '?1..65536', got '?x'",
    "gemm -m 4 -n ? -k 7": "'-n' is a size that a kernel is made for, and takes a number, got '?'",
    "gemm -m 4 -n 5 -k ?": "a run-time k is the outermost dimension of its arrays, and 'a' has m, k",
    "gemm -m 4 -n 5 -k ? -transA 1 -transB 1": (
        "a run-time k is the outermost dimension of its arrays, and 'b' has n, k"
    ),
    "gemm -m ? -n 5 -k ? -transA 1": "m or k is a run-time size, not both",
    "gemm -m 4 -n 5 -k ?9..3 -transA 1": "k is a number, '?' or a range such as '?1..65536', got '?9..3'",
    "gemm -m ? -n 5 -k 7 -transA 1": (
        "a run-time m is the outermost dimension of its arrays, and 'a' has k, m"
    ),
    "gemm -m ? -n 5 -k 7 -g 2": (
        "a run-time m is the outermost dimension of its arrays, and 'a' has batch, m, k"
    ),
    "gemm -m ? -n 5 -k 7 -lda 9": "a run-time m is of arrays without gaps, got lda 9",
    "conv -n 1 -c 4 -H ? -k 4 -F 1": "'-H' is a size that a kernel is made for, and takes a number, got '?'",
    "conv -n ? -c 4 -k 4 -F 1 -I CHWN": (
        "a run-time n is the outermost dimension of its arrays, and 'input' has c, hi, wi, n"
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_it_may_not_be(text: str) -> None:
    with pytest.raises(Diagnostic) as error:
        parse_problem(text)
    assert error.value.message == REFUSED[text]
    found = error.value
    assert found.col is not None and found.source == text, "carets point at the flag"


def test_a_command_that_takes_numbers_says_so() -> None:
    expect_fixed(Gemm(4, 5, 6).run_time, "tuning")
    with pytest.raises(
        Diagnostic, match=r"tuning takes problems whose sizes are numbers, and m is '\?1\.\.8'"
    ):
        expect_fixed(Gemm("?1..8", 5, 6).run_time, "tuning")
