"""Rules of warpgroup tunings: each reason says what would work.

Sources: the PTX ISA, sections on wgmma, mbarrier and tensor maps; the CUDA C++ programming guide on shared
memory and clusters.
"""

from __future__ import annotations

from typing import Final

from imbrex.chip import GpuMachine
from imbrex.config.rules import LARGEST_GRID, Reasons, Rules, listed
from imbrex.config.warpgroup import limits
from imbrex.config.warpgroup.limits import (
    consumers,
    lds_bytes,
    matrix_unit,
    registers,
    stages,
    warpgroups,
    whole_rows,
)
from imbrex.config.warpgroup.plan import CLUSTERS, WarpgroupPlan
from imbrex.numeral import counted
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.shared_tile import SWIZZLES, WRITTEN_BYTES, SharedTile

__all__ = ["MOST_COUNTED", "WARPGROUP_RULES", "has_parts"]

MOST_ROWS: Final = 384
MOST_COUNTED: Final = 2**31 - 1024
"""Rows, and columns, that 32 bits with a sign count, up to the end of the last cluster's tiles."""


def rows(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """Rows are whole instructions of every consumer."""
    t = plan.tuning
    if t.m_per_block % ROWS or t.m_per_block > MOST_ROWS:
        yield f"m_per_block {t.m_per_block} is not a multiple of {ROWS} up to {MOST_ROWS}"
    elif not t.pingpong and t.m_per_block % (ROWS * t.consumers):
        what = f"{counted(t.consumers, 'cooperative consumer')} of {ROWS} rows"
        yield f"m_per_block {t.m_per_block} is not a multiple of {ROWS * t.consumers} ({what})"


def columns(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """Columns are those of one instruction."""
    return limits.columns(plan.tuning.n_per_block, plan.context.dtype, machine)


def depth(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """A step of K is whole rows of shared memory: 32 or 64 bytes, or a multiple of 128."""
    k = plan.tuning.k_per_block
    return whole_rows(f"k_per_block {k} is", k, plan.context.dtype)


def cluster(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """A cluster has 1, 2, 4 or 8 workgroups, and the copy engine may write its parts of a shared tile."""
    t = plan.tuning
    if t.cluster not in CLUSTERS:
        yield f"a cluster of {t.cluster_m}x{t.cluster_n} workgroups is not of {listed(CLUSTERS)}"
        return
    for name, tile, parts in (("a", plan.a_tile, t.cluster_n), ("b", plan.b_tile, t.cluster_m)):
        if not has_parts(tile, parts):
            rows = f"{tile.d if tile.major == 'k' else tile.k} rows of {tile.row_bytes} bytes"
            parted = f"{rows} do not divide into {parts} parts of whole {WRITTEN_BYTES}"
            yield f"{name}'s tile is not loaded by {parts} workgroups: {parted}"


def has_parts(tile: SharedTile, parts: int) -> bool:
    """Has a shared tile so many parts, of whole rows each, that a workgroup of a cluster may load?"""
    rows, length = (tile.d, tile.k) if tile.major == "k" else (tile.k, tile.d)
    return (tile.major == "d" and length // tile.row % parts == 0) or tile.divides(rows, parts)


def phases(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """Phases are columns of a tile, and a step of K is of one of them."""
    c, t = plan.context, plan.tuning
    if c.part_k % t.k_per_block:
        yield f"k_per_block {t.k_per_block} does not divide parts of K of a multiple of {c.part_k}"
    if c.phases > 1 and t.swapped:
        yield "phases lie along columns, which are gemmN only where a tuning is straight"


def columns_together(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """B's columns, where they lie together, are whole permuted rows; stored with some of the next tile's, odd
    multiples of 8 took an H200 a fifth to a quarter longer than the next multiple of 16.
    """
    n, least = plan.tuning.n_per_block, SWIZZLES[-1] // plan.context.dtype.bytes
    if plan.b_major == "d" and n % least:
        yield f"n_per_block {n} is not a multiple of {least}, as columns that lie together in memory want"


def grid(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """All tiles have a number."""
    if (count := plan.units * plan.tuning.cluster) > LARGEST_GRID:
        yield f"tiles {count} > {LARGEST_GRID}"


def extents(plan: WarpgroupPlan, machine: GpuMachine) -> Reasons:
    """All rows and all columns have a number."""
    for name, size in (("gemmM", plan.context.m), ("gemmN", plan.context.n)):
        if size > MOST_COUNTED:
            yield f"{name} {size} > {MOST_COUNTED}; a general tuning would do"


WARPGROUP_RULES: Rules[WarpgroupPlan, GpuMachine] = Rules(
    (warpgroups, matrix_unit, consumers, rows, columns, columns_together, depth, stages, phases),
    (cluster, registers, lds_bytes, grid, extents),
)
