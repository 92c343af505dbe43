"""Estimated cycles of a product of many groups with one row each, by lanes (`ir/passes/channel_vectors.py`).

The slowest of four streams: multiply-adds with what widens their operands, loads through L1, each window
anew, stores, and memory, which each array crosses once.  To be compared with `warpgroup.cost`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imbrex.schedule.context import GemmContext
from imbrex.schedule.target import GpuTarget
from imbrex.schedule.warpgroup.rates import RATES

__all__ = ["channel_cycles"]


@dataclass(frozen=True)
class LaneRates:
    """Of a multiprocessor and a cycle.  instructions: of lanes, with what is lost to waiting; each: of one
    multiply-add, widening included; l1_bytes: loaded; store_bytes: of elements stored one by one.
    """

    instructions: float = 90.0
    each: float = 2.5
    l1_bytes: float = 64.0
    store_bytes: float = 8.0


LANES: Final = LaneRates()


def channel_cycles(context: GemmContext, machine: GpuTarget, together: int) -> float:
    """Of one launch.  together: groups of C that are neighbours in memory."""
    size, out = context.dtype.bytes, context.g * context.n * context.dtype.output.bytes
    matrix = context.g * context.n * context.k
    is_wide = together > 1
    loads = context.b.elements or matrix
    spent = (
        matrix * LANES.each / LANES.instructions / machine.compute_units,
        matrix * size / LANES.l1_bytes / machine.compute_units,
        out / (LANES.l1_bytes if is_wide else LANES.store_bytes) / machine.compute_units,
        (loads * size + out) / RATES.memory_bytes,
    )
    return RATES.start + max(spent) + RATES.clash * (sum(spent) - max(spent))
