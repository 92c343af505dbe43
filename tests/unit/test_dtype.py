"""Element types against NumPy's own facts, and the error bound against sums that were really rounded."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import (
    DTYPES,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F32,
    I8,
    I32,
    PACKED,
    PAIRS,
    DType,
    dtype,
    microscaled,
    packed,
    product_of,
    product_of_packs,
    widened,
)

FLOATS = [t for t in DTYPES.values() if t.is_float]
WHOLE = [t for t in DTYPES.values() if t.read_bits is None and not t.is_microscaled]
EIGHT_BITS = [F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ]


def finfo(element: DType) -> Any:
    return ml_dtypes.finfo(element.unpacked)


@pytest.mark.parametrize("element", DTYPES.values(), ids=str)
def test_names_find_their_types(element: DType) -> None:
    assert element.numpy.itemsize == element.bytes
    assert dtype(element.name.upper()) is element


@pytest.mark.parametrize("element", WHOLE, ids=str)
def test_element_types_of_arrays_are_those_of_numpy(element: DType) -> None:
    assert dtype(element.unpacked) is element


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_float_facts_are_those_of_finfo(element: DType) -> None:
    facts = finfo(element)
    assert 2 * element.unit_roundoff == float(facts.eps)
    assert element.smallest_normal == float(facts.smallest_normal)
    assert element.smallest_subnormal == float(facts.smallest_subnormal)
    assert element.largest == float(facts.max)


@pytest.mark.parametrize("element", [t for t in WHOLE if t.is_float and t.pack == 1], ids=str)
def test_poison_is_a_nan_that_nobody_computes(element: DType) -> None:
    """Neither of NumPy's two, where there are others; else the second, with the sign."""
    bits: Any = np.dtype(f"u{element.bytes}")
    made = np.array([np.nan, -np.nan]).astype(element.numpy).view(bits)
    codes = np.arange(1 << element.bits, dtype=bits) if element.bits <= 16 else bits.type([element.poison])
    with np.errstate(invalid="ignore"):  # some signal
        others = codes[np.isnan(codes.view(element.numpy)) & ~np.isin(codes, made)]
    assert element.poison in (others if others.size else made[1:])


def test_microscaled_types_are_of_their_elements() -> None:
    for element in DTYPES.values():
        found = microscaled(element)
        assert found is None or (found.is_microscaled and found.element is element), element
    scaled = [t for t in DTYPES.values() if t.is_microscaled]
    assert scaled and all(microscaled(t.element) is t for t in scaled)


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
        "e8m0": ("f32", "f32"),
        "mxf8e4m3fn": ("f32", "f32"),
        "mxf8e5m2": ("f32", "f32"),
        **{f"{mx}{t}": ("f32", "f32") for t in ("f4e2m1fn", "f6e2m3fn", "f6e3m2fn") for mx in ("", "mx")},
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


@pytest.mark.parametrize("element", [t for t in (*DTYPES.values(), *PACKED.values()) if t.pack > 1], ids=str)
def test_packs_hold_every_number_the_first_in_the_lowest_bits(element: DType) -> None:
    """By hand: number i of a row is the bits from `bits` * i on of the row as one integer."""
    codes = (np.arange(64).reshape(2, 32) % 2**element.bits).astype(np.uint8)
    values = codes.view(element.unpacked).astype(np.float64)
    found = packed(values, element)
    assert found.shape == (2, 32 // element.pack) and found.dtype == element.numpy
    for row, own in zip(found, codes, strict=True):
        whole = int.from_bytes(row.tobytes(), "little")
        assert [whole >> element.bits * i & (2**element.bits - 1) for i in range(32)] == own.tolist()
    assert np.array_equal(widened(found, element), values)


@pytest.mark.parametrize("name", ["f8", "complex64", "", object()])
def test_unknown_names_are_diagnostics(name: Any) -> None:
    with pytest.raises(Diagnostic, match="unknown element type"):
        dtype(name)


def test_unknown_name_hints_at_the_nearest() -> None:
    with pytest.raises(Diagnostic) as caught:
        dtype("bfloat61")
    assert caught.value.hint == "did you mean 'bfloat16'?"


@pytest.mark.parametrize("value", [np.float32(2), np.ones(3), None, [("a", "f4")], 5])
def test_what_has_a_type_is_none(value: Any) -> None:
    with pytest.raises(Diagnostic, match="unknown element type"):
        dtype(value)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=str)
def test_pairs_of_types_are_exchanged_and_scaled(pair: DType) -> None:
    a, b = pair.operands
    assert a != b and pair.bits == max(a.bits, b.bits) and pair.pack == max(a.pack, b.pack)
    assert pair.exchanged.operands == (b, a) and pair.exchanged.exchanged is pair
    assert pair.significand_bits == max(a.significand_bits, b.significand_bits)
    assert pair.largest == min(a.largest, b.largest)
    assert pair.smallest_normal == max(a.smallest_normal, b.smallest_normal)
    assert dtype(pair.name) is dtype(pair.aliases[0]) is pair if pair.aliases else dtype(pair.name) is pair
    plain = product_of(a, b)
    assert plain is not None and (pair is plain or pair is microscaled(plain))
    assert pair.is_operand == (pair.is_microscaled or (a.is_operand and b.is_operand))
    assert product_of(a, F32) is None and product_of(a, a) is a and F32.operands == (F32, F32)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=str)
def test_both_of_a_pair_are_counted_in_packs_of_as_many(pair: DType) -> None:
    """The same memory as the arrays', and no other packs make the product."""
    a, b = pair.packs
    assert a.pack == b.pack == pair.pack and (a.in_array, b.in_array) == pair.operands
    for counted, held in zip(pair.packs, pair.operands, strict=True):
        assert counted.bits == held.bits and counted.bytes * held.pack == held.bytes * counted.pack
    plain = product_of(*pair.operands)
    assert product_of_packs(a, b) is plain
    if (a, b) != pair.operands:
        assert product_of_packs(*pair.operands) is None


def test_elements_of_one_matrix_instruction_are_pairs() -> None:
    """Each two of OCP's floats of 8, 6 and 4 bits, with scales and without, and FNUZ's two of 8 bits."""
    assert len(PAIRS) == 5 * 4 + 5 * 4 + 2
    assert dtype("mxfp8_mxfp4").operands == (dtype("fp8"), dtype("f4e2m1fn"))
    assert product_of(F8E4M3FN, F8E5M2FNUZ) is None
