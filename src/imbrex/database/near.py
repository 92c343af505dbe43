"""Nearness of problems, from their canonical texts: which are of one kind, and how far apart sizes are.

Kind: the text without the values that only say how much there is: sizes and batch, gaps, factors, the words
of an epilogue.  What stays tells types, transposes, layouts, direction, windows, strides, dilations and
padding, whether there are groups, and whether there is an epilogue.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log2
from typing import Final, NamedTuple

__all__ = ["MOST", "Shape", "nearest", "shape_of"]

SIZES: Final = frozenset({"-m", "-n", "-k", "-c", "-H", "-W"})
COUNTS: Final = frozenset({"-g"})
"""Batch and groups: sizes, of which 1 is of another kind than more."""
GIVEN: Final = ("-ld", "-stride", "-alpha", "-beta")
"""Flags whose presence alone counts."""
EPILOGUE: Final = " --epilogue "
MOST: Final = 4
FARTHEST: Final = 2.0
"""Powers of two between problems that may have one configuration: a factor of 4 in one size."""


class Shape(NamedTuple):
    """Kind of a problem, and its sizes in the order of their flags."""

    kind: str
    sizes: tuple[int, ...]


def shape_of(problem: str) -> Shape:
    """Shape of a canonical text; of another text a kind that no other has."""
    line, has_epilogue, _ = problem.partition(EPILOGUE)
    first, *words = line.split(" ")
    kind, sizes = [first], list[int]()
    for flag, value in zip(words[::2], words[1::2], strict=False):
        if flag in SIZES | COUNTS and value.isdigit():
            sizes.append(max(1, int(value)))
            kind.append(f"{flag} 1" if flag in COUNTS and value == "1" else flag)
        else:
            kind.append(flag if flag.startswith(GIVEN) else f"{flag} {value}")
    return Shape(" ".join(kind) + has_epilogue.rstrip(), tuple(sizes))


def nearest(shape: Shape, problems: Iterable[str]) -> list[str]:
    """The nearest problems that are near enough, of problems of the same kind."""
    found = ((_distance(shape, shape_of(problem)), problem) for problem in problems)
    return [problem for _, problem in sorted(f for f in found if f[0] <= FARTHEST)[:MOST]]


def _distance(one: Shape, other: Shape) -> float:
    """Length of the logarithms of the ratios of sizes."""
    if len(one.sizes) != len(other.sizes):
        return float("inf")
    return sum(log2(a / b) ** 2 for a, b in zip(one.sizes, other.sizes, strict=True)) ** 0.5
