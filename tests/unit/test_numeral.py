"""Numeral: whatever a text or a value is, it is a number within its bounds, or none."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import imbrex
from imbrex.numeral import MOST, counted, decimal, is_spelled, json_whole, must_be, shown, whole

MANY = "9" * 5000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("7", 7), ("+7", 7), ("007", 7), ("0" * 9000 + "7", 7), (str(MOST), MOST),
        (str(MOST + 1), None), ("-1", None), (MANY, None), ("", None), ("-", None), ("1_0", None),
        (" 1", None), ("\u0663", None), ("1.0", None),
    ],
)  # fmt: skip
def test_whole(text: str, value: int | None) -> None:
    assert whole(text) == value


def test_the_largest_is_that_of_kernels() -> None:
    """Sizes, strides and counts are int64_t in C."""
    assert whole(str(2**63 - 1)) == np.iinfo(np.int64).max == MOST and whole(str(2**63)) is None


@given(st.integers(), st.integers(-5, 5), st.integers(0, 2**70))
def test_bounds_hold(value: int, least: int, most: int) -> None:
    wanted = value if least <= value <= min(most, MOST) and abs(value) <= MOST else None
    assert whole(str(value), least, min(most, MOST)) == wanted


@given(st.text())
@example(MANY)
@example("-" + MANY)
def test_no_text_raises(text: str) -> None:
    assert (whole(text, -MOST) is None) or is_spelled(text)
    assert decimal(text) is None or isinstance(decimal(text), float)
    assert len(shown(text)) < 100
    if is_spelled(text):
        assert len(must_be("'-n'", text, 1)) < 130


def test_json_numbers_without_end_are_floats() -> None:
    assert (json_whole("12"), json_whole("1" + "0" * 30), json_whole("9" * 400)) == (12, 1e30, float("inf"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("a", "'a'"),
        (10**5000, "a number of about 5001 digits"),
        (-(10**5000), "-a number of about 5001 digits"),
        ([10**5000], "a list too large to show"),
        ("a" * 100, "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (102 characters)"),
    ],
    ids=range(6),
)
def test_values_are_shown(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0", "k must be positive, got 0"),
        ("-" + MANY, "k must be positive, got -99999999999999999999999999999... (5001 digits)"),
        (MANY, f"k is at most {MOST}, got {'9' * 30}... (5000 digits)"),
        (10**5000, f"k is at most {MOST}, got a number of about 5001 digits"),
    ],
    ids=range(4),
)
def test_what_is_out_of_bounds_says_so(given: str | int, message: str) -> None:
    assert must_be("k", given, 1) == message


@pytest.mark.parametrize(
    ("number", "what", "text"),
    [
        (1, "thread", "1 thread"),
        (2, "thread", "2 threads"),
        (0, "row", "0 rows"),
        (1, "entry", "1 entry"),
        (3, "entry", "3 entries"),
        (2, "array", "2 arrays"),
        (2, "process", "2 processes"),
        (2, "box", "2 boxes"),
        (2, "batch", "2 batches"),
    ],
)
def test_a_number_and_what_it_counts(number: int, what: str, text: str) -> None:
    assert counted(number, what) == text


def test_a_verb_agrees_with_the_number() -> None:
    assert [counted(n, "row is", "rows are") for n in (1, 2)] == ["1 row is", "2 rows are"]


COUNTED = (
    "(?:array|block|call|candidate|channel|column|configuration|core|cycle|device|die|dimension|element|group"
    "|image|instruction|kernel|lane|layer|line|node|pixel|problem|register|row|segment|stage|step|thread|tile"
    "|trial|tuning|unit|wave|word|work item|workgroup)s|entries|processes"
    "|accesses|(?:matrix|extra|partial) [a-z]+s"
)
FIXED = re.compile(rf" (?:{COUNTED})\b(?! that\b|[(\[])")
SAID = ("cli", "torch", "jax", "function", "verify", "run", "emit", "explore", "capture", "kernel", "library")
"""Folders whose texts are for people."""


def _fixed_plurals(text: str) -> list[str]:
    """Numbers within a text of a program that a plural follows, whatever they are; no constants, and no
    sizes of several dimensions: `2 x 1 tiles`.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, number, after in zip(["", *node.values], node.values, node.values[1:], strict=False):
            if not (isinstance(number, ast.FormattedValue) and isinstance(after, ast.Constant)):
                continue
            is_size = isinstance(before, ast.Constant) and str(before.value).endswith(("x ", "= "))
            is_told = ast.unparse(number.value).isupper() or is_size or number.format_spec is not None
            if FIXED.match(str(after.value)) and not is_told:
                found.append(ast.unparse(node))
    return found


def test_no_report_counts_in_a_plural_that_is_fixed() -> None:
    """`1 kernels compiled`: what commands, reports, pages and sources say of a number goes by `counted`."""
    assert _fixed_plurals('f"{n} kernels"') and not _fixed_plurals(
        'f"{n} bytes, {m} x {n} tiles, {MOST} rows"'
    )
    package = Path(imbrex.__file__).parent
    files = [file for folder in SAID for file in sorted((package / folder).rglob("*.py"))]
    files.remove(package / "explore" / "ladder.py")  # sizes of rules, which are expressions
    files += [package / folder / "report.py" for folder in ("build/amd", "build/nvidia", "tuner")]
    files += [package / "lower" / "warpgroup" / "text.py"]
    found = {file.name: lines for file in files if (lines := _fixed_plurals(file.read_text()))}
    assert not found, found
