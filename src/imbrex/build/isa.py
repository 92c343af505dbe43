"""The instruction set that a CPU kernel is compiled for: the host's own, or a named level.

Law: equal `fingerprint`s mean that an object compiled under one runs under the other.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["Isa", "Level", "host_isa", "isa"]

Level = Literal["avx512", "avx2", "neon", "generic"]

# What x86-64-v3 and x86-64-v4 need of the flags the kernel reports (x86-64 psABI, micro-architecture levels).
_AVX2 = frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@dataclass(frozen=True, slots=True)
class Isa:
    """arch: `x86_64`, `aarch64`.  march: `native`, or the name that the compiler is given.

    features: the host's flags as the kernel spells them; empty unless march is `native`.
    generation: vendor and family of an x86 CPU, as the kernel spells them.
    """

    level: Level
    arch: str
    march: str
    cpu: str = ""
    features: frozenset[str] = frozenset()
    generation: str = ""

    @property
    def vector_bytes(self) -> int:
        """Bytes of the widest register."""
        match self.level:
            case "avx512":
                return 64
            case "avx2":
                return 32
            case "neon" | "generic":
                return 16
            case _:
                assert_never(self.level)

    @property
    def vector_registers(self) -> int:
        """Architectural vector registers of that width."""
        return 32 if self.level in ("avx512", "neon") else 16

    @property
    def fma_per_cycle(self) -> float:
        """Multiply-adds of the widest vectors that a core starts in a cycle.

        Zen 4 (family 25) runs a 512-bit operation as two halves: AMD 57647, "Software Optimization Guide".
        """
        return 1.0 if self.level == "avx512" and self.generation == "AuthenticAMD 25" else 2.0

    @property
    def flags(self) -> tuple[str, ...]:
        """What clang and gcc are told."""
        if not self.march:
            return ()
        # -march=native of AArch64 does not select the core's own schedule; -mcpu does both.
        return (f"-mcpu={self.march}" if self.arch == "aarch64" else f"-march={self.march}",)

    @property
    def fingerprint(self) -> str:
        """Names all that decides the code: the CPU's model matters too, since `native` schedules for it."""
        return " ".join([self.arch, self.level, self.march, self.cpu, *sorted(self.features)])


def isa(name: str = "native") -> Isa:
    """The host's own instruction set, or the level of that name, whether this host has it or not.

    A Diagnostic where no level has that name.
    """
    match name:
        case "native":
            return host_isa()
        case "avx512":
            return Isa("avx512", "x86_64", "x86-64-v4")
        case "avx2":
            return Isa("avx2", "x86_64", "x86-64-v3")
        case "neon":
            return Isa("neon", "aarch64", "generic")
        case "generic":
            return Isa("generic", _arch(), "")
        case _:
            known = ("native", "avx512", "avx2", "neon", "generic")
            raise Diagnostic(
                f"unknown instruction set '{name}'",
                hint=did_you_mean(name, known) or f"known: {', '.join(known)}",
            )


@functools.cache
def host_isa() -> Isa:
    """What this machine has, by `/proc/cpuinfo`; where there is none, by the architecture alone."""
    facts = _cpu_facts(Path("/proc/cpuinfo"))
    features = frozenset(facts.get("flags", facts.get("Features", "")).split())
    cpu = (
        facts.get("model name") or " ".join(facts.get(k, "") for k in ("CPU implementer", "CPU part")).strip()
    )
    arch = _arch()
    generation = " ".join(facts.get(k, "") for k in ("vendor_id", "cpu family")).strip()
    return Isa(_level(arch, features), arch, "native", cpu or platform.processor(), features, generation)


def _arch() -> str:
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def _level(arch: str, features: Iterable[str]) -> Level:
    have = frozenset(features)
    if arch == "aarch64":
        return "neon"
    if arch != "x86_64":
        return "generic"
    if have >= _AVX512:
        return "avx512"
    return "avx2" if have >= _AVX2 else "generic"


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
