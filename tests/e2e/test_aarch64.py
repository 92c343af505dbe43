"""Kernels for AArch64, compiled here and run in QEMU, against float64: a few in every run, which between them
have each family, type and level; with IMBREX_TESTS=all every type in all transposes, directions and
layouts on every level.
"""

from __future__ import annotations

import os
from itertools import product

import numpy as np
import pytest
from ml_dtypes import bfloat16
from tests.qemu import needs_qemu

import imbrex
from imbrex.chip import CPU_ISAS
from imbrex.config.cpu.plan import CpuTuning
from imbrex.problem import Conv2d, Gemm, Problem

LAST = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
FIRST: dict[str, str] = {}
SHAPE = {"n": 2, "c": 7, "h": 13, "w": 11, "k": 9, "y": 3, "x": 3, "pad_h": 1, "pad_w": 1}
DIRECTIONS = ("forward", "backward_data", "backward_weight")
TYPES = ("f32", "f64", "f16", "bf16", "i8")


def conv(direction: str, layout: dict[str, str], dtype: str = "f32", **given: int | str) -> Conv2d:
    return Conv2d(direction, **SHAPE | given, **layout, dtype=dtype)  # type: ignore[arg-type]


FEW: tuple[tuple[str, Problem], ...] = (
    ("neon", Gemm(37, 53, 71, transpose_a=True, epilogue="relu(x + bias) + residual")),
    ("neon", Gemm(45, 7, 19, dtype="f16", transpose_b=True, alpha=2.0, beta=3.0)),
    ("neon", conv("backward_data", FIRST, "f64", dilation=2)),
    ("neon", conv("backward_weight", FIRST, c=8, k=8, groups=8)),
    ("neon_dot", Gemm(9, 33, 70, dtype="i8", batch=3)),
    ("neon_mmla", Gemm(41, 33, 71, dtype="bf16", transpose_a=True)),
    ("neon_mmla", conv("forward", LAST, "i8", c=21)),
    ("sve256", conv("forward", LAST, "f16", stride=2)),
    ("sve256_mmla", conv("backward_data", FIRST, "bf16", groups=1)),
    ("sve512", Gemm(33, 75, 40, transpose_b=True)),
)
"""Families, types and levels; awkward sizes."""


def every() -> tuple[tuple[str, Problem], ...]:
    products = [
        Gemm(m, n, k, dtype=t, transpose_a=a, transpose_b=b)
        for t, a, b in product((*TYPES, "f8e4m3fn"), (False, True), (False, True))
        for m, n, k in ((37, 53, 71), (1, 67, 129), (131, 7, 5))
    ]
    plain = [conv(d, layout, t) for d, layout, t in product(DIRECTIONS, (FIRST, LAST), TYPES[:-1])]
    whole = [conv("forward", layout, "i8") for layout in (FIRST, LAST)]
    shapes = ({"stride": 2}, {"dilation": 2}, {"c": 8, "k": 8, "groups": 8}, {"c": 8, "k": 16, "groups": 2})
    further = [conv(d, layout, "f16", **s) for d, layout, s in product(DIRECTIONS, (FIRST, LAST), shapes)]
    problems = (*products, *plain, *whole, *further)
    return tuple(product((name for name, row in CPU_ISAS.items() if row.qemu), problems))


CASES = every() if os.environ.get("IMBREX_TESTS") == "all" else FEW


@needs_qemu
@pytest.mark.parametrize(("level", "problem"), CASES, ids=str)
def test_right_in_qemu(level: str, problem: Problem) -> None:
    found = imbrex.compile(problem, level, emulate=True, threads=2).check()
    assert found.is_right, str(found)


@needs_qemu
@pytest.mark.parametrize(("level", "unit"), [("neon_mmla", "smmla"), ("sve256", "sdot")])
def test_bytes_are_exact_whatever_they_are(level: str, unit: str) -> None:
    kernel = imbrex.compile("gemm -t i8 -m 5 -n 13 -k 203", level, emulate=True, threads=1)
    (tuning,) = kernel.tunings
    assert isinstance(tuning, CpuTuning) and tuning.unit == unit
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((5, 203), (203, 13)))
    a[0], b[:, 0], a[1] = -128, -128, 127
    np.testing.assert_array_equal(kernel(a, b), a.astype(np.int32) @ b.astype(np.int32))


@needs_qemu
@pytest.mark.parametrize(("level", "wanted"), [("neon", 2.0**-30), ("neon_mmla", 0.0)])
def test_subnormal_numbers_of_a_unit_that_reads_zeros(level: str, wanted: float) -> None:
    """As docs/semantics.md says."""
    kernel = imbrex.compile("gemm -t bf16 -m 2 -n 2 -k 4", level, emulate=True, threads=1)
    small, large = (np.full((m, n), 2.0**e, bfloat16) for m, n, e in ((2, 4, -132), (4, 2, 100)))
    assert (kernel(small, large).astype(np.float64) == wanted).all()


@needs_qemu
def test_a_masked_load_beside_other_lanes_compiles() -> None:
    """clang 22 cannot compile a load of SVE's whose other lanes are not zero."""
    tuning = "v1:cpu:1,4,3,4,64,4,k_blocked,b,straight"
    problem = conv("forward", LAST, "f8e4m3fnuz", n=1, c=3, k=1, h=8, w=6, stride=2, dilation=2)
    assert imbrex.compile(problem, "sve128", tuning, emulate=True).check(values="integer").is_right
