"""The cycles of a general tuning on Hopper: what its multiprocessors issue, and how many of them have work.

    time = turns of the busiest multiprocessor * (steps of a workgroup * cycles of a step + start)

A step takes what its slowest part takes: the instructions, which four schedulers issue, one warp's a cycle,
and which few warps leave waiting for their own results; the reads of shared memory; the tiles on their way
from the second cache.  Where several workgroups have a part of the same tile, all but one of them leave
sums in memory, which that one adds.  The list's order decides between equals.
"""

from __future__ import annotations

from typing import Final

from imbrex.chip import VECTOR_BYTES, GpuMachine, Multiprocessor
from imbrex.config.general.plan import GeneralPlan

__all__ = ["added_cycles", "general_cycles"]

WAITING_WARPS: Final = 3.5
"""Warps that wait for shared memory or at a barrier while a multiprocessor's others fill its slots."""
CROWDED: Final = 208
SPILL: Final = 1.065
"""The price of so many registers, or of all that work items may have: NVRTC 13.0 kept some in memory."""
PHASES: Final = {4: 1.0, 8: 1.5, 16: 3.0}
"""Cycles of shared memory for a read of so many bytes a lane, of whom many read the same."""
CACHE_BYTES: Final = 30.0
"""Bytes a cycle that the second cache gives one multiprocessor, where all ask."""
CACHE_SHARE: Final = 0.1
"""Share of the time for those bytes that is not hidden behind the products."""
SHARED_SHARE: Final = 0.2
"""The same for reads of shared memory."""
ROW: Final = 1.0
"""Cycles for each row of an operand whose loads run along k: a row lies in a line of memory of its own."""
STEP: Final = 40.0
"""Cycles of a step in which all warps wait for each other."""
PART: Final = 1500.0
"""Cycles until another workgroup's sums are seen."""
PART_BYTES: Final = 32.0
"""Bytes of such sums that one workgroup takes in a cycle."""
LATENCY: Final = 600.0
"""Cycles of the shortest step: a tile's way to shared memory."""
K_LATENCY: Final = 75.0
"""The same for each k of a step."""
CHAIN: Final = 1.4
"""Cycles of a warp that is alone on its scheduler, for each that it issues in."""
START: Final = 3000.0
"""Cycles until the first tiles are there, and of writing C."""


def general_cycles(plan: GeneralPlan, machine: GpuMachine, parts: int = 1) -> float:
    """Cycles of the whole product, each tile by so many workgroups; only the order of choices matters."""
    turns = -(-plan.grid_size * parts // machine.compute_units)
    room = max(1, _resident(plan, machine))
    rounds, rest = divmod(turns, room)
    steps = -(-plan.k_iterations // parts)
    whole = rounds * _round(plan, machine, room, steps) + (
        _round(plan, machine, rest, steps) if rest else 0.0
    )
    return whole * (SPILL if _is_crowded(plan, machine) else 1.0) + added_cycles(plan, parts)


def _round(plan: GeneralPlan, machine: GpuMachine, resident: int, steps: int) -> float:
    """So many workgroups of one multiprocessor, side by side, from their first loads to their last stores."""
    tuning, size = plan.tuning, plan.context.dtype.bytes
    warps = tuning.block_size / machine.wave_size
    use = resident * warps / (resident * warps + WAITING_WARPS)
    issued = _issued(plan, machine)
    issue = issued * warps / _multiprocessor(machine).schedulers / use
    shared = tuning.k_per_block * sum(count * _phases(n) for count, n in _reads(plan)) * warps
    cache = tuning.k_per_block * (tuning.m_per_block + tuning.n_per_block) * size / CACHE_BYTES
    rows = sum(c.d_per_block for c in (plan.a_copy, plan.b_copy) if c.runs_along_k)
    more = SHARED_SHARE * shared + CACHE_SHARE * cache + ROW * rows
    step = resident * (max(issue, shared, cache) + more) + STEP
    latency = max(LATENCY, K_LATENCY * tuning.k_per_block)
    return steps * max(step, latency + CHAIN * issued) + START


def added_cycles(plan: GeneralPlan, parts: int) -> float:
    """Cycles until one workgroup has added what the others leave."""
    tile = plan.tuning.m_per_block * plan.tuning.n_per_block * plan.context.dtype.accumulator.bytes
    return PART + parts * (PART + tile / PART_BYTES) if parts > 1 else 0.0


def _issued(plan: GeneralPlan, machine: GpuMachine) -> float:
    """Instructions of one warp in a step, in cycles of its scheduler."""
    tuning, dtype = plan.tuning, plan.context.dtype
    rows, columns = (count * width for count, width in zip(tuning.repeats, _thread(plan), strict=True))
    conversions = 0 if dtype == dtype.accumulator else rows + columns
    products = rows * columns * _multiprocessor(machine).multiply_add[dtype.accumulator.name]
    reads = sum(count * -(-n // VECTOR_BYTES) for count, n in _reads(plan))
    copies = sum(
        c.per_thread / c.data_per_read + c.per_thread / c.data_per_write for c in (plan.a_copy, plan.b_copy)
    )
    return tuning.k_per_block * (products + reads + conversions) + copies


def _reads(plan: GeneralPlan) -> tuple[tuple[int, int], ...]:
    """Reads of each operand for one k: how many from shared memory, of how many bytes a lane."""
    size = plan.context.dtype.bytes
    return tuple((count, n * size) for count, n in zip(plan.tuning.repeats, _thread(plan), strict=True))


def _phases(read_bytes: int) -> float:
    whole, rest = divmod(read_bytes, VECTOR_BYTES)
    return whole * PHASES[VECTOR_BYTES] + (PHASES[max(4, rest)] if rest else 0.0)


def _thread(plan: GeneralPlan) -> tuple[int, int]:
    return plan.tuning.m_per_thread, plan.tuning.n_per_thread


def _resident(plan: GeneralPlan, machine: GpuMachine) -> int:
    """Workgroups that one multiprocessor holds."""
    used = plan.tuning.block_size * min(_registers(plan), machine.vector_registers)
    by_registers = _multiprocessor(machine).registers // used
    return min(by_registers, machine.lds_bytes // max(1, plan.lds_bytes))


def _is_crowded(plan: GeneralPlan, machine: GpuMachine) -> bool:
    """Are there as many registers as there may be, so that some numbers wait in memory?"""
    used, registers = _registers(plan), _multiprocessor(machine).registers
    items = registers // used // plan.tuning.block_size * plan.tuning.block_size
    return plan.registers > CROWDED or used * items == registers


def _multiprocessor(machine: GpuMachine) -> Multiprocessor:
    assert machine.multiprocessor is not None, machine
    return machine.multiprocessor


def _registers(plan: GeneralPlan) -> int:
    """Registers of a work item, of which one of two staged tiles is on its way at a time."""
    staged = (plan.a_copy.per_thread + plan.b_copy.per_thread) * plan.context.dtype.bytes
    return plan.registers - staged // 4
