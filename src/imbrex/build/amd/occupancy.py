"""Occupancy: how many waves of a kernel one SIMD holds at a time, and what bounds them.

A compute unit has 4 SIMDs that share its LDS.  A workgroup stays on one compute unit with all its waves,
spread evenly over the SIMDs.  So the workgroups that a compute unit holds are the least of

    registers    4 * (waves that one SIMD's register file holds) // waves of a workgroup
    lds          LDS of the compute unit // LDS of a workgroup, rounded up to the granule
    barriers     16, where a workgroup has more than one wave
    slots        4 * (waves that one SIMD can schedule) // waves of a workgroup

Sources: LLVM's AMDGPU backend, `AMDGPUBaseInfo.cpp` (namespace IsaInfo) and its user guide (the GRANULATED
fields of COMPUTE_PGM_RSRC1 and 2); the ISA manuals of MI100, MI200, MI300 and CDNA4, chapters on wave state;
AMD's lab note "Register pressure in AMD CDNA2 GPUs".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from imbrex.build.amd.usage import Usage
from imbrex.config.target import GPU_TARGETS

__all__ = ["CHIP_LIMITS", "ChipLimits", "Limit", "Occupancy", "occupancy"]

Limit = Literal["registers", "lds", "barriers", "slots"]

WAVE_SIZE = 64
SIMDS = 4
MOST_BARRIERS = 16
SGPR_FILE, SGPR_GRANULE = 800, 16


@dataclass(frozen=True, slots=True)
class ChipLimits:
    """vgpr_file: 32-bit registers of one lane on one SIMD; gfx908 has a second file of as many AGPRs."""

    vgpr_file: int
    vgpr_granule: int
    waves_per_simd: int
    lds_granule: int


CHIP_LIMITS = {
    "gfx908": ChipLimits(256, 4, 10, 512),
    "gfx90a": ChipLimits(512, 8, 8, 512),
    "gfx942": ChipLimits(512, 8, 8, 512),
    "gfx950": ChipLimits(512, 8, 8, 1280),
}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """waves_per_simd: of the fullest SIMD of a compute unit.  limit: what bounds it, the first of equals."""

    waves_per_simd: int
    workgroups_per_cu: int
    limit: Limit


def occupancy(usage: Usage, chip: str) -> Occupancy:
    """Of one kernel, where the launch is large enough to fill the chip.  chip: a key of `CHIP_LIMITS`."""
    limits = CHIP_LIMITS[chip]
    waves = -(-usage.block_size // WAVE_SIZE)
    lds = _up(usage.lds_bytes, limits.lds_granule)
    bounds: list[tuple[Limit, int]] = [("slots", SIMDS * limits.waves_per_simd // waves)]
    if lds:
        bounds.append(("lds", GPU_TARGETS[chip].lds_bytes // lds))
    if waves > 1:
        bounds.append(("barriers", MOST_BARRIERS))
    bounds.append(("registers", SIMDS * _waves_by_registers(usage, limits) // waves))
    limit, groups = min(bounds, key=lambda bound: bound[1])
    return Occupancy(-(-groups * waves // SIMDS), groups, limit)


def _waves_by_registers(usage: Usage, limits: ChipLimits) -> int:
    vgprs = limits.vgpr_file // _up(max(usage.total_vgprs, 1), limits.vgpr_granule)
    return min(vgprs, SGPR_FILE // _up(max(usage.sgprs, 1), SGPR_GRANULE))


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
