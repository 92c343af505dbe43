"""What it costs that C is stored, by a kernel whose steps over K are one product each.

stored   vectors that go there, by how they lie, and that are read again in all steps but the first
awaited  what of the rows' way from memory is not hidden behind a tile's multiply-adds
"""

from __future__ import annotations

from typing import Final

from imbrex.chip import CpuMachine, Prices
from imbrex.config.context import SAMPLE, round_up
from imbrex.config.cpu.crowding import crowds
from imbrex.config.cpu.plan import CpuPlan

__all__ = ["PAGE", "awaited", "stored"]

PAGE: Final = 4096
"""Bytes of a page."""
TURNED: Final = 0.4
"""The part of what a vector of C costs that is turned on its way there which turning it is."""


def stored(plan: CpuPlan, summed: int, prices: Prices) -> float:
    """Cycles in which C is stored, and read again by all steps of K but one.  summed: columns, the last ones,
    that are summed along K.
    """
    gemm, t, times = plan.oriented, plan.tuning, 2 * plan.k_iterations - 1
    vectors = times * gemm.m * gemm.n / t.vector_lanes
    if gemm.c.step[1] == 1 and gemm.c.run[1] >= min(gemm.n, 4 * t.vector_lanes):
        return vectors * prices.store_in_place
    if gemm.c.step[0] == 1 and gemm.c.run[0] >= min(gemm.m, t.vector_lanes):
        is_crowd = crowds(t.vector_lanes, gemm.m * plan.context.dtype.output.bytes)
        each = prices.store_transpose * (prices.crowded if is_crowd else 1.0)
        turned = _turned(plan, gemm.n - summed) * each
        return times * (turned + _vectors_of_columns(plan, summed) * prices.store_in_place)
    return vectors * prices.scatter


def _turned(plan: CpuPlan, columns: int) -> float:
    """Vectors of so many columns of C that are turned and stored: squares are turned whole, however much of
    them there is, and each of a square's columns is stored.
    """
    turned = _vectors_of_columns(plan, round_up(columns, plan.tuning.vector_lanes))
    return TURNED * turned + (1 - TURNED) * _vectors_of_columns(plan, columns)


def _vectors_of_columns(plan: CpuPlan, columns: int) -> int:
    """Vectors of rows of so many columns, the last of each partly used."""
    return columns * -(-plan.oriented.m // plan.tuning.vector_lanes)


def awaited(plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which rows of C come that nobody foresees: where B stays, those of a tile follow no others,
    and are fetched while it multiplies, which takes too short for few k, and of a C of more than twice L2
    each takes the same however many k there are; where A stays, so do those of the
    first tile in each block of columns but one.  None where C or its rows are near, or where these are so
    few that the core foresees each of them.
    """
    gemm, t, prices = plan.oriented, plan.tuning, machine.prices
    row_bytes = gemm.n * plan.context.dtype.output.bytes
    is_near = gemm.m * row_bytes <= machine.l2_bytes or row_bytes < PAGE or gemm.m <= prices.streams
    if is_near or gemm.c.step[1] != 1 or gemm.c.run[1] < min(gemm.n, SAMPLE):
        return 0.0
    hidden = plan.block_k * t.m_per_thread * t.vectors / machine.fma_per_cycle
    tiles, arrival, least = plan.column_panels, prices.arrival, 0.0
    if t.stationary == "a":
        tiles, arrival = plan.blocks[1] - 1, prices.begun * t.m_per_thread
    else:
        beyond = min(1.0, max(0.0, gemm.m * row_bytes / (2 * machine.l2_bytes) - 1))
        least = beyond * prices.scattered_row * t.m_per_thread
    return plan.k_iterations * plan.row_panels * tiles * max(least, arrival - hidden)
