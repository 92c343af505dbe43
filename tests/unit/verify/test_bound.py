"""Bounds: no right sum breaks them, and they are not idle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.chip import GPU_MACHINES
from imbrex.dtype import BF16, DTYPES, F8E4M3FN, F8E5M2FNUZ, F16, F32, F64, I8, TF32, DType
from imbrex.problem import Gemm
from imbrex.verify.bound import DEVIATION, tolerance
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference
from imbrex.verify.unit import unit_of


@pytest.mark.parametrize("element", [F16, BF16, F32, F8E4M3FN, F8E5M2FNUZ], ids=str)
@pytest.mark.parametrize("data", ["any", "random"])
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), terms=st.integers(1, 3000))
def test_rounded_sums_keep_the_bound(element: DType, data: Any, seed: int, terms: int) -> None:
    random = np.random.default_rng(seed)
    a, b = (random.uniform(-1, 1, (terms, 16)).astype(element.numpy).astype(np.float32) for _ in range(2))
    total = np.zeros(16, np.float32)
    for row_a, row_b in zip(a, b, strict=True):
        total += row_a * row_b
    got = total.astype(element.output.numpy).astype(np.float64)
    products = a.astype(np.float64) * b
    want, magnitude = products.sum(0), np.abs(products).sum(0)
    assert np.all(
        np.abs(got - want) <= tolerance(element, terms, data=data, elements=16).bound(want, magnitude)
    )


def test_the_bound_is_not_idle() -> None:
    """Sums kept in too narrow an accumulator, and a term left out, break it."""
    random = np.random.default_rng(1)
    a, b = (random.uniform(-1, 1, (500, 64)).astype(np.float16) for _ in range(2))
    products = a.astype(np.float64) * b
    want, magnitude = products.sum(0), np.abs(products).sum(0)
    bound = tolerance(F16, 500, data="random").bound(want, magnitude)
    narrow = np.zeros(64, np.float16)
    for row_a, row_b in zip(a, b, strict=True):
        narrow += row_a * row_b
    assert np.any(np.abs(narrow.astype(np.float64) - want) > bound)
    assert np.mean(np.abs(products[1:].sum(0) - want) > bound) > 0.8


def with_bits(array: Any, bits: int, nearest: bool) -> Any:
    """f32 values of which `bits` of the significand are left."""
    dropped = 24 - bits
    half = (1 << (dropped - 1)) if nearest else 0
    return ((array.view(np.uint32) + half) >> dropped << dropped).view(np.float32)


@pytest.mark.parametrize("nearest", [True, False], ids=["rounded", "dropped"])
@pytest.mark.parametrize("data", ["any", "random"])
@pytest.mark.parametrize("terms", [1, 7, 500, 3000])
def test_operands_of_11_bits_keep_the_bound(nearest: bool, data: Any, terms: int) -> None:
    random = np.random.default_rng(terms)
    low = -1 if data == "random" else 0
    a, b = (random.uniform(low, 1, (terms, 64)).astype(np.float32) for _ in range(2))
    got = (with_bits(a, 11, nearest).astype(np.float64) * with_bits(b, 11, nearest)).sum(0)
    products = a.astype(np.float64) * b
    want, magnitude = products.sum(0), np.abs(products).sum(0)
    assert np.all(np.abs(got - want) <= tolerance(TF32, terms, data=data).bound(want, magnitude))
    if terms == 1:
        assert np.any(np.abs(got - want) > tolerance(F32, terms, data=data).bound(want, magnitude))
    narrow = (with_bits(a, 8, False).astype(np.float64) * with_bits(b, 8, False)).sum(0)
    if data == "any":
        assert np.any(np.abs(narrow - want) > tolerance(TF32, terms).bound(want, magnitude))


def test_narrow_outputs_round_once_more() -> None:
    assert tolerance(F32, 10).of_want == 0
    assert tolerance(F16, 10).of_want == 2**-11
    assert tolerance(BF16, 10).of_want == 2**-8
    assert tolerance(F8E4M3FN, 10) == tolerance(F32, 10)


def test_the_random_bound_grows_with_the_length_and_the_certain_one_with_its_square() -> None:
    """sum |a||b| is K / 4 of uniform data."""
    for terms in (1000, 10**6):
        likely, longer = (tolerance(F32, k, data="random").absolute for k in (terms, 16 * terms))
        assert 15.9 < longer / likely < 16.1
        assert likely < tolerance(F32, terms).of_magnitude * terms / 4
    assert tolerance(F32, 3, data="random").absolute <= 3 * 3 * F32.unit_roundoff * 1.01


def test_the_random_bound_is_near_what_sums_do() -> None:
    """An order of magnitude above the largest error, and seen to grow as it does."""
    random = np.random.default_rng(4)
    for terms in (64, 1024, 16384):
        a, b = (random.uniform(-1, 1, (terms, 200)).astype(np.float32) for _ in range(2))
        got = np.cumsum(a * b, axis=0, dtype=np.float32)[-1]
        worst = np.abs(got - (a.astype(np.float64) * b).sum(0)).max()
        assert 3 < tolerance(F32, terms, data="random", elements=200).absolute / worst < 30


def test_alpha_is_a_part_of_it() -> None:
    one, more = (tolerance(F32, 1000, data="random", alpha=alpha).absolute for alpha in (1.0, -8.0))
    assert more == pytest.approx(8 * one)


def test_whole_numbers_leave_the_roundings_of_alpha() -> None:
    few, whole = (tolerance(F16, 4096, data=data) for data in ("few", "whole"))  # type: ignore[arg-type]
    assert few.of_magnitude == whole.of_magnitude == 0
    assert few.absolute < whole.absolute < 1e-2


def test_a_unit_that_truncates_has_a_wider_bound() -> None:
    for terms in (16, 512, 8192):
        laws = [
            tolerance(F8E4M3FN, terms, data="random", unit=unit_of(c, F8E4M3FN)) for c in (None, "sm_90a")
        ]
        assert laws[1].absolute > 10 * laws[0].absolute
    assert unit_of("sm_90a", F32) == unit_of("gfx908", F16) == unit_of(None, BF16)
    assert unit_of("gfx942", F64).sum_bits == 52


def test_every_unit_names_its_source_and_a_type() -> None:
    for of_chip in (gpu.units for gpu in GPU_MACHINES.values()):
        for bits, unit in of_chip.items():
            assert unit.source and bits in {t.multiplied_bits for t in DTYPES.values() if t.is_float}


def test_the_deviation_is_that_of_uniform_numbers() -> None:
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 10**6))
    assert np.std(a * b) == pytest.approx(DEVIATION, rel=0.01)


def test_integers_have_no_tolerance() -> None:
    zeros = np.zeros(3)
    assert not tolerance(I8, 1000).bound(zeros + 5, zeros + 9, zeros).any()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_what_gfx90a_flushes_may_be_missing(dtype: str) -> None:
    """Zeros for products of subnormal numbers are right there, and wrong elsewhere."""
    problem = Gemm(3, 5, 8, dtype=dtype)
    small, large = float(problem.dtype.smallest_normal) / 64, 4.0 if dtype == "f16" else 2.0**20
    a, b = (np.full(shape, x).astype(problem.dtype.numpy) for shape, x in (((3, 8), small), ((8, 5), large)))
    result = np.zeros((3, 5), problem.dtype.output.numpy)
    for chip, is_right in (("gfx90a", True), ("gfx942", False)):
        unit = unit_of(chip, problem.dtype)
        truth = reference(problem, {"a": a, "b": b}, flushes=unit.flushes)
        found = compare(problem, result, truth, is_exact=False, data="any", unit=unit)
        assert (unit.flushes, found.is_right) == (is_right, is_right)


def test_a_machine_flushes_halves_where_its_unit_does() -> None:
    """Whoever executes its code objects, and whoever bounds their errors."""
    for name, machine in GPU_MACHINES.items():
        flushes = machine.code is not None and machine.code.flushes_halves
        assert unit_of(name, F16).flushes == unit_of(name, BF16).flushes == flushes
        assert not unit_of(name, F32).flushes
