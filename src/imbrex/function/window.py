"""Window: how a filter moves over images, from the words of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Literal, NamedTuple, SupportsIndex, TypeAlias, cast

import numpy as np

__all__ = ["Padding", "Pads", "Pair", "Window", "integers", "same_pads", "window"]

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
    moves = _pair("stride", stride), _pair("dilation", dilation)
    if isinstance(padding, str) and padding == "same" and moves[0] != (1, 1):
        raise ValueError(f"padding 'same' needs a stride of 1, got {moves[0]}")
    return Window(moves[0], _pads(padding), moves[1], *integers("groups", (groups,)))


def _pads(padding: Padding) -> Pads | Literal["same"]:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"'padding' should be numbers, 'same' or 'valid', got '{padding}'")
        return "same" if padding == "same" else ((0, 0), (0, 0))
    first, second = _two("padding", padding)
    return _pair("padding", first), _pair("padding", second)


def same_pads(sizes: Mapping[str, int], window: Window) -> Pads:
    """As many outputs as inputs; the odd pad comes after."""
    total = [d * (sizes[name] - 1) for d, name in zip(window.dilation, "yx", strict=True)]
    return (total[0] // 2, -(-total[0] // 2)), (total[1] // 2, -(-total[1] // 2))


def _pair(word: str, value: object) -> tuple[int, int]:
    first, second = integers(word, _two(word, value))
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


def integers(word: str, values: Sequence[object]) -> tuple[int, ...]:
    """`values` as integers; TypeError, in which `word` names them, where one is none."""
    try:
        return tuple(index(cast("SupportsIndex", value)) for value in values)
    except TypeError:
        raise TypeError(f"'{word}' should be integers, got {values!r}") from None
