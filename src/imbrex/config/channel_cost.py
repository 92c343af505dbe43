"""Estimated cycles of a depthwise convolution by lanes (`ir/passes/channel_vectors.py`).

The slowest of two streams: instructions of lanes, and memory, which each array crosses once.  To be compared
with `warpgroup.cost`.
"""

from __future__ import annotations

from math import prod

from imbrex.chip import GpuMachine
from imbrex.config.strips import Shape, is_tall
from imbrex.config.warpgroup.rates import rates_of

__all__ = ["channel_cycles"]


def channel_cycles(shape: Shape, machine: GpuMachine) -> float:
    """Cycles of all launches."""
    conv, own, lanes = shape.conv, rates_of(machine).product, machine.lane_rates
    assert lanes is not None, f"no rates of lanes are known of {machine.name}"
    taps = conv.height.window * conv.width.window
    sizes = [prod(d.size for d in dims) for dims in (conv.filter, conv.input, conv.output)]
    adds = sizes[2] * taps * (lanes.tall if is_tall(shape) else 1.0)
    multiplied = adds + (sizes[1] + sizes[2]) * lanes.each
    spent = (
        multiplied / lanes.instructions / machine.compute_units,
        sum(sizes) * shape.element_bytes / own.memory_bytes / lanes.memory,
    )
    launches = 2 if shape.direction == "backward_weight" else 1
    return own.start * launches + max(spent) + lanes.clash * (sum(spent) - max(spent))
