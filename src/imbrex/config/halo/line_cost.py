"""Estimated cycles of windows line by line: shared memory's rate, a consumer's own pace, and memory's."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.chip import WarpgroupRates
from imbrex.config.halo.cost import memory_cycles
from imbrex.config.halo.lines import LinesPlan
from imbrex.config.warpgroup.plan import instruction_of
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.steps import Multiplied, norm
from imbrex.view.mma.hopper import ROWS

__all__ = ["line_cycles"]


@dataclass(frozen=True)
class Step:
    """A line, where all multiprocessors work."""

    plan: LinesPlan

    @property
    def rates(self) -> WarpgroupRates:
        return rates_of(self.plan.machine)

    @property
    def products(self) -> float:
        """Cycles of the matrix unit and of shared memory, from which it reads A and B."""
        t, dtype, rates = self.plan.tuning, self.plan.context.dtype, self.rates.halo
        used = instruction_of(dtype, t.window_rows * t.n_per_block // t.diagonal)
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
    def cycles(self) -> float:
        """Cycles of each consumer's line, where all have one."""
        each = self.products + self.passing
        return max(self.plan.tuning.consumers * each, each + self.rates.line.finish)


def line_cycles(plan: LinesPlan) -> float:
    """Cycles of the whole product."""
    c, t, rates = plan.context, plan.tuning, rates_of(plan.machine).line
    steps = plan.streams.most_lines + t.window_rows - 1
    spent = steps * Step(plan).cycles * (1 - rates.in_turn * t.pingpong)
    memory = memory_cycles(plan, rates) * (1 + rates.in_turn * t.pingpong)
    memory *= rates.third if t.consumers > 2 else 1.0
    memory *= rates.along_rows if c.c.vector[1] > c.c.vector[0] else 1.0
    return norm((spent, memory), rates.norm) + rates.start + plan.filter.bytes / rates.filter_bytes
