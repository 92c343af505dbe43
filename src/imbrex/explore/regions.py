"""Regions: an array of numbers as few rectangles of one number each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Region", "regions"]


class Region(NamedTuple):
    """Rows and columns from the upper left on that have one value."""

    row: int
    column: int
    height: int
    width: int
    value: int


def regions(values: npt.NDArray[np.int64]) -> Sequence[Region]:
    """Stretches of rows, put together where neighbouring rows are cut alike.  Law: they cover every element
    once.
    """
    found: list[Region] = []
    open_at: dict[tuple[int, int, int], int] = {}
    for row, line in enumerate(values):
        ends = [*(np.flatnonzero(np.diff(line)) + 1).tolist(), len(line)]
        starts = [0, *ends[:-1]]
        here: dict[tuple[int, int, int], int] = {}
        for start, end in zip(starts, ends, strict=True):
            key = start, end, int(line[start])
            if key in open_at:
                at = open_at[key]
                found[at] = found[at]._replace(height=found[at].height + 1)
            else:
                at = len(found)
                found.append(Region(row, start, 1, end - start, key[2]))
            here[key] = at
        open_at = here
    return found
