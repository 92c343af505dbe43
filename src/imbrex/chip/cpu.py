"""CPUs by their vector instructions, one row a level."""

from __future__ import annotations

from typing import Final

from imbrex.chip.machine import CpuTarget

__all__ = ["LEVELS"]

KIB: Final = 1024

LEVELS: Final = (
    CpuTarget("avx512", 64, 32, 2.0, 32 * KIB, 1024 * KIB, 4096 * KIB, 1, "AMD 58455: Zen 5"),
    CpuTarget("avx2", 32, 16, 2.0, 32 * KIB, 512 * KIB, 4096 * KIB, 1, "Intel SDM vol. 1, 14: 16 ymm"),
    CpuTarget("neon", 16, 32, 2.0, 64 * KIB, 512 * KIB, 2048 * KIB, 1, "Arm ARM: 32 registers"),
    CpuTarget("generic", 16, 16, 1.0, 32 * KIB, 256 * KIB, 1024 * KIB, 1, "x86-64 baseline: 16 xmm"),
)
