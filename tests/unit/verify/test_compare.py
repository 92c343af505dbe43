"""Compare: what passes, what fails and where, and poison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imbrex.dtype import DTYPES, DType
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.compare import Comparison, compare, compare_arrays
from imbrex.verify.data import random_operands
from imbrex.verify.poison import is_poison, poison, poisoned
from imbrex.verify.reference import Reference, reference

CONV = Conv2d("forward", 1, 4, 6, 6, 8, 3, 3, output_layout="NHWK")


def case(
    values: Any = "float", problem: Conv2d | Gemm = CONV
) -> tuple[np.ndarray[Any, Any], Reference, bool]:
    operands = random_operands(problem, 7, values)
    truth = reference(problem, operands.arrays)
    element = next(operand.dtype for operand in problem.operands if operand.is_written)
    return truth.want.astype(element.numpy), truth, operands.is_exact


def test_the_right_result_is_right() -> None:
    got, truth, is_exact = case()
    assert not is_exact
    found = compare(CONV, got, truth, data="random")
    assert found.is_right
    assert found.first is None
    assert 0 < found.max_error_ratio < 1
    assert str(found).startswith("right: 128 elements, largest error 0.")


def test_exact_results_allow_no_error() -> None:
    got, truth, is_exact = case("integer")
    assert is_exact
    assert str(compare(CONV, got, truth, is_exact=True)) == "right: 128 elements, all equal"
    got[0, 1, 2, 3] = np.nextafter(got[0, 1, 2, 3], np.float32(np.inf))
    assert compare(CONV, got, truth).is_right
    found = compare(CONV, got, truth, is_exact=True)
    assert (found.wrong, found.max_error_ratio) == (1, np.inf)


def test_the_first_mismatch_has_its_coordinates_by_name() -> None:
    got, truth, _ = case()
    got[0, 1, 2, 3] += 1
    got[0, 3, 0, 0] += 1
    found = compare(CONV, got, truth)
    assert found.wrong == 2
    assert found.first is not None
    assert found.first.coordinates == (("n", 0), ("ho", 1), ("wo", 2), ("k", 3))
    assert found.first.got == pytest.approx(found.first.want + 1)
    assert "wrong: 2 of 128 elements; first at n=0 ho=1 wo=2 k=3: got " in str(found)
    assert found.max_error_ratio > 100


def test_elements_never_written_are_counted() -> None:
    _, truth, _ = case()
    got = poisoned(CONV.shapes("output"), CONV.element("output"))
    got[0] = truth.want[0]
    poison(got[0, 2])
    found = compare(CONV, got, truth)
    assert (found.wrong, found.unwritten) == (32, 32)
    assert "(32 never written); first at n=0 ho=2 wo=0 k=0: nothing written, want " in str(found)


def test_a_computed_nan_is_wrong_and_not_unwritten() -> None:
    got, truth, _ = case()
    got[0, 0, 0, 0] = np.nan
    found = compare(CONV, got, truth)
    assert (found.wrong, found.unwritten, found.max_error_ratio) == (1, 0, np.inf)


def check(got: Any, want: Any, bound: float = 0.5, dtype: Any = np.float32) -> Comparison:
    want = np.array([want], np.float64)
    return compare_arrays(np.array([got], dtype), want, np.full(1, bound), ("i",))


@pytest.mark.parametrize(
    ("got", "want", "right"),
    [
        (1.5, 1.0, True),
        (1.51, 1.0, False),
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, np.inf, True),
        (-np.inf, np.inf, False),
        (np.inf, 1.0, False),
        (1.0, np.inf, False),
        (np.inf, 4e38, True),
        (-np.inf, 4e38, False),
        (-0.0, 0.0, True),
    ],
)
def test_special_values(got: float, want: float, right: bool) -> None:
    found = check(got, want)
    assert found.is_right is right
    assert (found.first is None) is right
    assert (found.max_error_ratio <= 1) is right


def test_f16_overflow_is_right_only_near_the_largest() -> None:
    assert check(np.inf, 65520.0, 0.0, np.float16).is_right
    assert check(np.inf, 65000.0, 600.0, np.float16).is_right
    assert not check(np.inf, 65000.0, 1.0, np.float16).is_right


def test_exact_means_rounded_once() -> None:
    assert check(2048.0, 2049.0, 0.0, np.float16).is_right
    assert not check(2050.0, 2049.0, 0.0, np.float16).is_right


def test_i8_results_wrap_and_are_exact() -> None:
    gemm = Gemm(1, 1, 200000, dtype="i8")
    arrays = {"a": np.full((1, 200000), 127, np.int8), "b": np.full((200000, 1), 127, np.int8)}
    truth = reference(gemm, arrays)
    wrapped = np.array([[200000 * 127 * 127 - 2**32]], np.int32)
    assert compare(gemm, wrapped, truth).is_right
    assert not compare(gemm, wrapped + 1, truth).is_right


def test_a_wrong_shape_is_refused() -> None:
    got, truth, _ = case()
    with pytest.raises(ValueError, match="'output' must have shape"):
        compare(CONV, got[0], truth)


@pytest.mark.parametrize("element", [t for t in DTYPES.values() if t.pack == 1], ids=str)
def test_poison_fills_and_is_no_number(element: DType) -> None:
    array = poisoned((3, 4), element)
    assert is_poison(array).all()
    assert not element.is_float or np.isnan(array.astype(np.float64)).all()


@pytest.mark.parametrize(
    "element", [t for t in DTYPES.values() if t.output == t or (t.bytes > 1 and t.pack == 1)], ids=str
)
def test_poison_is_told_from_every_computed_value(element: DType) -> None:
    array = poisoned((3, 4), element)
    assert array.dtype == element.numpy
    assert is_poison(array).all()
    array[1] = 0
    array[2] = np.nan if element.is_float else 7
    assert is_poison(array).any(axis=1).tolist() == [True, False, False]
    assert not element.is_float or np.isnan(array[0].astype(np.float64)).all()


def test_poison_reaches_through_strides() -> None:
    array = np.zeros((4, 4), np.float32)
    poison(array[:, 1:3])
    assert is_poison(array).tolist() == [[False, True, True, False]] * 4
