"""The cycles of a general tuning on NVIDIA's GPUs: what multiprocessors issue, and how many have work.

    time = turns of the busiest multiprocessor * (steps of a workgroup * cycles of a step + start)

A step takes what its slowest part takes: the instructions, which four schedulers issue, one warp's a cycle,
and which few warps leave waiting for their own results; the reads of shared memory; the tiles on their way
from the second cache.  Where several workgroups have a part of the same tile, all but one of them leave
sums in memory, which that one adds.  The list's order decides between equals.
"""

from __future__ import annotations

from typing import NamedTuple

from imbrex.chip import VECTOR_BYTES, GpuMachine, ItemRates, Multiprocessor
from imbrex.config.general.plan import GeneralPlan

__all__ = ["Streams", "added_cycles", "general_cycles", "resident_of", "streams"]


def general_cycles(plan: GeneralPlan, machine: GpuMachine, parts: int = 1) -> float:
    """Cycles of the whole product, each tile by so many workgroups; only the order of choices matters."""
    turns = -(-plan.grid_size * parts // machine.compute_units)
    room = resident_of(plan, machine)
    rounds, rest = divmod(turns, room)
    steps = -(-plan.k_iterations // parts)
    whole = rounds * _round(plan, machine, room, steps) + (
        _round(plan, machine, rest, steps) if rest else 0.0
    )
    slower = _multiprocessor(machine).rates.spill if _is_crowded(plan, machine) else 1.0
    return whole * slower + added_cycles(plan, machine, parts)


def _round(plan: GeneralPlan, machine: GpuMachine, resident: int, steps: int) -> float:
    """So many workgroups of one multiprocessor, side by side, from their first loads to their last stores."""
    tuning, rates = plan.tuning, _multiprocessor(machine).rates
    issued, each = _issued(plan, machine), streams(plan, machine, resident)
    step = resident * (max(each.issue, each.shared, each.cache) + each.more) + rates.step
    latency = max(rates.latency, rates.k_latency * tuning.k_per_block)
    return steps * max(step, latency + rates.chain * issued) + rates.start


class Streams(NamedTuple):
    """Cycles of one workgroup for a step: instructions, shared memory, the second cache; and `more`, what
    does not hide behind the slowest of them.
    """

    issue: float
    shared: float
    cache: float
    more: float


def streams(plan: GeneralPlan, machine: GpuMachine, resident: int) -> Streams:
    """A step where so many workgroups share a multiprocessor."""
    tuning, size, rates = plan.tuning, plan.context.dtype.bytes, _multiprocessor(machine).rates
    warps = tuning.block_size / machine.wave_size
    use = resident * warps / (resident * warps + rates.waiting_warps)
    issued = _issued(plan, machine)
    issue = issued * warps / _multiprocessor(machine).schedulers / use
    shared = tuning.k_per_block * sum(count * _phases(n, rates) for count, n in _reads(plan)) * warps
    cache = tuning.k_per_block * (tuning.m_per_block + tuning.n_per_block) * size / rates.cache_bytes
    rows = sum(c.d_per_block for c in (plan.a_copy, plan.b_copy) if c.runs_along_k)
    more = rates.shared_fraction * shared + rates.cache_fraction * cache + rates.row * rows
    return Streams(issue, shared, cache, more)


def added_cycles(plan: GeneralPlan, machine: GpuMachine, parts: int) -> float:
    """Cycles until one workgroup has added what the others leave."""
    tile = plan.tuning.m_per_block * plan.tuning.n_per_block * plan.context.dtype.accumulator.bytes
    rates = _multiprocessor(machine).rates
    return rates.part + parts * (rates.part + tile / rates.part_bytes) if parts > 1 else 0.0


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


def _phases(read_bytes: int, rates: ItemRates) -> float:
    whole, rest = divmod(read_bytes, VECTOR_BYTES)
    return whole * rates.phases[VECTOR_BYTES] + (rates.phases[max(4, rest)] if rest else 0.0)


def _thread(plan: GeneralPlan) -> tuple[int, int]:
    return plan.tuning.m_per_thread, plan.tuning.n_per_thread


def resident_of(plan: GeneralPlan, machine: GpuMachine) -> int:
    """Workgroups that one multiprocessor holds, at least one."""
    used = plan.tuning.block_size * min(_registers(plan), machine.vector_registers)
    by_registers = _multiprocessor(machine).registers // used
    return max(1, min(by_registers, machine.lds_bytes // max(1, plan.lds_bytes)))


def _is_crowded(plan: GeneralPlan, machine: GpuMachine) -> bool:
    """Are there as many registers as there may be, so that some numbers wait in memory?"""
    used, registers = _registers(plan), _multiprocessor(machine).registers
    items = registers // used // plan.tuning.block_size * plan.tuning.block_size
    return plan.registers > _multiprocessor(machine).rates.crowded or used * items == registers


def _multiprocessor(machine: GpuMachine) -> Multiprocessor:
    assert machine.multiprocessor is not None, machine
    return machine.multiprocessor


def _registers(plan: GeneralPlan) -> int:
    """Registers of a work item, of which one of two staged tiles is on its way at a time."""
    staged = (plan.a_copy.per_thread + plan.b_copy.per_thread) * plan.context.dtype.bytes
    return plan.registers - staged // 4
