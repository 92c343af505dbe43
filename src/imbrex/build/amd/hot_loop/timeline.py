"""The timeline: the hot loop that the compiler made, as operations for `imbrex.timing`, and their time."""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.build.amd.hot_loop.bound import Conflicts
from imbrex.build.amd.hot_loop.kind import access_of, unit_of
from imbrex.build.amd.hot_loop.rates import matrix_clocks, modelled, vector_clocks
from imbrex.build.amd.hot_loop.text import Inst
from imbrex.chip import NARROWEST, TURN, GpuMachine
from imbrex.timing.compute_unit import simulated
from imbrex.timing.operation import Loop, Operation, Residents

__all__ = ["operations_of", "simulated_busy"]


def simulated_busy(
    loop: Sequence[Inst], chip: str, waves: int, conflicts: Conflicts, waves_of_group: int = 1
) -> float:
    """The part of the time that the matrix pipe of one SIMD is busy.

    waves: of one SIMD.  waves_of_group: of those, how many belong to one workgroup.
    """
    operations = operations_of(loop, chip, conflicts)
    if not any(op.unit == "matrix" for op in operations):
        return 0.0
    return simulated(operations, modelled(chip), Residents(waves, waves_of_group)).busy


def operations_of(loop: Sequence[Inst], chip: str, conflicts: Conflicts) -> Loop:
    """What each instruction asks of the compute unit."""
    gpu = modelled(chip)
    return tuple(_operation(inst, gpu, conflicts) for inst in loop)


def _operation(inst: Inst, gpu: GpuMachine, conflicts: Conflicts) -> Operation:
    match unit := unit_of(inst):
        case "matrix":
            clocks, is_exclusive = matrix_clocks(inst, gpu)
            return Operation("matrix", clocks, is_exclusive=is_exclusive)
        case "valu":
            return Operation("vector", vector_clocks(inst))
        case "lds" | "vmem":
            return _access(inst, conflicts)
        case "smem":
            return Operation("fetch")
        case "wait":
            limits = dict(word.rstrip(")").split("(") for word in inst.modifiers if "(" in word)
            return Operation("wait", vm=_limit(limits.get("vmcnt")), lgkm=_limit(limits.get("lgkmcnt")))
        case "other":
            number = int(inst.operands[0], 0) if inst.operands and inst.operands[0].isdigit() else 0
            if inst.name == "s_setprio":
                return Operation("priority", level=number)
            return Operation("pause", TURN * (number + 1))
        case "salu":
            return Operation("scalar")
        case "barrier" | "branch":
            return Operation(unit)


def _access(inst: Inst, conflicts: Conflicts) -> Operation:
    access = access_of(inst)
    if access is None:  # a lane swap through LDS
        return Operation("read", lane_bytes=NARROWEST)
    wide = max(NARROWEST, access.bytes)
    if access.space == "global":
        return Operation("direct" if access.direct else "load", lane_bytes=wide)
    if access.way == "read":
        return Operation("read", lane_bytes=wide, factor=conflicts.read)
    return Operation("write", lane_bytes=wide, factor=conflicts.write)


def _limit(text: str | None) -> int | None:
    return None if text is None else int(text)
