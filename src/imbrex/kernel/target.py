"""Target: what a kernel is built for: a CPU, a GPU, or this CPU running a GPU's schedule lane by lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from imbrex.argument import text, truth
from imbrex.build.isa import Isa, has_level, host_isa, isa
from imbrex.cdna.generation import executed
from imbrex.chip import CPU_ISAS, WAVES, gpus, no_target
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import shown

__all__ = ["CPU", "Emulate", "Target", "emulation", "target_of", "target_or_named", "targets"]

Emulate: TypeAlias = bool | Literal["isa"]
"""False: on the machine.  True: a GPU's schedule here, lane by lane, or a CPU's library, in QEMU or with
software for its tiles.  "isa": a GPU's code object here, executed.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """kind: how source is written, "cpu", "emulate" or a GPU.  chip: the GPU whose schedule it is, or the
    CPU by the level of its instructions; None for this machine's own CPU.

    is_executed: its machine code runs here, instruction by instruction.
    """

    kind: str
    chip: str | None = None
    is_executed: bool = False

    def __str__(self) -> str:
        if self.is_executed:
            return f"isa ({self.chip})"
        if self.kind == "emulate":
            return f"emulate ({self.chip})"
        return self.chip or self.kind

    @property
    def is_cuda(self) -> bool:
        """Does it run on a GPU of NVIDIA's?"""
        return self.kind in gpus("NVIDIA")

    @property
    def source(self) -> str:
        """How source is written: `kind`, or what `emulate` is of a GPU of NVIDIA's, or of a CPU's tiles."""
        is_whole = self.kind == "emulate" and self.is_of_nvidia
        return f"emulate_{self.chip}" if is_whole or self.is_lent else self.kind

    @property
    def is_of_nvidia(self) -> bool:
        """Is the schedule that of a GPU of NVIDIA's, wherever it runs?"""
        return self.chip in gpus("NVIDIA")

    @property
    def is_emulated(self) -> bool:
        """Does a GPU's schedule, or its code object, run here, in a time that says nothing of the GPU's?"""
        return self.kind == "emulate" or self.is_executed

    @property
    def is_lent(self) -> bool:
        """Is it a CPU's kernel for which software stands in where this machine may lack an instruction?"""
        return self.is_executed and self.level is not None and bool(CPU_ISAS[self.level].lent)

    @property
    def is_native(self) -> bool:
        """Is it a library for a CPU, by the C++ compiler?"""
        return self.kind in ("cpu", "emulate")

    @property
    def level(self) -> str | None:
        """The level of instructions that is asked for; None where it is this machine's own."""
        return self.chip if self.kind == "cpu" else None

    @property
    def runs_here(self) -> bool:
        """May this machine load its library?"""
        if self.is_lent:
            return has_level(CPU_ISAS[self.chip or ""].lent)
        return not self.is_executed and (self.level is None or has_level(self.level))

    @property
    def isa(self) -> Isa:
        """The instructions of a library."""
        if self.is_lent:
            return isa(CPU_ISAS[self.chip or ""].lent)
        return host_isa() if self.level is None else isa(self.level)


CPU = Target("cpu")


def targets() -> tuple[str, ...]:
    """What kernels are built for."""
    return "cpu", "emulate", *gpus(), *CPU_ISAS


def target_or_named(target: str | Target, emulate: Emulate = False) -> Target:
    """A target as it is, or the one of these words."""
    if not isinstance(target, Target):
        return target_of(target, emulate)
    if emulation(emulate):
        raise ValueError(f"'emulate' goes with the name of a target, got {shown(emulate)} beside '{target}'")
    return target


def target_of(target: str = "cpu", emulate: Emulate = False) -> Target:
    """The target of these words; a Diagnostic for an unknown target, or one that has no lane-level form."""
    text("target", target, "a name")
    emulate = emulation(emulate)
    if target not in targets():
        raise no_target(target, targets())
    if target in CPU_ISAS:
        return _of_level(target, emulate)
    if emulate == "isa":
        return _executed(target)
    if target == "emulate":
        return Target("emulate", WAVES.name)
    if emulate and target == "cpu":
        message = f"target '{target}' has no lane-level form; --emulate is of a GPU's schedule"
        named = ", ".join((*gpus(), *_lent(), *_in_qemu()))
        raise Diagnostic(message, hint=f"name one of {named}, or 'emulate' for {WAVES.name}'s")
    if target == "cpu":
        return CPU
    return Target("emulate" if emulate else target, target)


def emulation(value: object) -> Emulate:
    """`value`, where it is one of `Emulate`."""
    if isinstance(value, str) and value == "isa":
        return "isa"
    try:
        return truth("emulate", value)
    except TypeError:
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"'emulate' should be True, False or 'isa', got {shown(value)}") from None


def _of_level(level: str, emulate: Emulate) -> Target:
    if emulate and level not in (*_in_qemu(), *_lent()):
        known = f"QEMU runs {', '.join(_in_qemu())}, software stands in for {', '.join(_lent())}"
        message = f"target '{level}' has no emulator; {known}"
        raise Diagnostic(message, hint="leave --emulate out, on a machine that has these instructions")
    return Target("cpu", level, is_executed=bool(emulate))


def _in_qemu() -> tuple[str, ...]:
    """The levels that QEMU runs."""
    return tuple(name for name, row in CPU_ISAS.items() if row.qemu)


def _lent() -> tuple[str, ...]:
    """The levels that other machines run, with software for what they lack."""
    return tuple(name for name, row in CPU_ISAS.items() if row.lent)


def _executed(target: str) -> Target:
    chip = WAVES.name if target == "emulate" else target
    if chip not in executed():
        message = f"target '{target}' has no emulator of its instructions"
        raise Diagnostic(message, hint=f"--emulate=isa executes code objects of {', '.join(executed())}")
    return Target(chip, chip, is_executed=True)
