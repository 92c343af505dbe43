"""Field: one value of a problem in, the checked value out, or a `Diagnostic` whose subject is the field."""

from __future__ import annotations

import math
from operator import index
from typing import SupportsFloat, SupportsIndex, cast

import numpy.typing as npt

from imbrex.argument import truth
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import E8M0, I32, DType, dtype, microscaled
from imbrex.numeral import MOST, must_be, shown

__all__ = ["Pair", "constant", "flag", "number", "one_of", "operand_type", "pair", "whole"]

Pair = tuple[int, int]


def whole(name: str, value: object, *, least: int) -> int:
    """`value` as an int of at least `least`; NumPy integers are welcome, bools are not."""
    try:
        found = index(cast(SupportsIndex, None if isinstance(value, bool) else value))
    except TypeError:
        raise Diagnostic(f"{name} must be an integer, got {shown(value)}", subject=name) from None
    if not least <= found <= MOST:
        raise Diagnostic(must_be(name, found, least), subject=name)
    return found


def pair(name: str, value: object, *, least: int) -> Pair:
    """Two whole numbers; one alone means it twice."""
    if isinstance(value, list | tuple):
        entries = list(cast("list[object] | tuple[object, ...]", value))
        if len(entries) != 2:
            raise Diagnostic(f"{name} takes 2 entries, got {len(entries)}", subject=name)
        return (whole(name, entries[0], least=least), whole(name, entries[1], least=least))
    size = whole(name, value, least=least)
    return (size, size)


def flag(name: str, value: object) -> bool:
    """A truth value; 0 and 1 will do."""
    try:
        return truth(name, value)
    except TypeError:
        raise Diagnostic(f"{name} must be true or false, got {shown(value)}", subject=name) from None


def number(name: str, value: object) -> float:
    """A finite number; both zeros are 0.0, so that equal problems have equal texts."""
    try:
        found = float(value) if isinstance(value, SupportsFloat) and not isinstance(value, bool) else math.nan
    except OverflowError:  # an integer beyond floats
        found = math.inf
    except (TypeError, ValueError):  # an array
        found = math.nan
    if not math.isfinite(found):
        raise Diagnostic(f"{name} must be a finite number, got {shown(value)}", subject=name)
    return found + 0.0


def constant(name: str, value: float, computed: DType, *, subject: str) -> None:
    """A Diagnostic where arithmetic of that type would take `value` for infinity, or for 0."""
    near = computed.nearest(value)
    if math.isinf(near) or (near == 0.0) != (value == 0.0):
        found = "infinity" if near else "0"
        least, most = computed.smallest_subnormal, computed.largest
        raise Diagnostic(
            f"{name} {value:g} is {found} in {computed}, the type that computes with it",
            hint=f"numbers of {computed} are 0, and from {least:.2g} to {most:.8g} either side of it",
            subject=subject,
        )


def one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    """`value` where it is one of the `known` words."""
    if not isinstance(value, str) or value not in known:
        hint = did_you_mean(str(value), known)
        raise Diagnostic(
            f"unknown {name} {shown(value)}; known are {', '.join(known)}", hint=hint, subject=name
        )
    return value


def operand_type(name: str | DType | npt.DTypeLike, *, has_scales: bool = True) -> DType:
    """The element type of that name, which must be one that operands can have.  has_scales: microscaled ones
    may, too.
    """
    found = dtype(name)
    if found == I32:
        raise Diagnostic("i32 is the result type of i8 and no operand type", hint="use 'i8'", subject="dtype")
    if found == E8M0:
        message = "e8m0 is the type of scales and no operand type"
        raise Diagnostic(message, hint="'mxf8e4m3fn' has such scales", subject="dtype")
    if not found.is_operand:
        message = f"products of {found} have scales of blocks"
        raise Diagnostic(message, hint=f"say '{microscaled(found)}'", subject="dtype")
    if found.pair is not None and not has_scales:
        raise Diagnostic(
            f"{found} is a type of matrix products", hint="convolutions have one", subject="dtype"
        )
    if found.is_microscaled and not has_scales:
        hint = f"convolutions take no scales of blocks; say '{found.element}'"
        raise Diagnostic(f"{found} is a type of matrix products", hint=hint, subject="dtype")
    return found
