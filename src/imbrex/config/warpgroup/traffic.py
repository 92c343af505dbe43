"""What a warpgroup plan moves: bytes from and to memory, and the rows of tiles that the copy engine asks for.

L2 answers in lines of 128 bytes, of which it fetches sectors of 32.  A row of a tile that begins on a line is
one request; one that begins elsewhere goes over two lines, and one that begins inside a sector is put into
shared memory in halves of sectors.  Rows in memory are as far apart as the operand's stretches are long, so
that K, or the columns of an operand that lies along them, decides it for all tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from imbrex.chip import LINE_BYTES, SECTOR_BYTES
from imbrex.config.context import SAMPLE, Access, GemmContext
from imbrex.config.warpgroup.plan import WarpgroupPlan
from imbrex.config.warpgroup.rates import rates_of
from imbrex.view.stage.shared_tile import SharedTile

__all__ = ["Rows", "memory_bytes", "neighbours", "read_apart_bytes", "rows_of", "scattered_bytes"]


@dataclass(frozen=True)
class Rows:
    """Rows of an operand's tile.  crossing, inside: shares of them that begin on a sector but go over the end
    of a line, and that begin inside a sector.  is_walked: the operand is seen through windows, which the copy
    engine walks over.  is_short: they are less than a line, and cost less than one; those that lie along
    another dim than k are a request each, whatever their length, where nothing walks over them.  is_apart:
    they are less than a line along k, others between them in memory.
    """

    count: float
    crossing: float
    inside: float
    is_short: bool
    is_apart: bool
    is_walked: bool


def rows_of(access: Access, tile: SharedTile, extent: int, context: GemmContext) -> Rows:
    """extent: the operand's rows or columns.  Only what the copy engine may fetch is looked at: rows that
    begin at any element are loaded otherwise, and cost the producer more than L2.
    """
    row, is_walked = tile.row_bytes, access.repeats(context.g * extent * context.k)
    is_less, is_along_k = row < LINE_BYTES, tile.major == "k"
    apart = gcd(
        _pitch(access, 0 if tile.major == "k" else 1, extent, context) * tile.element_bytes, LINE_BYTES
    )
    starts = range(0, LINE_BYTES, apart)
    inside = sum(start % SECTOR_BYTES != 0 for start in starts)
    crossing = sum(start % SECTOR_BYTES == 0 and start + row > LINE_BYTES for start in starts)
    return Rows(
        tile.bytes / row,
        crossing / len(starts),
        inside / len(starts),
        is_less and (is_along_k or is_walked),
        is_less and is_along_k,
        is_walked,
    )


def _pitch(access: Access, along: int, extent: int, context: GemmContext) -> int:
    """Elements from a row of an operand in memory to the next: of an array, which may be padded, or of what
    lies together of it, as the channels of an image do.
    """
    own, others = (context.k, extent) if along == 0 else (extent, context.k)
    if access.step[along] == 1 and 1 < access.run[along] < min(own, SAMPLE):
        return int(access.run[along])
    length, rest = divmod(access.elements, others * context.g)
    return length if length > own and not rest else own


def neighbours(plan: WarpgroupPlan, clusters: float) -> tuple[float, float]:
    """Neighbours among clusters that run at a time, one after the other in blocks' order: those that load
    the same rows of A, and those that load the same of B.
    """
    rows, columns = plan.blocks
    tall = min(plan.tuning.group, rows) if plan.tuning.group > 1 else 1
    wide = min(max(1.0, clusters / tall), columns)
    return wide, min(max(1.0, clusters / wide), rows)


def memory_bytes(plan: WarpgroupPlan, clusters: int) -> float:
    """Bytes from and to memory: each operand once, or, where they do not stay in L2, for every round what
    its blocks of tiles want.  clusters: that run at a time.
    """
    c, t = plan.oriented, plan.tuning
    a, b = _operands(plan)
    once = a + b
    if once <= rates_of(plan.machine).product.cached_bytes:
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
    away, cached = _absent(plan), rates_of(plan.machine).product.cached_bytes
    again = (
        max(0.0, load - array) * away * min(1.0, array / cached)
        for load, array in zip(loads, arrays, strict=True)
    )
    return sum(arrays) + sum(again) + _result(plan)


def read_apart_bytes(plan: WarpgroupPlan) -> float:
    """Bytes of the larger operand that come again where clusters of parts of K read the same of it."""
    rows, columns = plan.blocks
    a, b = _operands(plan)
    is_read_apart = (columns if a > b else rows) > 1
    return rates_of(plan.machine).product.read_apart * max(a, b) * _absent(plan) if is_read_apart else 0.0


def _absent(plan: WarpgroupPlan) -> float:
    """The share of the operands that L2 cannot hold."""
    return max(0.0, 1.0 - rates_of(plan.machine).product.cached_bytes / sum(_operands(plan)))


def _result(plan: WarpgroupPlan) -> float:
    """Bytes of C; where every second element is stored, of whole sectors, which are read and written, and
    where rows of several phases are, of what is left of sectors between them.
    """
    c, rates = plan.context, rates_of(plan.machine).product
    has_gaps = 1 not in c.c.step and 2 in c.c.step
    apart = rates.strided if has_gaps else rates.phased if c.phases > 1 else 1
    return c.g * c.m * c.n * c.phases * c.dtype.output.bytes * apart


def _operands(plan: WarpgroupPlan) -> tuple[float, float]:
    """Bytes of A and of B."""
    c = plan.oriented
    return _array_bytes(c.a, c.m, c), _array_bytes(c.b, c.n, c)


def _array_bytes(access: Access, extent: int, context: GemmContext) -> float:
    matrix = context.g * extent * context.k
    return float(min(matrix, access.elements or matrix) * context.dtype.bytes)
