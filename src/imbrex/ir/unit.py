"""The unit that multiplies a product on a CPU, by the name that its operation gives."""

from __future__ import annotations

from xdsl.ir import Operation

from imbrex.dtype import DType
from imbrex.ir.attrs import Word
from imbrex.ir.literal import suggest
from imbrex.ir.source import InvalidOp
from imbrex.view.mma.vector import CPU_UNITS, FMA, CpuUnit

__all__ = ["unit_of"]


def unit_of(op: Operation, operand: DType) -> CpuUnit:
    """What multiplies operands of this type; InvalidOp where no unit has the name, or it takes others."""
    name = op.properties.get("instruction")
    if name is None:
        return FMA
    assert isinstance(name, Word), name
    found = CPU_UNITS.get(name.data)
    if found is None or found == FMA:
        known = tuple(other for other in CPU_UNITS if other != FMA.name)
        raise InvalidOp(op, f"unknown unit '{name.data}'{suggest(name.data, known)}", "instruction")
    if found.operand != operand.name:
        raise InvalidOp(op, f"{found} multiplies {found.operand}, not {operand}", "instruction")
    return found
