"""The cycles of a general tuning on Hopper: what its multiprocessors issue, and how many of them have work.

    time = turns of the busiest multiprocessor * (steps of a workgroup * cycles of a step + start)

A step takes what its slowest part takes: the instructions, which four schedulers issue, one warp's a cycle,
and which few warps leave waiting for their own results; the reads of shared memory; the tiles on their way
from the second cache.  The list's order decides between equals.
"""

from __future__ import annotations

from typing import Final

from imbrex.schedule.general.plan import GeneralPlan
from imbrex.schedule.target import GpuTarget

__all__ = ["general_cycles"]

WARP: Final = 32
SCHEDULERS: Final = 4
WAITING_WARPS: Final = 1.5
"""Of a multiprocessor: so many wait for shared memory or at a barrier while the others fill its slots."""
REGISTERS: Final = 65536
CROWDED: Final = 208
SPILL: Final = 1.05
"""The price of registers, as the plan counts them, of which NVRTC 13.0 kept some in memory."""
VECTOR_BYTES: Final = 16
SLOTS: Final = {"f32": 1, "f64": 2, "i32": 2}
"""Cycles of a warp's multiply-add, by the type of the sum (CUDA C++ Programming Guide, throughputs)."""
PHASES: Final = {4: 1.0, 8: 1.5, 16: 3.0}
"""Cycles of shared memory for a read of so many bytes a lane, of whom many read the same."""
CACHE_BYTES: Final = 30.0
"""Bytes a cycle that the second cache gives one multiprocessor, where all ask."""
CACHE_SHARE: Final = 0.1
"""Of the time for those bytes, what is not hidden behind the products."""
STEP: Final = 40.0
"""Cycles of a step in which all warps wait for each other."""
START: Final = 3000.0
"""Cycles until the first tiles are there, and of writing C."""


def general_cycles(plan: GeneralPlan, machine: GpuTarget) -> float:
    """Of the whole product; only the order of tunings matters."""
    tuning, size = plan.tuning, plan.context.dtype.bytes
    warps = tuning.block_size / WARP
    turns = -(-plan.grid_size // machine.compute_units)
    resident = max(1, min(turns, _resident(plan, machine)))
    use = resident * warps / (resident * warps + WAITING_WARPS)
    issue = _issued(plan) * warps / SCHEDULERS / use
    shared = tuning.k_per_block * sum(count * _phases(n) for count, n in _reads(plan)) * warps
    cache = tuning.k_per_block * (tuning.m_per_block + tuning.n_per_block) * size / CACHE_BYTES
    steps = plan.k_iterations * (max(issue, shared, cache) + CACHE_SHARE * cache + STEP / resident)
    return turns * (steps + START / resident) * (SPILL if plan.registers > CROWDED else 1.0)


def _issued(plan: GeneralPlan) -> float:
    """Instructions of one warp in a step, in cycles of its scheduler."""
    tuning, dtype = plan.tuning, plan.context.dtype
    rows, columns = (count * width for count, width in zip(tuning.repeats, _thread(plan), strict=True))
    conversions = 0 if dtype == dtype.accumulator else rows + columns
    products = rows * columns * SLOTS[dtype.accumulator.name]
    reads = sum(count * -(-n // VECTOR_BYTES) for count, n in _reads(plan))
    copies = sum(
        c.per_thread / c.data_per_read + c.per_thread / c.data_per_write for c in (plan.a_copy, plan.b_copy)
    )
    return tuning.k_per_block * (products + reads + conversions) + copies


def _reads(plan: GeneralPlan) -> tuple[tuple[int, int], ...]:
    """Of each operand for one k: how many reads of shared memory, of how many bytes a lane."""
    size = plan.context.dtype.bytes
    return tuple((count, n * size) for count, n in zip(plan.tuning.repeats, _thread(plan), strict=True))


def _phases(read_bytes: int) -> float:
    whole, rest = divmod(read_bytes, VECTOR_BYTES)
    return whole * PHASES[VECTOR_BYTES] + (PHASES[max(4, rest)] if rest else 0.0)


def _thread(plan: GeneralPlan) -> tuple[int, int]:
    return plan.tuning.m_per_thread, plan.tuning.n_per_thread


def _resident(plan: GeneralPlan, machine: GpuTarget) -> int:
    """Workgroups that one multiprocessor holds."""
    by_registers = REGISTERS // (plan.tuning.block_size * min(plan.registers, machine.vector_registers))
    return min(by_registers, machine.lds_bytes // max(1, plan.lds_bytes))
