"""The cycles of a general tuning on NVIDIA's GPUs: what multiprocessors issue, and how many have work.

    time = turns of the busiest multiprocessor * (steps of a workgroup * cycles of a step + start)

A step takes what its slowest part takes: the instructions, which four schedulers issue, one warp's a cycle,
and which few warps leave waiting for their own results; the reads of shared memory; the tiles on their way
from the second cache.  Where several workgroups have a part of the same tile, all but one of them leave
sums in memory, which that one adds when all are there.  The list's order decides between equals.
"""

from __future__ import annotations

from typing import NamedTuple

from imbrex.chip import VECTOR_BYTES, GpuMachine, ItemRates, Multiprocessor
from imbrex.config.general.bound import BOUND, BOUNDED_ITEMS, is_bounded
from imbrex.config.general.plan import GeneralPlan, GeneralTuning
from imbrex.config.spent import Spent
from imbrex.view.work.streamk import received_at_a_time

__all__ = ["Streams", "added_cycles", "general_cycles", "resident_of", "spent", "streams"]

WORD = 4
GRAIN = 8
"""Registers that a work item gets at a time."""
USED = 24
"""Registers of a work item for addresses, guards and the loop."""
MANY_SUMS = 64
"""Sums of a work item that shares tiles for which NVRTC 13.0 takes up to half as many registers more."""
SPILLED, SPILLS = GeneralTuning(256, 128, 128, 16, 4, 4), 1.08
"""NVRTC 13.0 keeps five registers of this tuning in memory where loads of A alone run along k: squares of
2048 to 8192 took an H200 4 % longer than with its steps of 8.
"""


def general_cycles(plan: GeneralPlan, machine: GpuMachine, parts: int = 1) -> float:
    """Cycles of the whole product, each tile by so many workgroups; only the order of choices matters."""
    turns = -(-plan.grid_size * parts // machine.compute_units)
    resident = resident_of(plan, machine, shared=parts > 1)
    rounds, rest = divmod(turns, resident)
    steps = -(-plan.k_iterations // parts)
    whole = rounds * _round(plan, machine, resident, steps) + (
        _round(plan, machine, rest, steps) if rest else 0.0
    )
    return whole * _crowding(plan, machine) + added_cycles(plan, machine, parts)


def _round(plan: GeneralPlan, machine: GpuMachine, resident: int, steps: int) -> float:
    """So many workgroups of one multiprocessor, side by side, from their first loads to their last stores."""
    tuning, rates = plan.tuning, _multiprocessor(machine).rates
    each = streams(plan, machine, resident)
    step = resident * (max(each.issue, each.shared, each.cache) + each.more) + rates.step
    latency = max(rates.latency, rates.k_latency * tuning.k_per_block, rates.chain * _issued(plan, machine))
    return steps * max(step, latency) + rates.start


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


def spent(plan: GeneralPlan, machine: GpuMachine) -> Spent:
    """The parts of all rounds, each of as many workgroups as a multiprocessor has at a time."""
    turns, rates = -(-plan.grid_size // machine.compute_units), _multiprocessor(machine).rates
    each = streams(plan, machine, min(turns, resident_of(plan, machine)))
    parallel = {"instructions": each.issue, "shared memory": each.shared, "L2": each.cache}
    after = {"loads that do not hide": each.more * plan.k_iterations, "start": rates.start}
    return Spent(parallel, {}).times(plan.k_iterations).plus(after).times(turns)


def added_cycles(plan: GeneralPlan, machine: GpuMachine, parts: int) -> float:
    """Cycles until one workgroup has added what the others leave."""
    if parts == 1:
        return 0.0
    rates, sums_bytes = _multiprocessor(machine).rates, _accumulators(plan) * WORD
    trips = -(-(parts - 1) // received_at_a_time(sums_bytes))
    return rates.part + trips * rates.part_trip + (parts - 1) * sums_bytes / VECTOR_BYTES * rates.part_load


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


def resident_of(plan: GeneralPlan, machine: GpuMachine, *, shared: bool = False) -> int:
    """Workgroups that one multiprocessor holds, at least one.  shared: do they share tiles?"""
    size, sums = plan.tuning.block_size, _accumulators(plan)
    more = sums // 2 if shared and sums >= MANY_SUMS else 0
    used = min(_needed(plan) + USED + more, machine.vector_registers)
    by_registers = _multiprocessor(machine).registers // (-(-used // GRAIN) * GRAIN * size)
    if is_bounded(size, sums):
        by_registers = BOUNDED_ITEMS // size
    return max(1, min(by_registers, machine.lds_bytes // max(1, plan.lds_bytes)))


def _crowding(plan: GeneralPlan, machine: GpuMachine) -> float:
    """Times the work where a bound leaves a work item fewer registers than let it read a whole k ahead."""
    if not is_bounded(plan.tuning.block_size, _accumulators(plan)):
        return 1.0
    rates, (a, b) = _multiprocessor(machine).rates, (plan.a_copy.runs_along_k, plan.b_copy.runs_along_k)
    spills = SPILLS if plan.tuning == SPILLED and a and not b else 1.0
    return spills * (1 + rates.spill * max(0, _needed(plan) - rates.crowded) / BOUND)


def _multiprocessor(machine: GpuMachine) -> Multiprocessor:
    assert machine.multiprocessor is not None, machine
    return machine.multiprocessor


def _accumulators(plan: GeneralPlan) -> int:
    """Registers of a work item's sums."""
    rows, columns = (count * width for count, width in zip(plan.tuning.repeats, _thread(plan), strict=True))
    return rows * columns * -(-plan.context.dtype.accumulator.bytes // WORD)


def _needed(plan: GeneralPlan) -> int:
    """Registers of a work item: sums, what two numbers of k multiply, a staged tile."""
    width = sum(count * width for count, width in zip(plan.tuning.repeats, _thread(plan), strict=True))
    staged = plan.a_copy.per_thread + plan.b_copy.per_thread
    return _accumulators(plan) + -(-(2 * width + staged) * plan.context.dtype.bytes // WORD)
