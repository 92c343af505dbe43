"""Last columns of a product that fill no vector: summed along K, or as a vector that is mostly empty."""

from __future__ import annotations

from typing import Final

__all__ = ["last_columns", "repays"]

LANES_SUMMED: Final = 8
"""Vectors of K that take as long as the sum of a vector's lanes."""
ELEMENT: Final = 2.5
"""Cycles in which an element of a B whose rows are K goes to its column."""


def last_columns(n: int, lanes: int, words: int) -> int:
    """Columns past the last vector that are cheaper summed along K, of so many words, than as a vector mostly
    empty: the sum of a vector's lanes is as long as some eight vectors of K (`sum_along_k` of product.h).
    """
    left = n % lanes
    return left if left <= lanes // 2 and left * (words // lanes + LANES_SUMMED) < words else 0


def repays(columns: int, rows: int, k: int, together: int, lanes: int) -> bool:
    """Do so many rows save, by columns that are summed along K, what it costs to part a B whose rows are K
    into columns, element by element?
    """
    words = k // together
    saved = words - columns * (words // lanes + LANES_SUMMED)
    return rows * saved >= ELEMENT * columns * k
