"""Indices as C: the text, and its value where a C compiler's rules and Python's agree."""

from __future__ import annotations

import pytest

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


def test_a_quotient_of_a_negative_index_is_refused() -> None:
    with pytest.raises(AssertionError, match="may be negative"):
        c.index((J - ROW) // 7)


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (-2.0, "-2"), (0.5, "0x1.0000000000000p-1")])
def test_numbers_are_exact(value: float, text: str) -> None:
    assert c.number(value) == text
    assert float.fromhex(text) == value
