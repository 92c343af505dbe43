"""Estimated cycles of windows line by line: shared memory's rate, a consumer's own pace, and memory's.

Fitted to fourteen times of an H200, of six layers, which it gives within 5 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imbrex.config.halo.lines import LinesPlan
from imbrex.config.warpgroup.plan import ROWS, instruction_of
from imbrex.config.warpgroup.rates import HALO_RATES as RATES

__all__ = ["line_cycles"]

SHORT_ROWS: Final = {32: 1.35, 64: 1.16}
"""Bytes of a pixel's channels -> memory's time, in proportion to that of whole lines."""
MEMORY_BYTES: Final = 2200.0
"""Bytes a cycle of the whole chip, from and to memory: 3.9 TB/s, of an H200."""
THIRD: Final = 1.12
"""Memory's time with three consumers, whose streams are more, in proportion."""
ALONG_ROWS: Final = 1.8
"""Memory's time of a result whose columns lie together, in proportion: a line of an image is stored
alone, where a raster's tile stores several that are one stretch.  Rows of 112 bytes took 1.5, of 56 2.2.
"""
PASSING: Final = 1.35
"""Factor of the time that shared memory takes for what comes and goes, beside products."""
FINISH: Final = 980.0
"""Cycles of a consumer for each line, until its products are there and its sums in shared memory."""
IN_TURN: Final = 0.03
"""What multiplying in turn saves of a consumer's time, and what it adds to memory's."""
FILTER_BYTES: Final = 54.0
"""Bytes a cycle of the filter, to a multiprocessor, before its first product."""
NORM: Final = 10.0
"""Exponent of the norm of the times of memory and of all steps."""
START: Final = 6000.0
"""Cycles of a kernel, beside its work."""


@dataclass(frozen=True)
class Step:
    """A line, where all multiprocessors work."""

    plan: LinesPlan

    @property
    def products(self) -> float:
        """Cycles of the matrix unit and of shared memory, from which it reads A and B."""
        t, dtype, machine = self.plan.tuning, self.plan.context.dtype, self.plan.machine
        columns = t.window_rows * t.n_per_block // t.diagonal
        used = instruction_of(dtype, columns)
        issues = t.line // ROWS * t.window_columns * -(-t.channels // used.k)
        read = (ROWS + columns) * used.k * dtype.bytes / RATES.shared_bytes
        return issues * max(read, used.cycles[machine.chip] * RATES.matrix)

    @property
    def passing(self) -> float:
        """Cycles of shared memory for what comes and goes."""
        t, context = self.plan.tuning, self.plan.context
        given = t.line * t.channels * context.dtype.bytes
        taken = 2 * t.line * t.n_per_block * context.dtype.output.bytes
        return PASSING * (given + taken) / RATES.shared_bytes

    @property
    def cycles(self) -> float:
        """Cycles of each consumer's line, where all have one."""
        count = self.plan.tuning.consumers
        return max(count * (self.products + self.passing), self.products + self.passing + FINISH)


def line_cycles(plan: LinesPlan) -> float:
    """Cycles of the whole product."""
    c, t, size = plan.context, plan.tuning, plan.context.dtype.bytes
    steps = plan.streams.most_lines + t.window_rows - 1
    spent = steps * Step(plan).cycles * (1 - IN_TURN * t.pingpong)
    result = c.c.elements or c.g * c.m * c.n
    moved = (c.b.elements or c.g * c.n * t.channels) * size + result * c.dtype.output.bytes
    memory = moved / MEMORY_BYTES * SHORT_ROWS.get(t.channels * size, 1.0) * (1 + IN_TURN * t.pingpong)
    memory *= THIRD if t.consumers > 2 else 1.0
    memory *= ALONG_ROWS if c.c.vector[1] > c.c.vector[0] else 1.0
    return (spent**NORM + memory**NORM) ** (1 / NORM) + START + plan.filter.bytes / FILTER_BYTES
