"""Estimated cycles of a tuning of halo weights: what the slowest of its streams needs, as for halos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from imbrex.chip import LINE_BYTES, WeightRates
from imbrex.config.halo_weight.plan import HaloWeightPlan, HaloWeightTuning
from imbrex.config.spent import Spent
from imbrex.config.warpgroup.consumers import SUM_BYTES
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.steps import norm
from imbrex.config.warpgroup.tile import Multiplied
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.tap_tile import PIXELS

__all__ = ["halo_weight_cycles", "halo_weight_spent"]

MATRIX_BYTES: Final = 512
"""Bytes of an operand of a warp, 16 pixels of 16 channels."""


def step_cycles(plan: HaloWeightPlan) -> float:
    """Cycles of a stage, where all multiprocessors work."""
    return max(_streams(plan).values()) + rates_of(plan.machine).weight.step


def halo_weight_spent(plan: HaloWeightPlan) -> Spent:
    """The parts of all rounds."""
    rates, rounds = rates_of(plan.machine), -(-plan.units // plan.workgroups)
    whole = Spent(_streams(plan), {}).times(rounds * plan.k_iterations)
    after = {
        "results": rounds * _stored_cycles(plan),
        "start": rates.halo.start + rounds * rates.weight.answer,
    }
    return whole.alongside({"memory": _memory_cycles(plan)}).plus(after)


def _streams(plan: HaloWeightPlan) -> Mapping[str, float]:
    """Cycles of a stage by part of the chip."""
    t, size = plan.tuning, plan.context.dtype.bytes
    row, pixels = t.channels * size, t.loaded_pixels + t.k_per_block
    arrived = t.loaded_pixels * row + t.k_per_block * ROWS * size
    rates = rates_of(plan.machine)
    matrix, read = _by_warps(t, rates.weight) if t.by_warps else _by_warpgroups(plan)
    given = t.loaded_pixels * max(row, LINE_BYTES / 2) + t.k_per_block * ROWS * size
    given /= rates.halo.l2_bytes / plan.machine.compute_units
    return {
        "matrix unit": matrix,
        "shared memory": (read + arrived) / rates.halo.shared_bytes,
        "loads": max(given, _row_cycles(plan, pixels)) + rates.halo.latency / (t.stages - 1),
    }


def _row_cycles(plan: HaloWeightPlan, pixels: int) -> float:
    """Cycles of the copy engine: a row a pixel, or, of planes, one a channel for a row's pixels."""
    rates = rates_of(plan.machine)
    if not plan.in_planes:
        return pixels * rates.halo.pixel
    t, size = plan.tuning, plan.context.dtype.bytes
    rows = pixels * size * t.channels // LINE_BYTES
    return rows * rates.weight.plane_row


def _by_warpgroups(plan: HaloWeightPlan) -> tuple[float, int]:
    """Cycles of the matrix unit, and bytes that it reads."""
    t, dtype = plan.tuning, plan.context.dtype
    used = instruction_of(dtype, t.own_columns, plan.machine)
    made = Multiplied(used, t.k_per_block // PIXELS * t.consumers, dtype)
    return made.cycles(plan.machine) * rates_of(plan.machine).weight.matrix, made.read_bytes


def _by_warps(t: HaloWeightTuning, rates: WeightRates) -> tuple[float, int]:
    """The same of warps: a line of the input is read once for each column of the window."""
    columns = t.images * t.width // PIXELS
    products = columns * t.rows * t.taps * t.diagonal * 2
    halo = t.loaded - t.rows
    read = columns * (t.rows + (t.rows + halo) * (t.taps // (halo + 1))) * t.diagonal * MATRIX_BYTES
    return products / 4 * rates.warp_product, read


def halo_weight_cycles(plan: HaloWeightPlan) -> float:
    """Cycles of the whole product, but not of adding up its shares."""
    rates = rates_of(plan.machine)
    rounds = -(-plan.units // plan.workgroups)
    spent = rounds * (plan.k_iterations * step_cycles(plan) + rates.weight.answer + _stored_cycles(plan))
    return norm((spent, _memory_cycles(plan)), rates.weight.norm) + rates.halo.start


def _stored_cycles(plan: HaloWeightPlan) -> float:
    """Cycles of a tile's sums to memory."""
    rates = rates_of(plan.machine).halo
    return rates.turn + ROWS * plan.tuning.n_per_block * SUM_BYTES / rates.stored_bytes


def _memory_cycles(plan: HaloWeightPlan) -> float:
    """Cycles of memory for both operands, read once, and the sums."""
    c = plan.context
    read = (c.a.elements + c.b.elements) * c.dtype.bytes
    return (read + c.c.elements * SUM_BYTES) / rates_of(plan.machine).weight.memory_bytes
