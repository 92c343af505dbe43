"""Value: the text of one flag's value, read; an error names the flag as it was spelled."""

from __future__ import annotations

import math

from imbrex.diagnostic import Diagnostic
from imbrex.numeral import decimal, is_spelled, must_be, whole
from imbrex.problem.epilogue import Epilogue, parse
from imbrex.problem.field import Pair

__all__ = [
    "epilogue_flag", "read_epilogue", "read_extent", "read_number", "read_pad", "read_size",
    "read_transposed", "read_truth", "read_whole",
]  # fmt: skip

_TRUTHS = {"0": False, "false": False, "n": False, "1": True, "true": True, "t": True}


def read_whole(flag: str, text: str, least: int = 0) -> int:
    """A whole number of at least `least`."""
    if not is_spelled(text):
        raise Diagnostic(f"'{flag}' takes an integer, got '{text}'")
    value = whole(text, least)
    if value is None:
        raise Diagnostic(must_be(f"'{flag}'", text, least))
    return value


def read_size(flag: str, text: str) -> int:
    """A whole number above zero."""
    if text.startswith("?"):
        message = f"'{flag}' is a size that a kernel is made for, and takes a number, got '{text}'"
        raise Diagnostic(message, hint="run-time sizes are m or k of a product and n of a convolution")
    return read_whole(flag, text, least=1)


def read_extent(flag: str, text: str) -> int | str:
    """A whole number above zero; or `?` and what follows, as it is."""
    return text if text.startswith("?") else read_size(flag, text)


def read_pad(flag: str, text: str) -> Pair:
    """`1`, the same before and after, or `1,2`."""
    before, comma, after = text.partition(",")
    return (read_whole(flag, before), read_whole(flag, after if comma else before))


def read_number(flag: str, text: str) -> float:
    value = decimal(text)
    if value is None:
        raise Diagnostic(f"'{flag}' takes a number, got '{text}'")
    if not math.isfinite(value):
        raise Diagnostic(f"'{flag}' must be finite, got {text}")
    return value


def read_truth(flag: str, text: str) -> bool:
    """`0`, `false` or `N`; `1`, `true` or `T`."""
    if text.lower() not in _TRUTHS:
        raise Diagnostic(f"'{flag}' takes 0 or 1, false or true, N or T, got '{text}'")
    return _TRUTHS[text.lower()]


def read_transposed(flag: str, text: str) -> bool:
    """The same, or `C`: the conjugate of real elements is what they are."""
    return text.lower() == "c" or read_truth(flag, text)


def read_epilogue(_: str, text: str) -> Epilogue:
    """An expression, as `imbrex.problem.epilogue` reads it; an error is placed at the whole value."""
    try:
        return parse(text)
    except Diagnostic as error:
        raise Diagnostic(error.message, hint=error.hint, subject="epilogue") from None


def epilogue_flag(epilogue: Epilogue | None) -> str:
    """The end of a line that states an epilogue; nothing where there is none."""
    return f' --epilogue "{epilogue}"' if epilogue else ""
