"""Access from views: asks the algebra how each matrix lies in memory, and makes the GemmContext.

A view's upper dims end in its two matrix dims (A: gemmK, gemmM; B: gemmK, gemmN; C: gemmM, gemmN); one dim
before them, if any, is gemmG.  Its lower buffer is compact and row-major.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.dtype import DType
from imbrex.index.map import Map
from imbrex.index.query import vector_width
from imbrex.schedule.context import Access, GemmContext
from imbrex.schedule.copy import WIDEST_VECTOR_BYTES
from imbrex.view.gemm import GemmView

__all__ = ["access_of", "context_of"]

SAMPLE = 1024


def context_of(view: GemmView, dtype: DType) -> GemmContext:
    """The context of a GEMM whose operands are seen through `view`."""
    a, b, c = (access_of(matrix, dtype) for matrix in (view.a, view.b, view.c))
    return GemmContext(view.m, view.n, view.k, dtype, view.g, a, b, c)


def access_of(view: Map, dtype: DType) -> Access:
    """Vector widths (exact) and unit-stride runs (from the first coordinates of each dim) of one matrix."""
    widest = max(1, WIDEST_VECTOR_BYTES // dtype.bytes)
    first, second = len(view.upper) - 2, len(view.upper) - 1
    widths = [vector_width(view, view.upper[i].name, widest) for i in (first, second)]
    return Access((widths[0], widths[1]), (_mean_run(view, first), _mean_run(view, second)))


def _mean_run(view: Map, position: int) -> float:
    """Mean length of the stretches over which the address moves by one."""
    length = min(SAMPLE, view.upper[position].size)
    at: list[int | npt.NDArray[np.int64]] = [d.size // 2 for d in view.upper]
    at[position] = np.arange(length, dtype=np.int64)
    coords, _ = view.evaluate(at)
    offset: Any = np.zeros(length, dtype=np.int64)
    for coord, dim in zip(coords, view.lower, strict=True):
        offset = offset * dim.size + coord
    breaks = int(np.count_nonzero(np.diff(offset) != 1))
    return length / (1 + breaks)
