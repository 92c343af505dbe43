"""The matrix instructions of warpgroups, wgmma, that a machine has for products of a type.

Law: a machine without warpgroups has none, so that whoever asks for columns need not ask for the machine.
"""

from __future__ import annotations

from functools import cache

from imbrex.chip import GpuMachine
from imbrex.dtype import DTYPES, DType
from imbrex.view.mma import Instruction, instructions

__all__ = ["columns_of", "instruction_of", "multiplied_types"]


def columns_of(dtype: DType, machine: GpuMachine) -> tuple[int, ...]:
    """Columns that one instruction can have, its N, in order; none of a type that is not multiplied."""
    return tuple(_by_columns(dtype, machine.chip)) if machine.has_warpgroups else ()


def instruction_of(dtype: DType, columns: int, machine: GpuMachine) -> Instruction:
    """The instruction of so many columns; the rules of legality have seen that there is one."""
    return _by_columns(dtype, machine.chip)[columns]


def multiplied_types(machine: GpuMachine) -> tuple[str, ...]:
    """Names of the element types that are multiplied, in the order of the instructions' table."""
    names = dict.fromkeys(one.format("a", machine.chip) for one in instructions(machine.chip))
    return tuple(name for name in names if name in DTYPES and columns_of(DTYPES[name], machine))


@cache
def _by_columns(dtype: DType, chip: str) -> dict[int, Instruction]:
    types = (dtype.name, dtype.name, dtype.accumulator_name)
    return {
        one.n: one
        for one in instructions(chip)
        if types == (one.format("a", chip), one.format("b", chip), one.format("c", chip))
    }
