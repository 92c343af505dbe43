"""Layouts, types and the lane-level build, over awkward sizes: compiled, run twice, compared with float64."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.many import Case, wrong
from tests.pairs import in_turn, one_in

from imbrex.problem import Gemm, Problem, parse_problem

SHAPES = {
    "one element": "-n 1 -c 1 -H 1 -W 1 -k 1 -y 1 -x 1 -p 0 -q 0",
    "primes, 3x3": "-n 2 -c 7 -H 13 -W 11 -k 17 -y 3 -x 3 -p 1 -q 1",
    "stride, dilation, groups, asymmetric pads": (
        "-n 2 -c 6 -H 11 -W 13 -k 8 -y 3 -x 5 -p 2,0 -q 1,3 -u 2 -v 3 -l 2 -j 1 -g 2"
    ),
    "stride beyond the window": "-n 1 -c 3 -H 9 -W 8 -k 4 -y 1 -x 2 -p 0 -q 0 -u 3 -v 3",
    "depthwise": "-n 2 -c 19 -H 9 -W 9 -k 19 -y 3 -x 3 -p 1 -q 1 -g 19",
    "stem": "-n 1 -c 3 -H 33 -W 31 -k 17 -y 7 -x 7 -p 3 -q 3 -u 2 -v 2",
}
LAYOUTS = {
    "NCHW": "",
    "NHWC": " -I NHWC -f KYXC -O NHWC",
    "CNHW": " -I CNHW -f CKYX -O HWNK",
}
DIRECTIONS = (1, 2, 4)
HARDEST = "stride, dilation, groups, asymmetric pads"
OPTIMISED = in_turn(list(SHAPES), DIRECTIONS, whole=[HARDEST])
"""Of test_optimised: the hardest shape in every direction, each other one in one."""
OTHERS = [row for row in in_turn(list(SHAPES), (2, 4, 1)) if row not in OPTIMISED]
"""Each shape that is not the hardest in another direction."""
TYPES = ("convfp16", "convbfp16", "convfp64", "convint8")


def conv(shape: str, direction: int, layout: str = "NCHW", op: str = "conv") -> Problem:
    (problem,) = parse_problem(f"{op} {SHAPES[shape]} -F {direction}{LAYOUTS[layout]}")
    return problem


def check(built: Any) -> None:
    """Exact on integers twice with different data, within the bound on floats."""
    for seed, kind in ((0, "integer"), (1, "integer"), (2, "float")):
        result = built.run(seed, kind)
        assert result.is_right, str(result)


@pytest.mark.parametrize(("shape", "direction"), OTHERS)
def test_shapes(shape: str, direction: int, build: Any) -> None:
    check(build(conv(shape, direction)))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_lanes(direction: int) -> None:
    """The same on the lane-level build, with the tuning that the model chooses for a GPU."""
    cases = [Case(conv(shape, way), None) for shape, way in OPTIMISED if way == direction]
    assert wrong(cases, values=("integer", "float")) == []


@pytest.mark.parametrize(("layout", "direction"), in_turn(["NHWC", "CNHW"], DIRECTIONS, whole=["NHWC"]))
def test_layouts(layout: str, direction: int, build: Any) -> None:
    check(build(conv(HARDEST, direction, layout)))


@pytest.mark.parametrize("op", TYPES)
def test_types(op: str, build: Any) -> None:
    check(build(conv("primes, 3x3", 1, "NHWC", op)))


def test_types_on_lanes() -> None:
    cases = [Case(conv("primes, 3x3", 1, "NHWC", op), None) for op in TYPES]
    assert wrong(cases, values=("integer", "float")) == []


@pytest.mark.parametrize(("direction", "op"), in_turn([2, 4], ["convfp16", "convbfp16", "convfp64"]))
def test_gradients_of_types(op: str, direction: int, build: Any) -> None:
    check(build(conv("primes, 3x3", direction, "NCHW", op)))


def test_atomic_backward_data(build: Any) -> None:
    """v1r1 adds overlapping windows into zeros."""
    check(build(conv("primes, 3x3", 2), algorithm="v1r1"))


GEMMS = (
    Gemm(m=1, n=1, k=1),
    Gemm(m=129, n=65, k=33),
    Gemm(m=37, n=53, k=701, transpose_a=True),
    Gemm(m=64, n=48, k=100, transpose_b=True, alpha=2.0, beta=3.0),
    Gemm(m=31, n=7, k=5, batch=3, transpose_a=True, transpose_b=True, beta=1.0),
    Gemm(m=257, n=300, k=257, dtype="f16"),
    Gemm(m=33, n=47, k=129, dtype="bf16", alpha=2.0),
    Gemm(m=40, n=70, k=90, dtype="i8"),
    Gemm(m=19, n=23, k=64, dtype="f64", beta=-1.0),
)


OPTIMISED_GEMMS = one_in(2, GEMMS[:5]) + list(GEMMS[5:])
"""Of test_optimised: each type, and of f32 one element, a transposed A, and batches."""


@pytest.mark.parametrize("gemm", [g for g in GEMMS if g not in OPTIMISED_GEMMS], ids=lambda g: g.key())
def test_gemm(gemm: Gemm, build: Any) -> None:
    check(build(gemm))


def test_gemm_on_lanes() -> None:
    cases = [Case(gemm, None) for gemm in GEMMS]
    assert wrong(cases, values=("integer", "float")) == []
