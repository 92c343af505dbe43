"""Indices and numbers as C: the text, and its value where a C compiler's rules and Python's agree."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import numpy as np
import pytest

from imbrex.build.toolchain import WARNINGS, compile_shared
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import BF16, F16, F32, F64, I8, I32, DType
from imbrex.emit import c
from imbrex.index.expr import Lin, lin, select, var, xor
from imbrex.index.rule import Guard

ROW, J = var("i", 100), var("j", 7)
WIDE = var("n", 1 << 30)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (lin(0), "0"),
        (ROW, "i"),
        (ROW * 3 - 2, "3 * i - 2"),
        (ROW // 7, "i / 7"),
        ((ROW + 5) // 7 + J, "((i + 5) / 7) + j"),
        (ROW % 7 * 4 + J, "4 * (i % 7) + j"),
        (select(ROW - 5, ROW, J), "i - 5 >= 0 ? i : j"),
        (xor(ROW, J), "i ^ j"),
        (WIDE * 4 + ROW, "4 * int64_t(n) + int64_t(i)"),
    ],
)
def test_text(index: Lin, text: str) -> None:
    assert c.index(index) == text


def test_the_type_holds_every_value() -> None:
    assert c.index_type(ROW * 1000) == "int32_t"
    assert c.index_type(WIDE) == "int32_t"
    assert c.index_type(WIDE * 4) == "int64_t"
    assert c.index_type(ROW * -(1 << 27)) == "int64_t"


def test_a_guard_is_one_unsigned_compare() -> None:
    assert c.guard(Guard(ROW - 3, 50)) == "uint32_t(i - 3) < 50u"
    assert c.guard(Guard(WIDE * 4, 50)) == "uint64_t(4 * int64_t(n)) < 50u"


def test_what_is_divided_is_never_negative() -> None:
    """C rounds to zero."""
    assert c.index((J - ROW) // 7) == "((-1 * i + j + 105) / 7) - 15"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.0, F32, "1.f"),
        (-2.0, F16, "-2.f"),
        (0.5, F64, "0x1p-1"),
        (0.1, F32, "0x1.99999ap-4f"),
        (16777217.0, F32, "0x1p+24f"),
        (1e11, BF16, "0x1.74876ep+36f"),
        (-0.0, F32, "-0.f"),
        (1e300, F32, "__builtin_huge_valf()"),
        (math.nan, F64, '__builtin_nan("")'),
        (-7, I8, "-7"),
        (-(2.0**31), I32, "(-2147483647 - 1)"),
    ],
)
def test_a_number_is_that_of_its_type(value: float, dtype: DType, text: str) -> None:
    assert c.number(value, dtype) == text


@pytest.mark.parametrize("value", [0.5, 2.0**31, -(2.0**31) - 1, math.inf, math.nan])
def test_what_is_no_integer_is_refused(value: float) -> None:
    with pytest.raises(Diagnostic, match="no whole number of 32 bits"):
        c.number(value, I8)


CORNERS = (
    0.0,
    -0.0,
    5e-324,
    1e-310,
    1.4e-45,
    1e-40,
    16777217.0,
    2.0**31,
    2.0**63,
    2.0**64,
    3.4e38,
    1e300,
    0.1,
)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_a_compiler_reads_every_number_as_it_is(dtype: DType, tmp_path: Path) -> None:
    """One compilation for all of them; warnings are errors, so that nothing is said of any."""
    numbers = [*CORNERS, -1e11, 1e20, math.inf, -math.inf, math.nan, *drawn(dtype, 500)]
    texts = ",\n".join(c.number(x, dtype) for x in numbers)
    source = f'extern "C" const {dtype.c_name} numbers[] = {{\n{texts}}};\n'
    library = ctypes.CDLL(str(compile_shared({"n.cpp": source}, tmp_path, flags=(*WARNINGS, "-Werror"))))
    kind = ctypes.c_float if dtype == F32 else ctypes.c_double
    read = np.array((kind * len(numbers)).in_dll(library, "numbers"), dtype.numpy)
    with np.errstate(over="ignore"):
        want = np.array(numbers).astype(dtype.numpy)
    bits = f"u{dtype.bytes}"
    assert np.array_equal(read.view(bits)[~np.isnan(want)], want.view(bits)[~np.isnan(want)])
    assert np.isnan(read[np.isnan(want)]).all()


def drawn(dtype: DType, count: int) -> list[float]:
    """Numbers of all exponents, of that type and of the wider one."""
    bits = np.random.default_rng(count).integers(0, 1 << 63, count, np.uint64)
    narrow = bits.view("f8") if dtype == F64 else (bits >> np.uint64(32)).astype("u4").view("f4")
    return [float(x) for x in narrow[np.isfinite(narrow)]]
