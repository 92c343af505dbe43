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
from imbrex.chip import GPU_MACHINES, WaveSlots

__all__ = ["Limit", "Occupancy", "occupancy"]

Limit = Literal["registers", "lds", "barriers", "slots"]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """waves_per_simd: of the fullest SIMD of a compute unit.  limit: what bounds it, the first of equals."""

    waves_per_simd: int
    workgroups_per_cu: int
    limit: Limit


def occupancy(usage: Usage, chip: str) -> Occupancy:
    """Occupancy of one kernel, where the launch is large enough to fill the chip, one of AMD's."""
    gpu = GPU_MACHINES[chip]
    slots = gpu.slots
    assert slots is not None, chip
    waves = -(-usage.block_size // gpu.wave_size)
    lds = _up(usage.lds_bytes, slots.lds_granule)
    bounds: list[tuple[Limit, int]] = [("slots", gpu.simds * slots.waves_per_simd // waves)]
    if lds:
        bounds.append(("lds", gpu.lds_bytes // lds))
    if waves > 1:
        bounds.append(("barriers", slots.barriers))
    bounds.append(("registers", gpu.simds * _waves_by_registers(usage, slots) // waves))
    limit, groups = min(bounds, key=lambda bound: bound[1])
    return Occupancy(-(-groups * waves // gpu.simds), groups, limit)


def _waves_by_registers(usage: Usage, slots: WaveSlots) -> int:
    vgprs = slots.vgpr_file // _up(max(usage.total_vgprs, 1), slots.vgpr_granule)
    return min(vgprs, slots.sgpr_file // _up(max(usage.sgprs, 1), slots.sgpr_granule))


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
