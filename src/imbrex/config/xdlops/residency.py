"""How many workgroups of an XDLOPS tuning a compute unit holds at a time, as its plan says.

The least of what registers, LDS, barriers and slots of waves allow (`build.amd.occupancy` says the same of
what was compiled).  Registers are the plan's: sums and an allowance for all else, so that a kernel may need
fewer; a test holds compiled kernels to no fewer workgroups than are said here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from imbrex.chip import WAVES, GpuMachine, WaveSlots
from imbrex.config.context import round_up
from imbrex.config.xdlops.plan import XdlopsPlan

__all__ = ["groups_at_a_time", "kept_waves", "resident_groups", "spills_where_shared", "waves_of_simd"]

NEARLY: Final = 7 / 8
"""Share of the registers of a wave."""
UNKNOWN: Final = WAVES.slots
"""Slots of a machine of which nobody told them: the lane-level build stands for this one."""


@lru_cache(maxsize=1024)
def resident_groups(plan: XdlopsPlan) -> int:
    """Workgroups of one compute unit; at least one."""
    machine, slots = plan.machine, _slots(plan.machine)
    waves = -(-plan.block_size // machine.wave_size)
    bounds = [
        machine.simds * slots.waves_per_simd // waves,
        machine.lds_bytes // round_up(max(1, plan.lds_bytes), slots.lds_granule),
        machine.simds * _waves_by_registers(plan, slots) // waves,
    ]
    if waves > 1:
        bounds.append(slots.barriers)
    return max(1, min(bounds))


def waves_of_simd(plan: XdlopsPlan) -> int:
    """Waves of the fullest SIMD, where the launch fills the chip."""
    waves = -(-plan.block_size // plan.machine.wave_size)
    return -(-resident_groups(plan) * waves // plan.machine.simds)


def groups_at_a_time(plan: XdlopsPlan) -> int:
    """Workgroups of the whole chip at a time."""
    return plan.machine.compute_units * resident_groups(plan)


def kept_waves(plan: XdlopsPlan) -> int | None:
    """Waves of a SIMD that the compiler is told to leave registers for: two of different workgroups, where
    the plan needs nearly all that two may have; None elsewhere.

    The compiler else took a few registers more (260 of 256), and one wave was left.  Waves of one workgroup
    that are two to a SIMD are kept by the size of the workgroup.
    """
    slots, machine = _slots(plan.machine), plan.machine
    is_shared = slots.vgpr_file > machine.vector_registers
    in_group = -(-plan.block_size // (machine.wave_size * machine.simds))
    used = plan.accumulators + plan.registers
    is_near = NEARLY * slots.vgpr_file // 2 <= used <= slots.vgpr_file // 2
    return 2 if is_shared and is_near and in_group == 1 and waves_of_simd(plan) == 2 else None


def spills_where_shared(plan: XdlopsPlan) -> bool:
    """Does a kernel spill registers if its workgroups share tiles?

    Where two waves nearly fill the file and both operands are turned in registers, which the plan does not
    count: every cut of 128 x 256, tn, on gfx942 spilled 15 to 30.  With one operand turned none did.
    """
    is_turned = plan.a_copy.is_turned and plan.b_copy.is_turned and not plan.tuning.is_direct
    return is_turned and kept_waves(plan) is not None


def _waves_by_registers(plan: XdlopsPlan, slots: WaveSlots) -> int:
    """Sums share a file with all else, but on gfx908, where each has one as large as what a lane reaches."""
    is_shared = slots.vgpr_file > plan.machine.vector_registers
    used = plan.accumulators + plan.registers if is_shared else max(plan.accumulators, plan.registers)
    return slots.vgpr_file // round_up(max(1, used), slots.vgpr_granule)


def _slots(machine: GpuMachine) -> WaveSlots:
    found = machine.slots or UNKNOWN
    assert found is not None, machine.name
    return found
