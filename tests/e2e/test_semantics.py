"""docs/semantics.md, on the CPU and by the schedule of a GPU: every line of its table that these stand in.

Hopper's are in test_semantics_hopper.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.semantics import expect_casts, expect_numbers, expect_sums_to_wrap, expect_unread

from imbrex.chip import CPU_ISAS
from imbrex.kernel import compile
from imbrex.kernel.target import target_of
from imbrex.problem import Gemm
from imbrex.run.host_machine import host_machine
from imbrex.view.mma.vector import CPU_UNITS

HOST = CPU_ISAS[host_machine().isa.level]
BOTH = pytest.mark.parametrize("target", ["cpu", "emulate"])


@pytest.fixture(scope="module", autouse=True)
def effort() -> None:
    """What users' kernels get, which is what could change a number."""


@pytest.mark.parametrize(
    ("dtype", "target"),
    [("f32", "cpu"), ("f16", "cpu"), ("bf16", "cpu"), ("f16", "emulate")],
    ids=str,
)
def test_numbers(dtype: str, target: str) -> None:
    flushed = {unit.operand for unit in CPU_UNITS.values() if unit.numbers == "flushed" and unit.fits(HOST)}
    expect_numbers(dtype, target, flushes=target == "cpu" and dtype in flushed)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_gpu_that_flushes_halves_does_so_lane_by_lane(dtype: str) -> None:
    expect_numbers(dtype, target_of("gfx90a", emulate=True), flushes=True)


@pytest.mark.parametrize(
    ("result", "dtype", "target"),
    [("i32", "f32", "cpu"), ("i32", "f64", "cpu"), ("i32", "f32", "emulate"), ("i8", "f16", "emulate")],
)
def test_casts(result: str, dtype: str, target: str) -> None:
    expect_casts(result, target, dtype)


@pytest.mark.parametrize(("dtype", "target"), [("f16", "cpu"), ("f32", "emulate")])
def test_what_a_factor_of_0_multiplies_is_not_read(dtype: str, target: str) -> None:
    expect_unread(dtype, target)


@BOTH
def test_sums_of_integers_wrap(target: str) -> None:
    expect_sums_to_wrap(target)


def test_zeros_have_signs_and_nan_passes() -> None:
    """1 / -0 is -inf, 1 / abs(-0) +inf; clamp, which is min of max, keeps a NaN."""
    kernel = compile(Gemm(4, 4, 4, epilogue="clamp(1 / abs(-x), -5, 5) + clamp(1 / -x, -7, 7)"))
    a = np.zeros((4, 4), np.float32)
    a[1, 0], a[2] = np.nan, -0.0
    got = kernel(a, np.ones((4, 4), np.float32))
    assert np.isnan(got[1]).all() and (got[[0, 2, 3]] == 5 - 7).all()


def test_narrow_floats() -> None:
    """What is too large for a type without infinity is NaN; a clamp before it saturates."""
    a = np.array([[448.0], [464.0], [465.0], [-1e9], [np.inf], [2.0**-9], [2.0**-10], [np.nan]], np.float32)
    kernel = compile(Gemm(8, 1, 1, epilogue="f8e4m3fn(x)"))
    got = kernel(a, np.ones((1, 1), np.float32)).astype(np.float32)[:, 0]
    np.testing.assert_array_equal(got, [448, 448, np.nan, np.nan, np.nan, 2.0**-9, 0, np.nan])
