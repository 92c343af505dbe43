"""The unit of a target: how its hardware adds products; what a bound has to allow for, and no more."""

from __future__ import annotations

from imbrex.chip import GPU_TARGETS, PLAIN, PLAIN_F64, Unit
from imbrex.dtype import F64, DType

__all__ = ["PLAIN", "PLAIN_F64", "Unit", "unit_of"]


def unit_of(chip: str | None, operand: DType) -> Unit:
    """The unit of that GPU, or of a CPU where there is none, a lane-level build too."""
    if operand.accumulator == F64:
        return PLAIN_F64
    return PLAIN if chip is None else GPU_TARGETS[chip].units.get(operand.name, PLAIN)
