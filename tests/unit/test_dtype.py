"""Element types against NumPy's own facts, and the error bound against sums that were really rounded."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import (
    BF16,
    DTYPES,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F16,
    F32,
    I8,
    I32,
    TF32,
    DType,
    dtype,
    tolerance,
)

FLOATS = [t for t in DTYPES.values() if t.is_float]
WHOLE = [t for t in DTYPES.values() if t.read_bits is None]
EIGHT_BITS = [F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ]


def finfo(element: DType) -> Any:
    return ml_dtypes.finfo(element.numpy)


@pytest.mark.parametrize("element", DTYPES.values(), ids=str)
def test_names_find_their_types(element: DType) -> None:
    assert element.numpy.itemsize == element.bytes
    assert dtype(element.name.upper()) is element


@pytest.mark.parametrize("element", WHOLE, ids=str)
def test_element_types_of_arrays_are_those_of_numpy(element: DType) -> None:
    assert dtype(element.numpy) is element


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_float_facts_are_those_of_finfo(element: DType) -> None:
    facts = finfo(element)
    assert 2 * element.unit_roundoff == float(facts.eps)
    assert element.smallest_normal == float(facts.smallest_normal)
    assert element.smallest_subnormal == float(facts.smallest_subnormal)
    assert element.largest == float(facts.max)


@pytest.mark.parametrize("element", [I8, I32], ids=str)
def test_integer_facts(element: DType) -> None:
    assert element.largest == np.iinfo(element.numpy).max
    assert element.unit_roundoff == element.smallest_normal == element.smallest_subnormal == 0
    assert not element.is_float


def test_accumulators_and_outputs() -> None:
    assert {str(t): (str(t.accumulator), str(t.output)) for t in DTYPES.values()} == {
        "f32": ("f32", "f32"),
        "f16": ("f32", "f16"),
        "bf16": ("f32", "bf16"),
        "f64": ("f64", "f64"),
        "f8e4m3fn": ("f32", "f32"),
        "f8e5m2": ("f32", "f32"),
        "f8e4m3fnuz": ("f32", "f32"),
        "f8e5m2fnuz": ("f32", "f32"),
        "tf32": ("f32", "f32"),
        "i8": ("i32", "i32"),
        "i32": ("i32", "i32"),
    }


@pytest.mark.parametrize(
    ("alias", "element"), list(zip(["fp8", "fp8_fnuz", "bf8", "bf8_fnuz"], EIGHT_BITS, strict=True))
)
def test_short_names_of_8_bit_floats(alias: str, element: DType) -> None:
    """Without a suffix, the Open Compute Project's format."""
    assert dtype(alias) is element
    assert dtype(element.numpy.name) is element


@pytest.mark.parametrize("element", EIGHT_BITS, ids=str)
def test_small_integers_are_exact_in_8_bit_floats(element: DType) -> None:
    whole = np.arange(-8, 9)
    assert np.array_equal(whole.astype(element.numpy).astype(np.int64), whole)


@pytest.mark.parametrize("name", ["f8", "complex64", "", object()])
def test_unknown_names_are_diagnostics(name: Any) -> None:
    with pytest.raises(Diagnostic, match="unknown element type"):
        dtype(name)


def test_unknown_name_hints_at_the_nearest() -> None:
    with pytest.raises(Diagnostic) as caught:
        dtype("bfloat61")
    assert caught.value.hint == "did you mean 'bfloat16'?"


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
    assert np.all(np.abs(got - want) <= tolerance(element, terms, data=data).bound(want, magnitude))


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


def test_the_random_bound_is_the_smaller_one_for_long_sums() -> None:
    certain, likely = tolerance(F32, 10**6), tolerance(F32, 10**6, data="random")
    assert likely.of_magnitude < certain.of_magnitude / 50
    assert tolerance(F32, 9, data="random").of_magnitude == tolerance(F32, 9).of_magnitude


def test_integers_have_no_tolerance() -> None:
    zeros = np.zeros(3)
    assert not tolerance(I8, 1000).bound(zeros + 5, zeros + 9).any()
