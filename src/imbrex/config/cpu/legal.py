"""Rules of CPU tunings: each reason says what would work.

They hold on every machine of one level: another host serves a printed configuration, whatever its caches.
"""

from __future__ import annotations

from imbrex.chip import CpuMachine
from imbrex.config.cpu.plan import CpuPlan
from imbrex.config.rules import Reasons, Rules
from imbrex.numeral import counted
from imbrex.view.mma.vector import CPU_UNITS, units_of

__all__ = ["CPU_RULES"]


def vector_lanes(plan: CpuPlan, machine: CpuMachine) -> Reasons:
    """Lanes are those of one vector register of accumulators: the device headers compute in whole ones."""
    lanes, whole = plan.tuning.vector_lanes, machine.lanes(plan.context.dtype.accumulator.bytes)
    if lanes != whole:
        sums = plan.context.dtype.accumulator
        yield f"vector_lanes {lanes} is not {whole}, the {sums} of a vector of {machine.name}"


def register_tile(plan: CpuPlan, machine: CpuMachine) -> Reasons:
    """Columns are whole vectors."""
    t = plan.tuning
    if t.n_per_thread % t.vector_lanes:
        yield f"n_per_thread {t.n_per_thread} is not a multiple of vector_lanes {t.vector_lanes}"


def unit(plan: CpuPlan, machine: CpuMachine) -> Reasons:
    """The machine has the unit, and it multiplies the type."""
    found, dtype = CPU_UNITS[plan.tuning.unit], plan.context.dtype
    if found not in units_of(machine, dtype):
        have = ", ".join(map(str, units_of(machine, dtype)))
        yield f"unit {found} does not multiply {dtype} on {machine.name}, which has {have}"


def vector_registers(plan: CpuPlan, machine: CpuMachine) -> Reasons:
    """The register tile stays in registers: accumulators, a row of B and one of A."""
    t = plan.tuning
    available = CPU_UNITS[t.unit].available(machine)
    if t.registers > available:
        tile = f"{t.m_per_thread}x{t.n_per_thread} tile of {counted(t.vector_lanes, 'lane')}"
        yield f"registers {t.registers} > {available} on {machine.name} ({tile})"


def tiles(plan: CpuPlan, machine: CpuMachine) -> Reasons:
    """What multiplies tiles takes whole ones, or a single one of fewer rows."""
    del machine
    t = plan.tuning
    found = CPU_UNITS[t.unit].tiles
    if found is not None and t.m_per_thread > found.rows and t.m_per_thread % found.rows:
        yield f"m_per_thread {t.m_per_thread} is no multiple of {found.rows}, the rows of a tile of {t.unit}"


def cache_blocks(plan: CpuPlan, machine: CpuMachine) -> Reasons:
    """Blocks are whole register tiles."""
    t = plan.tuning
    for dim, block, tile in (("m", t.m_per_block, t.m_per_thread), ("n", t.n_per_block, t.n_per_thread)):
        if block % tile:
            yield f"{dim}_per_block {block} is not a multiple of {dim}_per_thread {tile}"


CPU_RULES: Rules[CpuPlan, CpuMachine] = Rules(
    (vector_lanes, register_tile, unit, tiles), (vector_registers, cache_blocks)
)
