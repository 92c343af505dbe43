"""The unit that multiplies a product on a CPU, by the name that its operation gives."""

from __future__ import annotations

from xdsl.ir import Operation

from imbrex.dtype import DType
from imbrex.ir.literal import suggest
from imbrex.ir.source import InvalidOp
from imbrex.view.mma.vector import CPU_UNITS, FMA, CpuUnit

__all__ = ["unit_of"]


def unit_of(op: Operation, name: str, operand: DType) -> CpuUnit:
    """What multiplies operands, or panels, of this type; InvalidOp where no unit has the name, or it takes
    others.
    """
    found = CPU_UNITS.get(name)
    if found is None:
        raise InvalidOp(op, f"unknown unit '{name}'{suggest(name, CPU_UNITS)}", "instruction")
    if found != FMA and operand.name not in (found.operand, found.held):
        raise InvalidOp(op, f"{found} multiplies {found.operand}, not {operand}", "instruction")
    return found
