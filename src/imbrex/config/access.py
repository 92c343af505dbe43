"""Access from views: asks the algebra how each matrix lies in memory, and makes the GemmContext.

A view's upper dims end in its two matrix dims (A: gemmK, gemmM; B: gemmK, gemmN; C: gemmM, gemmN); one dim
before them, if any, is gemmG.  Its lower buffer is compact and row-major.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from imbrex.chip import LINE_BYTES, VECTOR_BYTES
from imbrex.config.context import SAMPLE, Access, GemmContext
from imbrex.dtype import DType
from imbrex.index.map import Map
from imbrex.index.met import guarded
from imbrex.index.query import stretch, vector_width
from imbrex.view.gemm.product import GemmView
from imbrex.view.tensor.space import is_steady

__all__ = ["access_of", "context_of"]

LONGEST: Final = 256
"""Bytes of the longest stretch that is looked for: a step of K of matrix instructions."""


def context_of(view: GemmView, dtype: DType) -> GemmContext:
    """The context of a GEMM whose operands are seen through `view`."""
    of = (*dtype.packs, dtype)
    a, b, c = (access_of(matrix, one) for matrix, one in zip((view.a, view.b, view.c), of, strict=True))
    return GemmContext(view.m, view.n, view.k, dtype, view.g, a, b, c, view.phases)


@lru_cache(maxsize=4096)
def access_of(view: Map, dtype: DType) -> Access:
    """Vector widths (exact), steps and runs (from the first coordinates of each dim) of one matrix.

    Algorithms and types of a choice see the same matrices, so that half of all questions come twice.
    """
    widest = max(1, VECTOR_BYTES // dtype.bytes)
    first, second = len(view.upper) - 2, len(view.upper) - 1
    widths = [vector_width(view, view.upper[i].name, widest) for i in (first, second)]
    across, along = (_differences(view, i) for i in (first, second))
    (step0, run0), (step1, run1) = (
        _steps(apart, view.upper[i].size) for apart, i in ((across, first), (along, second))
    )
    is_packed = widths[0] > 1 and 2 * np.count_nonzero(along == widths[0]) > along.size
    steps = (step0, step1)
    even = 1 if step0 == 1 else stretch(view, view.upper[first].name, LONGEST // dtype.bytes)
    count = _elements(view, across, along)
    pitch = _most(across), _most(along)
    met = guarded(view, *(view.upper[i].name for i in (first, second)))
    width, run = (widths[0], widths[1]), (run0, run1)
    found = Access(width, run, steps, bool(is_packed), count, even, pitch=pitch, guarded=met)
    inner = found.read_dim
    if not view.symbolic.guards or max(widths) == 1:
        return found
    names = view.upper[first + inner].name, view.upper[second - inner].name
    row = min(found.run[inner], LINE_BYTES / dtype.bytes)
    return replace(found, is_boxed=bool(is_steady(view, *names, row)))


def _most(apart: npt.NDArray[np.int64]) -> int:
    """How far apart most neighbours lie, whichever way; 0 where there is one coordinate only."""
    if not apart.size:
        return 0
    found, counts = np.unique(np.abs(apart), return_counts=True)
    return int(found[counts.argmax()])


def _elements(view: Map, *apart: npt.NDArray[np.int64]) -> int:
    """Elements of the array; of one with gaps, whose places are one dim, in whole rows."""
    count = prod(d.size for d in view.lower)
    if len(view.lower) > 1:
        return count
    row = max((int(abs(d).max()) for d in apart if d.size), default=1)
    return -(-count // row) * row


def _steps(apart: npt.NDArray[np.int64], size: int) -> tuple[int, float]:
    """The step between most neighbours, 1, 2 or else 0, and the mean length of its stretches.

    size: of the dimension along which they lie so far apart.
    """
    length = apart.size + 1
    kept = {step: int(np.count_nonzero(apart == step)) for step in (1, 2)}
    step = max(kept, key=lambda s: kept[s])
    if length > 1 and kept[step] == 0:
        return 0, 1.0
    ends = np.flatnonzero(apart != step) + 1
    if ends.size and length < size:
        return step, float(ends[-1]) / ends.size
    return step, length / (length - kept[step])


def _differences(view: Map, position: int) -> npt.NDArray[np.int64]:
    """How far apart neighbours along one dimension lie, the others held in their middle."""
    length = min(SAMPLE, view.upper[position].size)
    at: list[int | npt.NDArray[np.int64]] = [d.size // 2 for d in view.upper]
    at[position] = np.arange(length, dtype=np.int64)
    coords, _ = view.evaluate(at)
    offset: Any = np.zeros(length, dtype=np.int64)
    for coord, dim in zip(coords, view.lower, strict=True):
        offset = offset * dim.size + coord
    return np.diff(offset)
