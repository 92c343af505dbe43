"""Window: how a filter moves over images, from the words of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Literal, NamedTuple, SupportsIndex, TypeAlias, cast

import numpy as np

from imbrex.argument import whole
from imbrex.numeral import shown

__all__ = ["Padding", "Pads", "Pair", "Window", "four_integers", "integers", "same_pads", "window"]

Pair: TypeAlias = "int | Sequence[int]"
Padding: TypeAlias = "int | Sequence[int] | Sequence[Sequence[int]] | Literal['same', 'valid']"
Pads: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""(before, after) of height and of width."""


class Window(NamedTuple):
    """How the window moves, (height, width) each; pads are (before, after), of "same" not known yet."""

    stride: tuple[int, int]
    pads: Pads | Literal["same"]
    dilation: tuple[int, int]
    groups: int


def window(stride: Pair, padding: Padding, dilation: Pair, groups: int) -> Window:
    """The window that a call's words ask for; ValueError and TypeError where they are none."""
    moves = _pair("stride", stride, 1), _pair("dilation", dilation, 1)
    if isinstance(padding, str) and padding == "same" and moves[0] != (1, 1):
        raise ValueError(f"padding 'same' needs a stride of 1, got {moves[0]}")
    return Window(moves[0], _pads(padding), moves[1], whole("groups", groups, 1))


def _pads(padding: Padding) -> Pads | Literal["same"]:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"'padding' should be numbers, 'same' or 'valid', got '{padding}'")
        return "same" if padding == "same" else ((0, 0), (0, 0))
    first, second = _two("padding", padding)
    return _pair("padding", first, 0), _pair("padding", second, 0)


def same_pads(sizes: Mapping[str, int], window: Window) -> Pads:
    """As many outputs as inputs; the odd pad comes after."""
    total = [d * (sizes[name] - 1) for d, name in zip(window.dilation, "yx", strict=True)]
    return (total[0] // 2, -(-total[0] // 2)), (total[1] // 2, -(-total[1] // 2))


def _pair(word: str, value: object, least: int) -> tuple[int, int]:
    first, second = integers(word, _two(word, value), least)
    return first, second


def _two(word: str, value: object) -> Sequence[object]:
    """One entry means it twice."""
    if isinstance(value, np.ndarray):
        value = cast("object", value.tolist())
    if isinstance(value, str) or not isinstance(value, Sequence):
        return (value, value)
    entries = cast("Sequence[object]", value)
    if len(entries) != 2:
        raise ValueError(f"'{word}' should be one number or two, got {len(entries)}")
    return entries


def integers(word: str, values: Sequence[object], least: int | None = None) -> tuple[int, ...]:
    """`values` as integers of at least `least`; TypeError and ValueError, in which `word` names them."""
    try:
        found = tuple(index(cast("SupportsIndex", _no_truth(value))) for value in values)
    except TypeError:
        raise TypeError(f"'{word}' should be integers, got {shown(values)}") from None
    if least is not None and any(value < least for value in found):
        raise ValueError(f"'{word}' should be at least {least}, got {shown(values)}")
    return found


def _no_truth(value: object) -> object:
    return None if isinstance(value, bool) else value


def four_integers(word: str, value: Sequence[int]) -> tuple[int, ...]:
    """Sizes of an array of four dimensions; ValueError for others.  word: what the caller calls them."""
    sizes = integers(word, value)
    if len(sizes) != 4:
        raise ValueError(f"'{word}' should have 4 sizes, got {len(sizes)}")
    return sizes
