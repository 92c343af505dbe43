"""Argument: what a caller gives a public function, checked; an error names the argument, says what it should
be, and what was given.

Law: what a thing is, is a TypeError, which value it has, a ValueError; nothing is read as what it does not
say: no text as a number, and nothing but True and False (NumPy's, and 1 and 0) as a truth value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, SupportsFloat, SupportsIndex, cast

from imbrex.diagnostic import did_you_mean
from imbrex.numeral import shown

__all__ = ["each", "instance", "number", "positive", "text", "truth", "whole", "word"]


def truth(name: str, value: object) -> bool:
    """True or False; 1 and 0 will do."""
    kind = type(value).__name__
    is_one = isinstance(value, int) or kind in ("bool", "bool_")  # NumPy's, which is not imported for this
    if not is_one or int(cast(int, value)) not in (0, 1):
        raise TypeError(f"'{name}' should be True or False, got {shown(value)}")
    return bool(value)


def number(name: str, value: object) -> float:
    """A finite number, Python's or NumPy's."""
    problem = f"'{name}' should be a finite number, got {shown(value)}"
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError(problem)
    try:
        found = float(value)
    except OverflowError:  # an integer beyond floats
        found = math.inf
    except (TypeError, ValueError):  # an array of several, or of a text
        raise TypeError(problem) from None
    if not math.isfinite(found):
        raise ValueError(problem)
    return found


def positive(name: str, value: object) -> float:
    """A finite number above zero."""
    if (found := number(name, value)) <= 0.0:
        raise ValueError(f"'{name}' should be above zero, got {shown(value)}")
    return found


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number of at least `least` and at most `most`."""
    kind = {0: "an integer from 0", 1: "a positive integer"}.get(least, f"an integer from {least}")
    bounds = kind if most is None else f"an integer from {least} to {most}"
    problem = f"'{name}' should be {bounds}, got {shown(value)}"
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(problem)
    try:
        found = index(value)
    except TypeError:  # an array of several
        raise TypeError(problem) from None
    if found < least or (most is not None and found > most):
        raise ValueError(problem)
    return found


def text(name: str, value: object, of: str = "a text") -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"'{name}' should be {of}, got {shown(value)}")
    return value


def word(name: str, value: object, known: Sequence[str]) -> str:
    """One of the `known` words."""
    *first, last = (f"'{one}'" for one in known)
    should = f"'{name}' should be {', '.join(first)} or {last}, got {shown(value)}"
    if not isinstance(value, str):
        raise TypeError(should)
    if value not in known:
        hint = did_you_mean(value, known)
        raise ValueError(f"{should}; {hint}" if hint else should)
    return value


def instance(name: str, value: object, kinds: tuple[type, ...], of: str) -> None:
    """A TypeError for what is of none of these classes."""
    if not isinstance(value, kinds):
        raise TypeError(f"'{name}' should be {of}, got {shown(value)}")


def each(name: str, value: object, of: str) -> list[Any]:
    """The entries of what can be gone through, but no text's letters."""
    try:
        return list(cast("Iterable[Any]", None if isinstance(value, str | bytes) else value))
    except TypeError:
        raise TypeError(f"'{name}' should be {of}, got {shown(value)}") from None
