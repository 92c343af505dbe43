"""Targets as numbers: what a schedule may use on each machine, and where each number is from.

Law: a rule in `legal` compares against a field of a target here, never against a number of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from imbrex.chip import no_target

__all__ = ["CPU_ISAS", "GPU_TARGETS", "USUAL", "CpuTarget", "GpuTarget", "Target", "WorkItems", "target"]

KIB = 1024
ISA_DOCUMENTS = "AMD Instinct {} ISA reference, sections on LDS and on vector registers"


@dataclass(frozen=True)
class WorkItems:
    """How the work items of a general tuning share its tiles.

    cluster: of the inner cluster along (m, n). lanes_along_k: neighbours copy neighbours along k where memory
    runs that way, and LDS keeps groups of rows apart, so that what they turn meets no bank twice.
    reads_ahead: rows for the next k are read before the products of this one, which are then all together.
    """

    cluster: tuple[int, int] = (4, 4)
    lanes_along_k: bool = False
    reads_ahead: bool = False


USUAL = WorkItems()
"""As in the seeds."""


@dataclass(frozen=True)
class GpuTarget:
    """A GPU, or the lane-level build that stands for one.

    vector_registers: 32-bit registers of one lane that ordinary instructions reach; as many again, on all of
    these, hold the sums of matrix instructions (a wave tile of 128 x 128 fills them). direct_bytes: what a
    lane loads past its registers into LDS, the widest first; none where that is not done.
    """

    name: str
    lds_bytes: int
    wave_size: int
    max_threads: int
    vector_registers: int
    lds_banks: int
    compute_units: int
    source: str
    direct_bytes: tuple[int, ...] = ()
    simds: int = 4
    work_items: WorkItems = USUAL

    @property
    def chip(self) -> str:
        """The chip whose matrix instructions it has: gfx942's for the lane-level build."""
        return "gfx942" if self.name == "emulate" else self.name


@dataclass(frozen=True)
class CpuTarget:
    """A CPU core as the register-blocked kernel sees it; cache sizes are those one core may count on."""

    name: str
    vector_bytes: int
    vector_registers: int
    fma_per_cycle: float
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    threads: int
    source: str

    def lanes(self, element_bytes: int) -> int:
        """Elements of this many bytes in one vector register."""
        return max(1, self.vector_bytes // element_bytes)


Target: TypeAlias = GpuTarget | CpuTarget

GPU_TARGETS: dict[str, GpuTarget] = {
    t.name: t
    for t in (
        GpuTarget("gfx908", 64 * KIB, 64, 1024, 256, 32, 120, ISA_DOCUMENTS.format("MI100")),
        GpuTarget("gfx90a", 64 * KIB, 64, 1024, 256, 32, 104, ISA_DOCUMENTS.format("MI200")),
        GpuTarget("gfx942", 64 * KIB, 64, 1024, 256, 32, 304, ISA_DOCUMENTS.format("MI300"), (4,)),
        GpuTarget("gfx950", 160 * KIB, 64, 1024, 256, 64, 256, ISA_DOCUMENTS.format("CDNA4"), (16, 4)),
        GpuTarget(
            "sm_90a",
            227 * KIB,
            32,
            1024,
            255,
            32,
            132,
            "CUDA C++ Programming Guide, 9.0; H200",
            work_items=WorkItems((4, 2), lanes_along_k=True, reads_ahead=True),
        ),
        GpuTarget("emulate", 64 * KIB, 64, 1024, 256, 32, 1, "chosen equal to gfx942", (4,)),
    )
}

CPU_ISAS: dict[str, CpuTarget] = {
    t.name: t
    for t in (
        CpuTarget("avx512", 64, 32, 2.0, 32 * KIB, 1024 * KIB, 4096 * KIB, 1, "AMD 58455: Zen 5"),
        CpuTarget("avx2", 32, 16, 2.0, 32 * KIB, 512 * KIB, 4096 * KIB, 1, "Intel SDM vol. 1, 14: 16 ymm"),
        CpuTarget("neon", 16, 32, 2.0, 64 * KIB, 512 * KIB, 2048 * KIB, 1, "Arm ARM: 32 registers"),
        CpuTarget("generic", 16, 16, 1.0, 32 * KIB, 256 * KIB, 1024 * KIB, 1, "x86-64 baseline: 16 xmm"),
    )
}


def target(name: str) -> Target:
    """The target of this name; a Diagnostic when there is none."""
    known: dict[str, Target] = {**GPU_TARGETS, **CPU_ISAS}
    if name not in known:
        raise no_target(name, [chip for chip in known if chip != "emulate"])
    return known[name]
