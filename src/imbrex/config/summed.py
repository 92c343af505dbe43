"""Summed: a run-time size that is summed over, k of a product or the images of a gradient by filters.

Law: blocks of the result do not depend on it, and a CPU sums element by element in the order of k, however
many there are.  Whether last columns are summed along k, lane by lane, does depend on how many there are, and
is found when the kernel runs as it is for a fixed number (`with_columns` of product.h).  One image is a
bucket, for its rows lie otherwise than those of several.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["SUMMED_ENDS"]

SUMMED_ENDS: Final[Mapping[str, tuple[int, ...]]] = {"k": (32, 256, 2048), "n": (1, 4, 16, 64)}
"""The greatest sizes of buckets, by the size's name."""
