"""Estimated cycles of tunings of windows, of tiles and line by line: what the slowest of their streams needs,
as in the model of warpgroups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from imbrex.chip import LINE_BYTES, VECTOR_BYTES, HaloRates, LineRates, WarpgroupRates
from imbrex.config.halo.plan import HaloPlan, LinesPlan, WindowPlan
from imbrex.config.spent import Spent
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.steps import norm
from imbrex.config.warpgroup.tile import Multiplied
from imbrex.view.mma.hopper import ROWS

__all__ = ["HaloCost", "LinesCost"]


@dataclass(frozen=True)
class HaloCost:
    """The streams of one tile, where all multiprocessors work, and the whole product."""

    plan: HaloPlan

    @property
    def rates(self) -> HaloRates:
        return rates_of(self.plan.machine).halo

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
        t, dtype, machine = self.plan.tuning, self.plan.context.dtype, self.plan.machine
        used = instruction_of(dtype, t.n_per_block // t.diagonal, machine)
        made = Multiplied(used, t.m_per_block // ROWS * -(-t.k_per_block // used.k), dtype)
        through = t.loaded_pixels * t.channels * dtype.bytes + 2 * self.stored
        slowed = self.rates.matrix + self.rates.power
        return max(made.cycles(machine) * slowed, (made.read_bytes + through) / self.rates.shared_bytes)

    @property
    def loads(self) -> float:
        """Cycles of the pixels' way into shared memory."""
        t, size, pixels = self.plan.tuning, self.plan.context.dtype.bytes, self.plan.tuning.loaded_pixels
        taken = pixels * t.channels * size / self.rates.received_bytes
        given = (
            pixels
            * max(t.channels * size, LINE_BYTES / 2)
            / (self.rates.l2_bytes / self.plan.machine.compute_units)
        )
        each = 0.0 if self.plan.keeps_filter else self.plan.b_tile.bytes / self.rates.received_bytes
        return max(taken, given, pixels * self.rates.pixel) + each

    @property
    def epilogue(self) -> float:
        """Cycles of the sums' way to memory."""
        stored, product = self.plan.context.c.exchanged, rates_of(self.plan.machine).product
        width = max(stored.vector) * self.plan.context.dtype.output.bytes
        slower = 1.0 if width >= VECTOR_BYTES else product.narrow_store[width]
        slower *= 1.0 if stored.vector[1] >= stored.vector[0] else product.turned_store
        return self.rates.turn + slower * self.stored / self.rates.stored_bytes

    @property
    def tile(self) -> float:
        """Cycles of a tile: consumers that take turns multiply while the other one stores."""
        busy = self.matrix + self.epilogue
        if self.plan.tuning.pingpong:
            busy = max(self.matrix, self.epilogue, busy / 2) + self.rates.turn
        hidden = self.rates.latency / (self.plan.tuning.stages - 1)
        return max(busy, self.loads + hidden)

    @property
    def cycles(self) -> float:
        """Cycles of the whole product."""
        spent, memory, rates = self.plan.rounds * self.tile, memory_cycles(self.plan, self.rates), self.rates
        return max(spent, memory) + rates.overlap * min(spent, memory) + rates.start

    @property
    def spent(self) -> Spent:
        """The parts of all tiles of a workgroup."""
        each = Spent({"matrix unit": self.matrix, "loads": self.loads}, {"results": self.epilogue})
        whole = each.times(self.plan.rounds).alongside({"memory": memory_cycles(self.plan, self.rates)})
        return whole.plus({"start": self.rates.start})


def memory_cycles(plan: WindowPlan[Any], rates: HaloRates | LineRates) -> float:
    """Cycles of memory for pixels, read once, and the result."""
    c, row = plan.context, plan.tuning.channels * plan.context.dtype.bytes
    result = c.c.elements or c.g * c.m * c.n
    read = c.b.elements * c.dtype.bytes or c.g * c.n * row
    moved = read + result * c.dtype.output.bytes
    return moved / rates.memory_bytes * rates.short_pixel.get(row, 1.0)


@dataclass(frozen=True)
class LinesCost:
    """The streams of one line, where all multiprocessors work, and the whole product."""

    plan: LinesPlan

    @property
    def rates(self) -> WarpgroupRates:
        return rates_of(self.plan.machine)

    @property
    def products(self) -> float:
        """Cycles of the matrix unit and of shared memory, from which it reads A and B."""
        t, dtype, rates = self.plan.tuning, self.plan.context.dtype, self.rates.halo
        used = instruction_of(dtype, t.window_rows * t.n_per_block // t.diagonal, self.plan.machine)
        issues = t.line // ROWS * t.window_columns * -(-t.channels // used.k)
        made = Multiplied(used, issues, dtype)
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
        return self.plan.filter.bytes / self.rates.line.filter_bytes

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
