"""Faults as messages: which kernel, workgroup and wave, which instruction, and what it did."""

from __future__ import annotations

from imbrex.cdna.code_object import CodeObject
from imbrex.cdna.machine import FAULTS, FaultStruct
from imbrex.diagnostic import Diagnostic

__all__ = ["fault_of", "race_of"]


def fault_of(code: CodeObject, kernel: str, fault: FaultStruct) -> Diagnostic:
    """What ended a run."""
    where = f"lane {fault.lane}" if fault.lane >= 0 else "the wave"
    access = f"{fault.bytes} bytes at 0x{fault.address:x}, {where}"
    what = {
        "memory": f"memory out of bounds: {access}",
        "lds": f"LDS out of bounds: {access}",
        "scratch": f"scratch out of bounds: {access}",
        "unknown": "an instruction that the emulator does not know",
        "too long": "it does not end",
        "jump": f"a jump to 0x{fault.address:x}, where no instruction is",
        "trap": "s_trap executed",
        "alignment": f"LDS is read across {fault.bytes} bytes: at 0x{fault.address:x}, {where}",
        "lanes": "all lanes of a wave transpose, and some are off",
        "hang": "workgroups wait for each other, and none of them gets on",
        "operand": "an operand that the emulator does not take there",
    }[FAULTS[fault.kind]]
    return Diagnostic(f"{_location(code, kernel, fault)}: {what}")


def race_of(code: CodeObject, kernel: str, race: FaultStruct, count: int) -> Diagnostic:
    """The first of a run's races; count: bytes of all."""
    kind = FAULTS[race.kind]
    what = f"LDS race, {kind}: byte {race.address}, with wave {race.other}"
    return Diagnostic(
        f"{_location(code, kernel, race)}: {what}",
        hint=f"{count} bytes in all; a barrier, or the wait before it, is missing",
    )


def _location(code: CodeObject, kernel: str, fault: FaultStruct) -> str:
    group = ", ".join(map(str, fault.group))
    where = f"{kernel}, workgroup ({group}), wave {fault.wave}"
    if not 0 <= fault.instruction < len(code.instructions):
        return where
    address = code.instructions[fault.instruction].address
    return f"{where}, 0x{address:x} `{code.text(fault.instruction)}`"
