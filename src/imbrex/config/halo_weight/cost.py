"""Estimated cycles of a tuning of halo weights: what the slowest of its streams needs, as for halos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from imbrex.chip import LINE_BYTES, WarpgroupRates, WeightRates
from imbrex.config.halo_weight.plan import HaloWeightPlan, HaloWeightTuning
from imbrex.config.spent import Spent
from imbrex.config.warpgroup.consumers import SUM_BYTES
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.steps import norm
from imbrex.config.warpgroup.tile import Multiplied
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.tap_tile import PIXELS

__all__ = ["HaloWeightCost"]

MATRIX_BYTES: Final = 512
"""Bytes of an operand of a warp, 16 pixels of 16 channels."""


@dataclass(frozen=True)
class HaloWeightCost:
    """The streams of a stage, where all multiprocessors work, and the whole product, shares apart."""

    plan: HaloWeightPlan

    @property
    def rates(self) -> WarpgroupRates:
        return rates_of(self.plan.machine)

    @property
    def multiplied(self) -> tuple[float, int]:
        """Cycles of the matrix unit, and bytes of shared memory that it reads."""
        t, dtype = self.plan.tuning, self.plan.context.dtype
        if t.by_warps:
            return _by_warps(t, self.rates.weight)
        used = instruction_of(dtype, t.own_columns, self.plan.machine)
        made = Multiplied(used, t.k_per_block // PIXELS * t.consumers, dtype)
        return made.cycles(self.plan.machine) * self.rates.weight.matrix, made.read_bytes

    @property
    def rows(self) -> float:
        """Cycles of the copy engine: a row a pixel, or, of planes, one a channel for a row's pixels."""
        t, rates = self.plan.tuning, self.rates
        pixels = t.loaded_pixels + t.k_per_block
        if not self.plan.in_planes:
            return pixels * rates.halo.pixel
        return pixels * self.plan.context.dtype.bytes * t.channels // LINE_BYTES * rates.weight.plane_row

    @property
    def streams(self) -> Mapping[str, float]:
        """Cycles of a stage by part of the chip."""
        t, size, rates = self.plan.tuning, self.plan.context.dtype.bytes, self.rates.halo
        row, (matrix, read) = t.channels * size, self.multiplied
        arrived = t.loaded_pixels * row + t.k_per_block * ROWS * size
        given = t.loaded_pixels * max(row, LINE_BYTES / 2) + t.k_per_block * ROWS * size
        given /= rates.l2_bytes / self.plan.machine.compute_units
        return {
            "matrix unit": matrix,
            "shared memory": (read + arrived) / rates.shared_bytes,
            "loads": max(given, self.rows) + rates.latency / (t.stages - 1),
        }

    @property
    def stored(self) -> float:
        """Cycles of a tile's sums to memory."""
        rates = self.rates.halo
        return rates.turn + ROWS * self.plan.tuning.n_per_block * SUM_BYTES / rates.stored_bytes

    @property
    def memory(self) -> float:
        """Cycles of memory for both operands, read once, and the sums."""
        c = self.plan.context
        read = (c.a.elements + c.b.elements) * c.dtype.bytes
        return (read + c.c.elements * SUM_BYTES) / self.rates.weight.memory_bytes

    @property
    def cycles(self) -> float:
        """Cycles of the whole product."""
        rates, step = self.rates.weight, max(self.streams.values()) + self.rates.weight.step
        spent = self.plan.rounds * (self.plan.k_iterations * step + rates.answer + self.stored)
        return norm((spent, self.memory), rates.norm) + self.rates.halo.start

    @property
    def spent(self) -> Spent:
        """The parts of all rounds."""
        whole = Spent(self.streams, {}).times(self.plan.rounds * self.plan.k_iterations)
        start = self.rates.halo.start + self.plan.rounds * self.rates.weight.answer
        after = {"results": self.plan.rounds * self.stored, "start": start}
        return whole.alongside({"memory": self.memory}).plus(after)


def _by_warps(t: HaloWeightTuning, rates: WeightRates) -> tuple[float, int]:
    """What warps multiply and read: a line of the input once for each column of the window."""
    columns = t.images * t.width // PIXELS
    products = columns * t.rows * t.taps * t.diagonal * 2
    halo = t.loaded - t.rows
    read = columns * (t.rows + (t.rows + halo) * (t.taps // (halo + 1))) * t.diagonal * MATRIX_BYTES
    return products / 4 * rates.warp_product, read
