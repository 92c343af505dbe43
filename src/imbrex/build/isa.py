"""The instruction set that a CPU kernel is compiled for: the host's own, or a named level, of any CPU.

Law: equal `fingerprint`s mean that an object compiled under one runs under the other.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from imbrex.chip import CPU_ISAS
from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["Isa", "has_level", "host_isa", "isa"]


@dataclass(frozen=True, slots=True)
class Isa:
    """level: a row of `imbrex.chip.CPU_ISAS`.  arch: `x86_64`, `aarch64`.  march: `native`, or the name that
    the compiler is given.

    features: the host's flags as the kernel spells them; empty unless march is `native`.
    generation: vendor and family of an x86 CPU, as the kernel spells them.
    """

    level: str
    arch: str
    march: str
    cpu: str = ""
    features: frozenset[str] = frozenset()
    generation: str = ""

    @property
    def fma_per_cycle(self) -> float:
        """Multiply-adds of the widest vectors that a core starts in a cycle."""
        return CPU_ISAS[self.level].fma_per_cycle / (2 if self.runs_halves else 1)

    @property
    def runs_halves(self) -> bool:
        """Does the host run an operation of the level's width as two halves?"""
        return self.generation in CPU_ISAS[self.level].halved_on

    @property
    def flags(self) -> tuple[str, ...]:
        """What clang and gcc are told."""
        if not self.march:
            return ()
        # -march=native of AArch64 does not select the core's own schedule; -mcpu does both.
        options = CPU_ISAS[self.level].options
        if self.arch == "aarch64":  # the size of SVE's registers is told whatever the CPU
            return (f"-mcpu={self.march}", *options)
        halves = ("-DIMBREX_RUNS_HALVES",) if self.runs_halves else ()
        return (f"-march={self.march}", *(() if self.march == "native" else options), *halves)

    @property
    def is_foreign(self) -> bool:
        """Is it of another architecture than this machine's?"""
        return self.arch != _arch()

    @property
    def triple(self) -> tuple[str, ...]:
        """What clang is told besides, to compile for another architecture."""
        return ("-target", f"{self.arch}-linux-gnu") if self.is_foreign else ()

    @property
    def fingerprint(self) -> str:
        """Names all that decides the code: the CPU's model matters too, since `native` schedules for it."""
        return " ".join([self.arch, self.level, self.march, self.cpu, *sorted(self.features)])


def isa(name: str = "native") -> Isa:
    """The host's own instruction set, or the level of that name, whether this host has it or not.

    A Diagnostic where no level has that name.
    """
    if name == "native":
        return host_isa()
    if name not in CPU_ISAS:
        known = ("native", *CPU_ISAS)
        hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
        raise Diagnostic(f"unknown instruction set '{name}'", hint=hint)
    row = CPU_ISAS[name]
    return Isa(name, row.arch or _arch(), row.march)


@functools.cache
def host_isa() -> Isa:
    """What this machine has, by `/proc/cpuinfo`, whose words on AArch64 are those of the auxiliary vector;
    where there is none, by the architecture alone.
    """
    facts = _cpu_facts(Path("/proc/cpuinfo"))
    features = frozenset(facts.get("flags", facts.get("Features", "")).split())
    if "amx_tile" in features and not _lends_tiles():
        features = frozenset(name for name in features if not name.startswith("amx_"))
    if "sve" in features:
        features |= {f"sve{_sve_bits()}"}
    cpu = (
        facts.get("model name") or " ".join(facts.get(k, "") for k in ("CPU implementer", "CPU part")).strip()
    )
    arch = _arch()
    generation = " ".join(facts.get(k, "") for k in ("vendor_id", "cpu family")).strip()
    return Isa(
        _level(arch, features, generation), arch, "native", cpu or platform.processor(), features, generation
    )


def has_level(name: str) -> bool:
    """Has this machine the instructions of that level?"""
    row = CPU_ISAS[name]
    return row.arch in ("", _arch()) and host_isa().features >= row.features


def _arch() -> str:
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def _lends_tiles() -> bool:
    """Does the system let processes use AMX's tiles, if they ask, as a kernel does when it is called (Linux,
    Documentation/arch/x86/xstate.rst)?
    """
    import ctypes  # which a machine without tiles does not need

    arch_prctl, supported_states, tiles = 158, 0x1021, 18  # ARCH_GET_XCOMP_SUPP, XFEATURE_XTILE_DATA
    states = ctypes.c_uint64()
    failed = ctypes.CDLL(None).syscall(arch_prctl, supported_states, ctypes.byref(states))
    return not failed and bool(states.value >> tiles & 1)


def _sve_bits() -> int:
    """Bits of SVE's registers in this process (Linux, Documentation/arch/arm64/sve.rst)."""
    import ctypes  # which a machine without SVE does not need

    length_of, bytes_of = 51, 0xFFFF  # PR_SVE_GET_VL, PR_SVE_VL_LEN_MASK
    return 8 * (ctypes.CDLL(None).prctl(length_of, 0, 0, 0, 0) & bytes_of)


def _level(arch: str, features: Iterable[str], generation: str = "") -> str:
    """The widest level of this architecture whose features the host has, and that serves it best."""
    have, vendor = frozenset(features), generation.partition(" ")[0]
    rows = [row for row in CPU_ISAS.values() if row.arch in ("", arch) and vendor not in row.not_on]
    return next(row.name for row in rows if have >= row.features)


def _cpu_facts(path: Path) -> dict[str, str]:
    """The first processor's block; a big machine's file holds hundreds of equal ones."""
    facts: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, colon, value = line.partition(":")
                if not colon:
                    if facts:
                        break
                    continue
                facts[key.strip()] = value.strip()
    except OSError:
        return {}
    return facts
