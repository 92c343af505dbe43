"""What a trip of a loop takes at least, without a simulation of all who share a compute unit.

Law: no more than `compute_unit.simulated` says of the steady state.

    least    a wave issues an operation every TURN clocks; and where it waits for an access that it issued d
             whole trips and some operations before, d + 1 trips without the operations that are not between
             the two are no shorter than the access takes
    soonest  two trips of one wave alone, whose loads come after the shortest latency.  Times follow from
             earlier ones by sums and maxima, so that if the second trip makes each of them later by g, every
             one does; other waves and longer latencies make them later still.  Nearly all of a simulation of
             one wave, for a sixth of its price
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Final

from imbrex.chip import TURN, GpuMachine, Rates
from imbrex.timing.operation import Loop, Operation, looks_back_of
from imbrex.timing.step import Barrier, Paths, Pipes, steps_of
from imbrex.timing.wave import Group, Wave, trip_alone

__all__ = ["least_clocks", "soonest_clocks"]

MEMORY: Final = frozenset({"load", "direct"})
LDS: Final = frozenset({"read", "write", "fetch"})
PLACED: Final = MEMORY | LDS | {"wait"}


def least_clocks(loop: Loop, rates: Rates) -> float:
    """Clocks of a trip of one wave, whoever else shares its compute unit."""
    trip, placed = 0, list[tuple[Operation, int]]()
    for op in loop:
        if op.unit in PLACED:
            placed.append((op, trip))
        trip += 0 if op.unit == "barrier" else TURN
    vm = _waits(placed, trip, MEMORY, rates.memory_latency * (1 - rates.memory_spread))
    lgkm = _waits(placed, trip, LDS, rates.lds_latency)
    return max(trip, *vm, *lgkm, 0.0)


def _waits(
    placed: Sequence[tuple[Operation, int]], trip: int, units: Set[str], latency: float
) -> Iterator[float]:
    """What each wait for accesses of these units says.  placed: waits and accesses, and when they come where
    nothing waits; trip: when the next one begins.
    """
    accesses, waits = list[int](), list[tuple[int, int]]()
    for op, start in placed:
        if op.unit in units:
            accesses.append(start)
        elif op.unit == "wait" and (most := op.lgkm if units is LDS else op.vm) is not None:
            waits.append((start, len(accesses) - 1 - most))
    for start, last in waits if accesses else ():
        before, access = divmod(last, len(accesses))
        whole, between = divmod(start - accesses[access] - before * trip, trip)
        yield (latency + trip - between) / (whole + 1)


def soonest_clocks(loop: Loop, gpu: GpuMachine, simds: int) -> float:
    """Clocks of a trip of one wave at least, whoever else shares its compute unit.  simds: with waves."""
    gpu, pipes, looks_back = _soonest(gpu), Pipes(), looks_back_of(loop)
    assert gpu.rates is not None, gpu.name
    paths, wave = Paths(gpu, simds), Wave(0, Group(), looks_back)
    steps = steps_of(_into_registers(loop), gpu.rates, pipes, paths, Barrier(gpu.rates, []))
    calls = [(step.may_issue, step.issue) for step in steps]
    ready, states = 0.0, list[list[float]]()
    for _ in range(2):
        _, ready = trip_alone(wave, calls, ready)
        seen = chain(wave.vm[-looks_back:], wave.lgkm[-looks_back:], paths.lds.leaving, paths.loads.taken_up)
        own = ready, pipes.matrix, pipes.port, pipes.scalar
        states.append([*own, paths.lds.free, paths.loads.free, *seen])
    return min(after - before for before, after in zip(*states, strict=True) if before)


@lru_cache(maxsize=64)
def _soonest(gpu: GpuMachine) -> GpuMachine:
    """The same, but that each load takes as long as the shortest one."""
    assert gpu.rates is not None, gpu.name
    latency = gpu.rates.memory_latency * (1 - gpu.rates.memory_spread)
    return replace(gpu, rates=replace(gpu.rates, memory_latency=latency, memory_spread=0.0))


def _into_registers(loop: Loop) -> Loop:
    """The loop without writes of direct loads, which come before or behind an access as latencies vary."""
    seen = {id(op): op for op in loop}
    made = {name: _into_register(op) if op.unit == "direct" else op for name, op in seen.items()}
    return tuple([made[id(op)] for op in loop])


@lru_cache(maxsize=256)
def _into_register(op: Operation) -> Operation:
    return replace(op, unit="load")
