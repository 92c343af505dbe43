"""What a trip of a loop takes at least, without a simulation.

Law: no more than `compute_unit.simulated` says of the steady state.  A wave issues an operation every TURN
clocks; and where it waits for an access that it issued d whole trips and some operations before, d + 1 trips
without the operations that are not between the two are no shorter than the access takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from imbrex.chip import TURN, Rates
from imbrex.timing.operation import Loop

__all__ = ["least_clocks"]


def least_clocks(loop: Loop, rates: Rates) -> float:
    """Clocks of a trip of one wave, whoever else shares its compute unit."""
    starts = list(accumulate((0 if op.unit == "barrier" else TURN for op in loop), initial=0))
    vm = _waits(loop, starts, ("load", "direct"), rates.memory_latency * (1 - rates.memory_spread))
    lgkm = _waits(loop, starts, ("read", "write", "fetch"), rates.lds_latency)
    return max(starts[-1], *vm, *lgkm, 0.0)


def _waits(loop: Loop, starts: Sequence[int], units: tuple[str, ...], latency: float) -> Iterator[float]:
    """What each wait for accesses of these units says.  starts: of operations that wait for nothing, and of
    the next trip.
    """
    accesses, waits = list[int](), list[tuple[int, int]]()
    for op, start in zip(loop, starts, strict=False):
        if op.unit in units:
            accesses.append(start)
        elif op.unit == "wait" and (most := op.lgkm if "read" in units else op.vm) is not None:
            waits.append((start, len(accesses) - 1 - most))
    trip = starts[-1]
    for start, last in waits if accesses else ():
        before, access = divmod(last, len(accesses))
        whole, between = divmod(start - accesses[access] - before * trip, trip)
        yield (latency + trip - between) / (whole + 1)
