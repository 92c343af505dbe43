"""Layouts and pads of a convolution as JAX says them: `("NHWC", "HWIO", "NHWC")`, "SAME", ((1, 2), (0, 0)).

N batch, C channels, H rows, W columns      of images and results
O filters, I channels of a group, H, W      of filters
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias, cast

from imbrex.function.window import integers

__all__ = ["CHANNELS_FIRST", "Layouts", "Pads", "is_one", "layouts_of", "pads_of"]

jax: Any = import_module("jax")

Pads: TypeAlias = "tuple[tuple[int, int], tuple[int, int]]"
_LETTERS: Final = (dict(zip("NCHW", "nchw", strict=True)), dict(zip("OIHW", "kcyx", strict=True)))
_RESULT: Final = dict(zip("NCHW", "nkhw", strict=True))
WORDS: Final = ("SAME", "SAME_LOWER", "VALID")
CHANNELS_FIRST: Final = ("NCHW", "OIHW", "NCHW")


class Layouts(NamedTuple):
    """Names of the dimensions in this project's letters, outermost first."""

    images: str
    filters: str
    result: str


def layouts_of(dimension_numbers: Any) -> Layouts:
    """ValueError for what is no triple of layouts of two-dimensional convolutions."""
    rows = (*_LETTERS, _RESULT)
    is_listed = isinstance(dimension_numbers, tuple | list)
    given = [str(of) for of in cast("Sequence[Any]", dimension_numbers)] if is_listed else []
    if [sorted(of) for of in given] != [sorted(letters) for letters in rows]:
        message = "'dimension_numbers' should be layouts of images, filters and results, such as"
        raise ValueError(f"{message} ('NHWC', 'HWIO', 'NHWC'), got {dimension_numbers!r}")
    named = ("".join(letters[one] for one in of) for of, letters in zip(given, rows, strict=True))
    return Layouts(*named)


def pads_of(
    padding: Any, image: Sequence[int], window: Sequence[int], moves: Sequence[Sequence[int]]
) -> Pads:
    """Rows and columns before and after an image.

    padding: a number, one of height and one of width, a pair of each, "SAME", "SAME_LOWER" or "VALID".
    image, window: height and width.  moves: the stride and the dilation of both.  ValueError for others.
    """
    stride, dilation = moves
    if isinstance(padding, str) and padding.upper() in WORDS:
        reach = [(size - 1) * step + 1 for size, step in zip(window, dilation, strict=True)]
        found = jax.lax.padtype_to_pads(tuple(image), reach, stride, padding.upper())
        (top, bottom), (left, right) = ((int(low), int(high)) for low, high in found)
        return (top, bottom), (left, right)
    each = (padding, padding) if is_one(padding) else tuple(padding)
    pairs = [(one, one) if is_one(one) else tuple(one) for one in each]
    if isinstance(padding, str) or len(pairs) != 2 or any(len(pair) != 2 for pair in pairs):
        wanted = "a number, one of height and one of width, a pair of each, 'SAME' or 'VALID'"
        raise ValueError(f"'padding' should be {wanted}, got {padding!r}")
    top, bottom, left, right = integers("padding", [side for pair in pairs for side in pair], 0)
    return (top, bottom), (left, right)


def is_one(value: Any) -> bool:
    """Is it one value, not several in a row?"""
    return isinstance(value, str | bytes) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0
