"""Problems that differ in their rows only, and what calls of theirs can be joined to."""

from __future__ import annotations

import pytest

from imbrex.library.family import families
from imbrex.problem import parse_problem


@pytest.mark.parametrize(
    ("line", "flag", "steps"),
    [
        ("gemm -m 4 -n 8 -k 16", "-m ?", (64, 0, 32)),
        ("gemm -m 4 -n 8 -k 16 -g 3 -transA 1", "-g ?", (256, 512, 128)),
        ("gemm -m 4 -n 8 -k 16 -transA 1", "", (0, 0, 0)),
        ("gemm -m 4 -n 8 -k 16 -lda 20", "", (0, 0, 0)),
        ("gemm -m ?3..4 -n 8 -k 16", "-m ? -n", (64, 0, 32)),
        ("gemm -m 4 -n 8 -k 16 --epilogue 'x * row_scale + bias + residual'", "-m ?", (64, 0, 32, 0, 32, 4)),
        ("conv -n 2 -c 3 -H 5 -W 5 -k 4 -y 3 -x 3 -F 1", "-n ?", (0, 300, 144)),
        ("conv -n 2 -c 3 -H 5 -W 5 -k 4 -y 3 -x 3 -F 2", "-n ?", (0, 300, 144)),
        ("conv -n 2 -c 3 -H 5 -W 5 -k 4 -y 3 -x 3 -F 4", "", (0, 0, 0)),
        ("conv -n ?1..2 -c 3 -H 5 -W 5 -k 4 -y 3 -x 3 -F 4", "-n ?", (0, 0, 0)),
        ("gemm -m 4 -n 8 -k ?1..16 -transA 1", "-k ?", (0, 0, 0)),
        ("conv -n 2 -c 3 -H 5 -W 5 -k 4 -y 3 -x 3 -F 1 -f NCHW -I CHWN -O NCHW", "", (0, 0, 0)),
    ],
)
def test_rows_of_a_problem(line: str, flag: str, steps: tuple[int, ...]) -> None:
    (problem,) = parse_problem(line)
    (family,) = families([(problem, 3)])
    assert family.steps == steps
    assert flag in family.text and ("?" in family.text) == bool(flag)
    assert [(one.kernel, one.times) for one in family.members] == [(0, 3)]


def test_members_of_a_family_begin_with_the_most_rows() -> None:
    lines = ["gemm -m 2 -n 8 -k 16", "gemm -m 2 -n 9 -k 16", "gemm -m 7 -n 8 -k 16"]
    found = families((problem, 1) for line in lines for problem in parse_problem(line))
    assert [[(one.kernel, one.rows) for one in family.members] for family in found] == [
        [(2, 7), (0, 2)], [(1, 2)],
    ]  # fmt: skip


def test_sums_over_rows_are_not_joined() -> None:
    lines = [
        "gemm -m 4 -n 8 -k 6 -transA 1",
        "gemm -m 4 -n 8 -k ?1..16 -transA 1",
        "gemm -m 4 -n 9 -k 6 -transA 1",
        "gemm -m 4 -n 8 -k 6",
    ]
    found = families((problem, 1) for line in lines for problem in parse_problem(line))
    assert [[(one.kernel, one.rows) for one in family.members] for family in found] == [
        [(1, 16), (0, 6)], [(2, 1)], [(3, 4)],
    ]  # fmt: skip
    assert [family.is_joined for family in found] == [False, True, True]
