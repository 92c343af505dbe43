"""What warpgroup tunings move from and to memory, and which clusters load the same at the same time."""

from __future__ import annotations

import numpy as np

from imbrex.chip import LINE_BYTES, SECTOR_BYTES, VECTOR_BYTES
from imbrex.config.context import GemmContext
from imbrex.config.warpgroup.tunings import Column, Tunings

__all__ = ["memory_bytes", "neighbours", "read_apart_bytes", "scattered_bytes"]


def neighbours(of: Tunings, clusters: Column | float) -> tuple[Column, Column]:
    """Neighbours among clusters that run at a time, one after the other in blocks' order: those that load
    the same rows of A, and those that load the same of B.
    """
    wide = np.minimum(np.maximum(1.0, clusters / _tall(of)), of.column_blocks)
    return wide, np.minimum(np.maximum(1.0, clusters / wide), of.row_blocks)


def memory_bytes(of: Tunings, clusters: Column) -> Column:
    """Bytes from and to memory: each operand once, or, where they do not stay in L2, for every round what
    its blocks of tiles want.  clusters: that run at a time.
    """
    c, n = of.context, of.numbers
    once = of.a.array + of.b.array
    tall = _tall(of)
    wide = np.minimum(np.maximum(1.0, clusters / tall), of.column_blocks)
    rows, columns = (np.where(n.is_swapped, *sizes) for sizes in ((c.n, c.m), (c.m, c.n)))
    wanted = tall * of.cluster_m * n.rows * of.a.array / (rows * c.g)
    wanted += wide * of.cluster_n * n.columns * of.b.array / (columns * c.g)
    again = np.maximum(once, wanted * of.units / clusters)
    return np.where(once <= of.rates.cached_bytes, once, again) + _result(of)


def scattered_bytes(of: Tunings, steps: Column) -> Column:
    """The same where each cluster is at a step of K of its own, so that none finds what a neighbour has just
    loaded: an operand comes again as far as L2 cannot keep it.  steps: of all clusters together.
    """
    cached = of.rates.cached_bytes
    a, b = (
        np.maximum(0.0, steps * cluster * one.bytes - one.array)
        * _absent(of)
        * np.minimum(1.0, one.array / cached)
        for cluster, one in ((of.cluster_m, of.a), (of.cluster_n, of.b))
    )
    return of.a.array + of.b.array + (a + b) + _result(of)


def read_apart_bytes(of: Tunings) -> Column:
    """Bytes of the larger operand that come again where clusters of parts of K read the same of it."""
    a, b = of.a.array, of.b.array
    is_read_apart = np.where(a > b, of.column_blocks, of.row_blocks) > 1
    again = of.rates.read_apart * np.maximum(a, b) * _absent(of)
    return np.where(is_read_apart, again, 0.0)


def _tall(of: Tunings) -> Column:
    """Rows of units that are begun before the next column."""
    return np.where(of.group > 1, np.minimum(of.group, of.row_blocks), 1)


def _absent(of: Tunings) -> Column:
    """The share of the operands that L2 cannot hold."""
    return np.maximum(0.0, 1.0 - of.rates.cached_bytes / (of.a.array + of.b.array))


def _result(of: Tunings) -> float:
    """Bytes of C; where every second element is stored, of whole sectors, which are read and written, and
    where rows of several phases are, of what is left of sectors between them; of short lines of windows that
    are apart, of all sectors that each of them touches.
    """
    c = of.context
    has_gaps = 1 not in c.c.step and 2 in c.c.step
    apart = of.rates.strided if has_gaps else of.rates.phased if c.phases > 1 else _lines(c)
    return c.g * c.m * c.n * c.phases * c.dtype.output.bytes * apart


def _lines(context: GemmContext) -> float:
    """Bytes of the sectors that a stretch of C of less than a line touches, in proportion to its own; 1 of
    longer ones.
    """
    c, size = context.c, context.dtype.output.bytes
    total, run = (context.m, context.n)[c.read_dim], c.run[c.read_dim]
    own, width = run * size, c.vector[c.read_dim] * size
    if c.step[c.read_dim] != 1 or not 2 <= run < total or own >= LINE_BYTES:
        return 1.0
    is_whole = width >= VECTOR_BYTES and own % SECTOR_BYTES == 0
    return 1.0 if is_whole else (own - width + SECTOR_BYTES) / own
