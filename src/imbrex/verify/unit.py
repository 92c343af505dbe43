"""The unit of a target: how its hardware adds products; what a bound has to allow for, and no more."""

from __future__ import annotations

from imbrex.chip import GPU_MACHINES, PLAIN, PLAIN_F64, Unit
from imbrex.dtype import F64, DType

__all__ = ["PLAIN", "PLAIN_F64", "Unit", "unit_of"]


def unit_of(chip: str | None, operand: DType) -> Unit:
    """The unit of that GPU, or of a CPU where there is none, a lane-level build too."""
    if operand.accumulator == F64:
        return PLAIN_F64
    if chip is None or not operand.is_float:
        return PLAIN
    return GPU_MACHINES[chip].units.get(operand.multiplied_bits, PLAIN)
