"""Numeral: text that a user wrote, read as a number; and any value of theirs, shown in a message.

Law: nothing here raises, whatever the text; a number that is read lies within its bounds.  Python itself
refuses more than 4,300 digits with a ValueError, to read as well as to show, and more than 308 with an
OverflowError as a float: so whoever reads numbers from text, or shows what was given, does it here.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["MOST", "counted", "decimal", "is_spelled", "json_whole", "must_be", "shown", "whole"]

MOST: Final = 2**63 - 1
"""The largest size, stride or count: more than any memory's addresses."""

_DIGITS: Final = len(str(MOST))
_SHOWN: Final = 60
"""Characters of a value that a message repeats."""


def is_spelled(text: str) -> bool:
    """Whether a text is the digits 0 to 9, with a sign or without."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit()


def counted(number: int, what: str, many: str | None = None) -> str:
    """A number with what it counts: `1 thread`, `2 threads`, `0 entries`.  many: of words that end otherwise,
    and where a verb follows: `1 row is`, `2 rows are`.
    """
    if number == 1:
        return f"{number} {what}"
    if many is None and what.endswith("y") and what[-2:-1] not in "aeiou":
        many = f"{what[:-1]}ies"
    elif many is None:
        many = f"{what}es" if what.endswith(("s", "x", "ch")) else f"{what}s"
    return f"{number} {many}"


def whole(text: str, least: int = 0, most: int = MOST) -> int | None:
    """The whole number that a text spells; None for any other text, and outside of `least` to `most`."""
    value = _bounded(text) if is_spelled(text) else None
    return value if value is not None and least <= value <= most else None


def _bounded(text: str) -> int:
    """What digits spell; beyond MOST only that it is, whatever their number."""
    sign, digits = (text[0], text[1:]) if text[0] in "-+" else ("", text)
    digits = digits.lstrip("0") or "0"
    return int(sign + (digits if len(digits) <= _DIGITS else f"{MOST + 1}"))


def decimal(text: str) -> float | None:
    """The number that a text spells, as Python writes floats, infinity beyond; None for any other text."""
    try:
        return float(text)
    except ValueError:
        return None


def json_whole(text: str) -> int | float:
    """A whole number of JSON; a float where it has more digits than numbers of ours: `1e30` written out."""
    return int(text) if len(text) <= _DIGITS else float(text)


def must_be(name: str, given: str | int, least: int = 0, most: int = MOST) -> str:
    """What is wrong with a whole number outside of its bounds: `'-n' must be positive, got 0`."""
    value = _bounded(given) if isinstance(given, str) else given
    got = _cut(given) if isinstance(given, str) else shown(given)
    if value < least:
        kind = {0: "zero or positive", 1: "positive"}.get(least, f"at least {least}")
        return f"{name} must be {kind}, got {got}"
    return f"{name} is at most {most}, got {got}"


def shown(value: object) -> str:
    """`repr` of a value, cut where it is long; of a number with very many digits, their count."""
    if isinstance(value, int) and value.bit_length() > 4 * _SHOWN:
        digits = int(value.bit_length() * math.log10(2)) + 1
        return f"{'-' if value < 0 else ''}a number of about {digits} digits"
    try:
        return _cut(repr(value))
    except (ValueError, RecursionError):  # a list of such numbers; a list in a list in a list
        return f"a {type(value).__name__} too large to show"


def _cut(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    kind = "digits" if is_spelled(text) else "characters"
    return f"{text[: _SHOWN // 2]}... ({len(text)} {kind})"
