"""Estimated cycles of a tuning of halo weights: what the slowest of its streams needs, as for halos."""

from __future__ import annotations

from typing import Final

from imbrex.config.halo.cost import LINE_BYTES, ROW_CYCLES
from imbrex.config.halo_weight.plan import SUM_BYTES, HaloWeightPlan, HaloWeightTuning
from imbrex.config.warpgroup.plan import ROWS, instruction_of
from imbrex.config.warpgroup.rates import HALO_RATES as RATES
from imbrex.view.stage.tap_tile import PIXELS

__all__ = ["halo_weight_cycles"]


MATRIX: Final = 1.2
"""Cycles for each that the matrix unit's instructions take: an H200 took 1.02 to 1.1 for small integers, 1.2
to 1.3 for numbers at random, whose power lowers the clock: 57 us for 256 channels of 14 x 14."""
STEP: Final = 60.0
"""Cycles of a consumer from its last product in a stage to the first one in the next."""
WARP_PRODUCT: Final = 8.0
"""Cycles of a multiprocessor's four matrix units together for four products of 16 x 8 sums by 16 pixels."""
MEMORY_BYTES: Final = 2250.0
"""Bytes a cycle of the whole chip, of pixels read once: an H200 read 3.9 TB/s where warps multiplied."""
PLANE_ROW: Final = 6.3
"""Cycles of the copy engine for a row of a plane: an H200 took 6.1 to 6.8 for 112 bytes, of which every
second one begins inside of a sector of the caches."""
MATRIX_BYTES: Final = 512
"""Bytes of an operand of a warp, 16 pixels of 16 channels."""


def step_cycles(plan: HaloWeightPlan) -> float:
    """Cycles of a stage, where all multiprocessors work."""
    t, size = plan.tuning, plan.context.dtype.bytes
    row, pixels = t.channels * size, plan.loaded + t.k_per_block
    arrived = plan.loaded * row + t.k_per_block * ROWS * size
    matrix, read = _by_warps(t) if t.by_warps else _by_warpgroups(plan)
    shared = (read + arrived) / RATES.shared_bytes
    given = plan.loaded * max(row, LINE_BYTES / 2) + t.k_per_block * ROWS * size
    given /= RATES.l2_bytes / plan.machine.compute_units
    loads = max(given, _row_cycles(plan, pixels)) + RATES.latency / (t.stages - 1)
    return max(matrix, shared, loads) + STEP


def _row_cycles(plan: HaloWeightPlan, pixels: int) -> float:
    """Cycles of the copy engine: a row a pixel, or, of planes, one a channel for a row's pixels."""
    if not plan.in_planes:
        return pixels * ROW_CYCLES
    t, size = plan.tuning, plan.context.dtype.bytes
    rows = pixels * size * t.channels // LINE_BYTES
    return rows * PLANE_ROW


def _by_warpgroups(plan: HaloWeightPlan) -> tuple[float, int]:
    """Cycles of the matrix unit, and bytes that it reads."""
    t, dtype = plan.tuning, plan.context.dtype
    used, issues = instruction_of(dtype, t.own_columns), t.k_per_block // PIXELS * t.consumers
    cycles = issues * used.cycles[plan.machine.chip] * MATRIX
    return cycles, issues * (ROWS + t.own_columns) * PIXELS * dtype.bytes


def _by_warps(t: HaloWeightTuning) -> tuple[float, int]:
    """The same of warps: a line of the input is read once for each column of the window."""
    columns = t.images * t.width // PIXELS
    products = columns * t.rows * t.taps * t.diagonal * 2
    halo = t.loaded - t.rows
    read = columns * (t.rows + (t.rows + halo) * (t.taps // (halo + 1))) * t.diagonal * MATRIX_BYTES
    return products / 4 * WARP_PRODUCT, read


def halo_weight_cycles(plan: HaloWeightPlan) -> float:
    """Cycles of the whole product, but not of adding up its shares."""
    c, t = plan.context, plan.tuning
    rounds = -(-plan.units // plan.workgroups)
    stored = RATES.turn + ROWS * t.n_per_block * SUM_BYTES / RATES.stored_bytes
    spent = rounds * (plan.k_iterations * step_cycles(plan) + RATES.answer + stored)
    read = (c.a.elements + c.b.elements) * c.dtype.bytes
    memory = (read + c.c.elements * SUM_BYTES) / MEMORY_BYTES
    together = spent**RATES.streams + memory**RATES.streams
    return together ** (1 / RATES.streams) + RATES.start
