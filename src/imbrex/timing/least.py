"""What a trip of a loop takes at least, without a simulation.

Law: no more than `compute_unit.simulated` says of the steady state.  A wave issues an operation every TURN
clocks; and where it waits for an access that it issued d whole trips and some operations before, d + 1 trips
without the operations that are not between the two are no shorter than the access takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Final

from imbrex.chip import TURN, Rates
from imbrex.timing.operation import Loop, Operation

__all__ = ["least_clocks"]

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
