"""Estimated cycles of tunings of windows, of tiles, line by line and of weights: what the slowest of their
streams needs, as in the model of warpgroups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from imbrex.chip import LINE_BYTES, VECTOR_BYTES, HaloRates, LineRates, WarpgroupRates, WeightRates
from imbrex.config.halo.plan import HaloPlan, HaloWeightPlan, HaloWeightTuning, ImagePlan, LinesPlan
from imbrex.config.spent import Spent
from imbrex.config.warpgroup.consumers import SUM_BYTES, ConsumersPlan
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.steps import norm
from imbrex.config.warpgroup.tile import Multiplied
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.halo_tile import PIXELS

__all__ = ["HaloCost", "HaloWeightCost", "LinesCost"]

MATRIX_BYTES: Final = 512
"""Bytes of an operand of a warp, 16 pixels of 16 channels."""


P = TypeVar("P", bound=ConsumersPlan[Any])


@dataclass(frozen=True)
class Cost(Generic[P]):
    plan: P

    @property
    def rates(self) -> WarpgroupRates:
        return rates_of(self.plan.machine)

    def multiplied(self, columns: int, blocks: int, depth: int) -> Multiplied:
        """What the matrix unit does for so many columns, blocks of 64 rows and elements of k."""
        dtype = self.plan.context.dtype
        used = instruction_of(dtype, columns, self.plan.machine)
        return Multiplied(used, blocks * -(-depth // used.k), dtype)


@dataclass(frozen=True)
class HaloCost(Cost[HaloPlan]):
    """The streams of one tile, where all multiprocessors work, and the whole product."""

    @property
    def stored(self) -> int:
        """Bytes of the result's tile."""
        t = self.plan.tuning
        return t.m_per_block * t.n_per_block * self.plan.context.dtype.output.bytes

    @property
    def matrix(self) -> float:
        """Cycles of the matrix unit, which reads A and B from shared memory; pixels and sums pass through it:
        what an H200 takes for a tile is nearly what shared memory does.
        """
        t, rates = self.plan.tuning, self.rates.halo
        made = self.multiplied(t.instruction_columns, t.m_per_block // ROWS, t.k_per_block)
        through = t.loaded_pixels * t.channels * self.plan.context.dtype.bytes + 2 * self.stored
        cycles = made.cycles(self.plan.machine) * (rates.matrix + rates.power)
        return max(cycles, (made.read_bytes + through) / rates.shared_bytes)

    @property
    def loads(self) -> float:
        """Cycles of the pixels' way into shared memory."""
        t, size, pixels = self.plan.tuning, self.plan.context.dtype.bytes, self.plan.tuning.loaded_pixels
        taken = pixels * t.channels * size / self.rates.halo.received_bytes
        l2_bytes = self.rates.halo.l2_bytes / self.plan.machine.compute_units
        given = pixels * max(t.channels * size, LINE_BYTES / 2) / l2_bytes
        each = 0.0 if self.plan.keeps_filter else self.plan.layout.b_bytes / self.rates.halo.received_bytes
        return max(taken, given, pixels * self.rates.halo.pixel) + each

    @property
    def epilogue(self) -> float:
        """Cycles of the sums' way to memory."""
        stored, product = self.plan.context.c.exchanged, rates_of(self.plan.machine).product
        width = max(stored.vector) * self.plan.context.dtype.output.bytes
        slower = 1.0 if width >= VECTOR_BYTES else product.narrow_store[width]
        slower *= 1.0 if stored.vector[1] >= stored.vector[0] else product.turned_store
        return self.rates.halo.turn + slower * self.stored / self.rates.halo.stored_bytes

    @property
    def tile(self) -> float:
        """Cycles of a tile: consumers that take turns multiply while the other one stores."""
        busy = self.matrix + self.epilogue
        if self.plan.tuning.pingpong:
            busy = max(self.matrix, self.epilogue, busy / 2) + self.rates.halo.turn
        hidden = self.rates.halo.latency / (self.plan.tuning.stages - 1)
        return max(busy, self.loads + hidden)

    @property
    def cycles(self) -> float:
        """Cycles of the whole product."""
        rates, spent = self.rates.halo, self.plan.rounds * self.tile
        memory = memory_cycles(self.plan, rates)
        return max(spent, memory) + rates.overlap * min(spent, memory) + rates.start

    @property
    def spent(self) -> Spent:
        """The parts of all tiles of a workgroup."""
        each = Spent({"matrix unit": self.matrix, "loads": self.loads}, {"results": self.epilogue})
        whole = each.times(self.plan.rounds).alongside({"memory": memory_cycles(self.plan, self.rates.halo)})
        return whole.plus({"start": self.rates.halo.start})


def memory_cycles(plan: ImagePlan[Any], rates: HaloRates | LineRates) -> float:
    """Cycles of memory for pixels, read once, and the result."""
    c, row = plan.context, plan.tuning.channels * plan.context.dtype.bytes
    result = c.c.elements or c.g * c.m * c.n
    read = c.b.elements * c.dtype.bytes or c.g * c.n * row
    moved = read + result * c.dtype.output.bytes
    return moved / rates.memory_bytes * rates.short_pixel.get(row, 1.0)


@dataclass(frozen=True)
class LinesCost(Cost[LinesPlan]):
    """The streams of one line, where all multiprocessors work, and the whole product."""

    @property
    def products(self) -> float:
        """Cycles of the matrix unit and of shared memory, from which it reads A and B."""
        t, rates = self.plan.tuning, self.rates.halo
        made = self.multiplied(t.instruction_columns, t.line // ROWS * t.window_columns, t.channels)
        return max(made.read_bytes / rates.shared_bytes, made.cycles(self.plan.machine) * rates.matrix)

    @property
    def passing(self) -> float:
        """Cycles of shared memory for what comes and goes."""
        t, context = self.plan.tuning, self.plan.context
        given = t.line * t.channels * context.dtype.bytes
        taken = 2 * t.line * t.n_per_block * context.dtype.output.bytes
        return self.rates.line.passing * (given + taken) / self.rates.halo.shared_bytes

    @property
    def line(self) -> float:
        """Cycles of each consumer's line, where all have one."""
        each = self.products + self.passing
        return max(self.plan.tuning.consumers * each, each + self.rates.line.finish)

    @property
    def steps(self) -> int:
        """Lines that a consumer reads."""
        return self.plan.streams.most_lines + self.plan.tuning.window_rows - 1

    @property
    def filter(self) -> float:
        """Cycles until the filter is there."""
        return self.plan.layout.b_bytes / self.rates.line.filter_bytes

    @property
    def cycles(self) -> float:
        """Cycles of the whole product."""
        c, t, rates = self.plan.context, self.plan.tuning, self.rates.line
        spent = self.steps * self.line * (1 - rates.in_turn * t.pingpong)
        memory = memory_cycles(self.plan, rates) * (1 + rates.in_turn * t.pingpong)
        memory *= rates.third if t.consumers > 2 else 1.0
        memory *= rates.along_rows if c.c.vector[1] > c.c.vector[0] else 1.0
        return norm((spent, memory), rates.norm) + rates.start + self.filter

    @property
    def spent(self) -> Spent:
        """The parts of all lines of a workgroup."""
        rates, steps = self.rates.line, self.steps * self.plan.tuning.consumers
        parallel = {"matrix unit": steps * self.products, "memory": memory_cycles(self.plan, rates)}
        return Spent(parallel, {"shared memory": steps * self.passing, "start": rates.start + self.filter})


@dataclass(frozen=True)
class HaloWeightCost(Cost[HaloWeightPlan]):
    """The streams of a stage, where all multiprocessors work, and the whole product, shares apart."""

    @property
    def matrix(self) -> tuple[float, int]:
        """Cycles of the matrix unit, and bytes of shared memory that it reads."""
        t = self.plan.tuning
        if t.by_warps:
            return _by_warps(t, self.rates.weight)
        made = self.multiplied(t.own_columns, t.consumers, t.k_per_block)
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
        row, (matrix, read) = t.channels * size, self.matrix
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
    columns = t.width // PIXELS
    products = columns * t.rows * t.taps * t.diagonal * 2
    halo = t.loaded - t.rows
    read = columns * (t.rows + (t.rows + halo) * (t.taps // (halo + 1))) * t.diagonal * MATRIX_BYTES
    return products / 4 * rates.warp_product, read
