"""Estimated cycles of a depthwise convolution by lanes (`ir/passes/channel_vectors.py`).

The slowest of two streams: instructions of lanes, and memory, which each array crosses once.  To be compared
with `warpgroup.cost`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from imbrex.chip import GpuTarget
from imbrex.config.strips import Shape, is_tall
from imbrex.config.warpgroup.rates import RATES

__all__ = ["channel_cycles"]


@dataclass(frozen=True)
class LaneRates:
    """instructions: of lanes in a cycle of a multiprocessor, with what is lost to waiting; each: of an
    element that is written or met, besides its multiply-adds; memory: the share of a copy's rate that is
    reached; tall: instructions for each multiply-add of large windows, whose rows are loaded for each tap's.
    """

    instructions: float = 80.0
    each: float = 3.0
    memory: float = 0.95
    tall: float = 1.7


LANES: Final = LaneRates()


def channel_cycles(shape: Shape, machine: GpuTarget) -> float:
    """Cycles of all launches."""
    conv = shape.conv
    taps = conv.height.window * conv.width.window
    sizes = [prod(d.size for d in dims) for dims in (conv.filter, conv.input, conv.output)]
    adds = sizes[2] * taps * (LANES.tall if is_tall(shape) else 1.0)
    multiplied = adds + (sizes[1] + sizes[2]) * LANES.each
    spent = (
        multiplied / LANES.instructions / machine.compute_units,
        sum(sizes) * shape.element_bytes / RATES.memory_bytes / LANES.memory,
    )
    launches = 2 if shape.direction == "backward_weight" else 1
    return RATES.start * launches + max(spent) + RATES.clash * (sum(spent) - max(spent))
