"""Kernels for AArch64, compiled here and run in QEMU, against float64: a few in every run, which between them
have each family and type; with IMBREX_TESTS=all every type in all transposes, directions and layouts.
"""

from __future__ import annotations

import os
from itertools import product

import pytest
from tests.qemu import needs_qemu

import imbrex
from imbrex.problem import Conv2d, Gemm, Problem, problem_text

LAST = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
FIRST: dict[str, str] = {}
SHAPE = {"n": 2, "c": 7, "h": 13, "w": 11, "k": 9, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1}
DIRECTIONS = ("forward", "backward_data", "backward_weight")
TYPES = ("f32", "f64", "f16", "bf16", "i8")


def conv(direction: str, layout: dict[str, str], dtype: str = "f32", **given: int | str) -> Conv2d:
    return Conv2d(direction, **SHAPE | given, **layout, dtype=dtype)  # type: ignore[arg-type]


FEW: tuple[Problem, ...] = (
    Gemm(37, 53, 71, transpose_a=True, epilogue="relu(x + bias) + residual"),
    Gemm(45, 7, 19, dtype="f16", transpose_b=True, alpha=2.0, beta=3.0),
    Gemm(9, 33, 70, dtype="i8", batch=3),
    conv("forward", LAST, "bf16", stride=2),
    conv("backward_data", FIRST, "f64", dilation=2),
    conv("backward_weight", FIRST, c=8, k=8, groups=8),
)


def every() -> tuple[Problem, ...]:
    products = [
        Gemm(m, n, k, dtype=t, transpose_a=a, transpose_b=b)
        for t, a, b in product((*TYPES, "f8e4m3fn"), (False, True), (False, True))
        for m, n, k in ((37, 53, 71), (1, 67, 129), (131, 7, 5))
    ]
    plain = [conv(d, layout, t) for d, layout, t in product(DIRECTIONS, (FIRST, LAST), TYPES[:-1])]
    whole = [conv("forward", layout, "i8") for layout in (FIRST, LAST)]
    shapes = ({"stride": 2}, {"dilation": 2}, {"c": 8, "k": 8, "groups": 8}, {"c": 8, "k": 16, "groups": 2})
    further = [conv(d, layout, "f16", **s) for d, layout, s in product(DIRECTIONS, (FIRST, LAST), shapes)]
    return (*products, *plain, *whole, *further)


CASES = every() if os.environ.get("IMBREX_TESTS") == "all" else FEW


@needs_qemu
@pytest.mark.parametrize("problem", CASES, ids=problem_text)
def test_right_in_qemu(problem: Problem) -> None:
    found = imbrex.compile(problem, "neon", emulate=True, threads=2).check()
    assert found.is_right, str(found)


@needs_qemu
def test_a_masked_load_beside_other_lanes_compiles() -> None:
    """clang 22 cannot compile a load of SVE's whose other lanes are not zero."""
    tuning = "v1:cpu:1,4,3,4,64,4,k_blocked,b,straight"
    problem = conv("forward", LAST, "f8e4m3fnuz", n=1, c=3, k=1, h=8, w=6, stride=2, dilation=2)
    assert imbrex.compile(problem, "sve128", tuning, emulate=True).check(values="integer").is_right
