"""Warpgroup tunings worth looking at for a GEMM, each with as many stages as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np

from imbrex.chip import GpuMachine
from imbrex.config.context import GemmContext, round_up
from imbrex.config.rules import LARGEST_GRID
from imbrex.config.warpgroup.correction import corrects
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.legal import WARPGROUP_RULES, has_parts
from imbrex.config.warpgroup.limits import MOST_CONSUMERS, hold, may_hold, stages_that_fit
from imbrex.config.warpgroup.plan import (
    LEAST_STAGES,
    WarpgroupPlan,
    WarpgroupTuning,
)
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.tile import Tile, crosses
from imbrex.config.warpgroup.tunings import Tunings
from imbrex.view.mma.hopper import ROWS, WARPGROUP
from imbrex.view.stage.shared_tile import SWIZZLES

__all__ = ["is_tall", "legal_tunings", "warpgroup_space"]

NARROWEST: Final = (8, 16)
"""Columns of the least tile; 16 where neither side of a product of 16-bit types has its K together."""
ROW_TILES: Final = (
    (128, 2, False),
    (192, 3, False),
    (64, 1, False),
    (64, 2, True),
    (128, 2, True),
    (256, 2, False),
    (384, 2, False),
)
"""Rows of a tile, consumers, pingpong."""
TIMED_BITS: Final = 16
"""Bits of an element of the products whose large tiles were timed."""
LEAST_OF_TALL: Final = 64
"""Columns of the narrowest tall tile: narrower ones are as good as tiles of fewer rows, swapped."""
CLUSTERS: Final = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4))
GROUPS: Final = (1, 2, 4, 8, 16)


def warpgroup_space(context: GemmContext, machine: GpuMachine) -> list[WarpgroupTuning]:
    """Legal tunings; none where the machine has no warpgroup instructions, or none of the type."""
    found = legal_tunings(context, machine)
    return [] if found is None else [found.plan(index).tuning for index in range(len(found))]


def legal_tunings(context: GemmContext, machine: GpuMachine) -> Tunings | None:
    """The same, applied to the GEMM; None where there are none."""
    if not columns_of(context.dtype, machine):
        return None
    orientations = (False, True)[: 1 if context.phases > 1 else 2]
    for least in NARROWEST:
        tiles = [tile for swapped in orientations for tile in _tiles(context, machine, swapped, least)]
        if tiles:
            found = _clustered([Tile(plan) for plan in tiles])
            usual = found.taken(~found.column(_is_large))
            is_timed = context.dtype.bits == TIMED_BITS and not found.tiles[0].is_walked and corrects(usual)
            return found if is_timed else usual if len(usual) else None
    return None


def is_tall(rows: int) -> bool:
    """Has a tile more rows than the most consumers have with one instruction each?"""
    return rows > MOST_CONSUMERS * ROWS


def _is_large(tile: Tile) -> bool:
    """Is it of a tile that the model ranks well with its correction only?"""
    t = tile.plan.tuning
    return is_tall(t.m_per_block) or not hold(t.consumers, tile.plan.accumulators * WARPGROUP)


def _tiles(context: GemmContext, machine: GpuMachine, swapped: bool, least: int) -> Iterator[WarpgroupPlan]:
    """Tiles of rows and columns that are legal in no cluster, else they are in none.  One is not twice as
    large as the matrix, but for `least` columns.
    """
    c = context.exchanged if swapped else context
    k = _depth(c, machine)
    wide = [n for n in columns_of(c.dtype, machine) if n == least or n < 2 * c.n]
    for (rows, consumers, pingpong), n in product(ROW_TILES, wide):
        own = rows if pingpong else rows // consumers
        is_thin = (rows >= 2 * c.m and rows > ROWS) or (is_tall(rows) and n < LEAST_OF_TALL)
        if is_thin or not may_hold(consumers, own * n * c.summed, c.finishing):
            continue
        tuning = WarpgroupTuning(rows, n, k, LEAST_STAGES, consumers, 1, 1, pingpong, swapped, 1)
        plan = tuning.plan(context, machine)
        if consumers == MOST_CONSUMERS and any(plan.turned):
            continue  # a producer that turns tiles wants more registers than four warpgroups leave
        tuning = replace(tuning, stages=max(LEAST_STAGES, stages_that_fit(plan, machine)))
        if WARPGROUP_RULES.is_legal(tile := tuning.plan(context, machine), machine):
            yield tile


def _clustered(tiles: Sequence[Tile]) -> Tunings:
    """Tiles in clusters that the matrix has tiles for, and whose workgroups can load parts of their tiles."""
    found = [
        (index, m, n, _group(tile, m, n))
        for index, tile in enumerate(tiles)
        for m, n in CLUSTERS
        if (m == 1 or tile.tall > 1) and (n == 1 or tile.broad > 1) and _is_loaded_by(tile.plan, m, n)
    ]
    found = Tunings.clustered(tiles, *np.array(found).T)
    return found.taken(found.units * found.cluster <= LARGEST_GRID)


def _is_loaded_by(plan: WarpgroupPlan, cluster_m: int, cluster_n: int) -> bool:
    """Can so many workgroups of a cluster load parts of a tile each?"""
    return has_parts(plan.a_tile, cluster_n) and has_parts(plan.b_tile, cluster_m)


def _depth(context: GemmContext, machine: GpuMachine) -> int:
    """The longest step of K that is not twice as long as K and, where that can be, stays in one stretch of
    the operands, such as the channels at one tap of a window, or goes over whole stretches of them.
    """
    size = context.dtype.bytes
    fitting = [s // size for s in SWIZZLES if s // size < 2 * context.k] or [SWIZZLES[-1] // size]
    if context.part_k:
        fitting = [k for k in fitting if context.part_k % k == 0] or fitting[-1:]
    inside = next((k for k in fitting if not crosses(context, k)), None)
    if inside is None:
        return fitting[0]
    longer, each = fitting[: fitting.index(inside) + 1], rates_of(machine).rows.step
    return min(longer, key=lambda k: round_up(context.k, k) * each[k * size])


def _group(tile: Tile, m: int, n: int) -> int:
    """Blocks of m x n tiles before the next column, such that those that run at a time want the fewest rows
    and columns.
    """
    at_a_time = tile.plan.machine.clusters_at_a_time(m * n)
    rows, columns, row_blocks = m * tile.rows, n * tile.columns, tile.tall // m
    wanted = {g: g * rows + -(-at_a_time // g) * columns for g in GROUPS if g <= row_blocks}
    return min(wanted, key=lambda g: wanted[g], default=1)
