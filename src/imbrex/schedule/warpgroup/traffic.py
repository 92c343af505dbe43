"""What a warpgroup plan moves: bytes from and to memory, and how much of L2's time a tile takes.

L2 answers in lines of 128 bytes, of which it fetches sectors of 32.  A row of a tile that begins on a line is
one answer; one that begins elsewhere goes over two lines, and one that begins inside a sector takes a part of
another sector, too.  Rows in memory are as far apart as the operand's stretches are long, so that K, or the
columns of an operand that lies along them, decides it for all tiles: an H100's L2 gave 6500 bytes a cycle of
rows on lines, and 2400 to 2700 of rows that begin at multiples of 16 bytes.
"""

from __future__ import annotations

from math import gcd
from typing import Final

from imbrex.schedule.context import SAMPLE, Access, GemmContext
from imbrex.schedule.warpgroup.plan import WarpgroupPlan
from imbrex.view.shared_tile import SharedTile

__all__ = ["absent", "l2_work", "memory_bytes", "scattered_bytes"]

LINE_BYTES: Final = 128
SECTOR_BYTES: Final = 32
CROSSING: Final = 0.742
"""L2's time for the second line of a row, in proportion to a whole one (fitted, as `rates`)."""
INSIDE: Final = 1.715
"""The same for a row that begins inside a sector."""
WALKED: Final = 1.18
"""So many times the bytes of an operand that is seen through windows, which the copy engine walks over."""
CACHED_BYTES: Final = 17.4e6
"""Of L2 that operands may count on: of 50 MB in two halves, each keeps what its multiprocessors read."""


def l2_work(access: Access, tile: SharedTile, extent: int, context: GemmContext) -> float:
    """L2's time for each byte of an operand's tile, in proportion to that of rows that begin on lines.

    extent: the operand's rows or columns.  Only what the copy engine may fetch is looked at: rows that begin
    at any element are loaded otherwise, and cost the producer more than L2.
    """
    row = tile.row_bytes
    apart = gcd(
        _pitch(access, 0 if tile.major == "k" else 1, extent, context) * tile.element_bytes, LINE_BYTES
    )
    starts = range(0, LINE_BYTES, apart)
    crossing = sum(start + row > LINE_BYTES for start in starts)
    inside = sum(start % SECTOR_BYTES != 0 for start in starts)
    walked = WALKED if 0 < access.elements < context.g * extent * context.k else 1.0
    return walked * (1.0 + (CROSSING * crossing + INSIDE * inside) / len(starts))


def _pitch(access: Access, along: int, extent: int, context: GemmContext) -> int:
    """Elements from a row of an operand in memory to the next: of an array, which may be padded, or of what
    lies together of it, as the channels of an image do.
    """
    own, others = (context.k, extent) if along == 0 else (extent, context.k)
    if access.step[along] == 1 and 1 < access.run[along] < min(own, SAMPLE):
        return int(access.run[along])
    length, rest = divmod(access.elements, others * context.g)
    return length if length > own and not rest else own


def memory_bytes(plan: WarpgroupPlan, clusters: int) -> float:
    """Bytes from and to memory: each operand once, or, where they do not stay in L2, for every round what
    its blocks of tiles want.  clusters: that run at a time.
    """
    c, t = plan.oriented, plan.tuning
    a, b = _operands(plan)
    once = a + b
    if once <= CACHED_BYTES:
        return once + _result(plan)
    tall = min(t.group, plan.blocks[0]) if t.group > 1 else 1
    wide = max(1.0, clusters / tall)
    wanted = tall * t.cluster_m * t.m_per_block * a / (c.m * c.g)
    wanted += min(wide, plan.blocks[1]) * t.cluster_n * t.n_per_block * b / (c.n * c.g)
    return max(once, wanted * plan.units / clusters) + _result(plan)


def scattered_bytes(plan: WarpgroupPlan, steps: int) -> float:
    """The same where each cluster is at a step of K of its own, so that none finds what a neighbour has just
    loaded: an operand comes again as far as L2 cannot keep it.  steps: of all clusters together.
    """
    t, arrays = plan.tuning, _operands(plan)
    loads = steps * t.cluster_m * plan.a_tile.bytes, steps * t.cluster_n * plan.b_tile.bytes
    away = absent(plan)
    again = (
        max(0.0, load - array) * away * min(1.0, array / CACHED_BYTES)
        for load, array in zip(loads, arrays, strict=True)
    )
    return sum(arrays) + sum(again) + _result(plan)


def absent(plan: WarpgroupPlan) -> float:
    """The share of the operands that L2 cannot hold."""
    return max(0.0, 1.0 - CACHED_BYTES / sum(_operands(plan)))


def _result(plan: WarpgroupPlan) -> int:
    """Bytes of C."""
    return plan.context.g * plan.context.m * plan.context.n * plan.context.dtype.output.bytes


def _operands(plan: WarpgroupPlan) -> tuple[float, float]:
    """Bytes of A and of B."""
    c = plan.oriented
    return _array_bytes(c.a, c.m, c), _array_bytes(c.b, c.n, c)


def _array_bytes(access: Access, extent: int, context: GemmContext) -> float:
    matrix = context.g * extent * context.k
    return float(min(matrix, access.elements or matrix) * context.dtype.bytes)
