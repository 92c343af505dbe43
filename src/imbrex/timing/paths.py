"""The paths that the waves of a compute unit share: LDS, and loads through the first-level cache.

Law: an access is told when it may issue, then issued, and is told when its result is there; both answers are
final, so that nothing has to be polled.  All SIMDs do the same at the same time: an access of the one that is
simulated holds a path for all of them.

    LDS    accesses wait in a queue of each two SIMDs, are served in order, and leave it with their result;
           what direct loads bring is written when it comes
    loads  wait in a queue until the cache has taken up the one before, and has room for another; they
           return in order, after a latency that varies evenly about its mean
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from imbrex.chip import GpuMachine, Rates
from imbrex.timing.operation import Operation

__all__ = ["LdsPath", "LoadPath"]

GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are even: latencies without a random generator."""
FIRST = 1024
"""Loads whose latencies are known from the last simulation."""


class LdsPath:
    """free: when all is served that was issued.  leaving: when the accesses leave for which the queue
    has entries.  coming: when direct loads come, and for how many clocks they are written.
    """

    def __init__(self, gpu: GpuMachine, rates: Rates, simds: int) -> None:
        self.gpu, self.rates, self.simds = gpu, rates, simds
        self.latency, self.free = rates.lds_latency, 0.0
        entries = rates.lds_queue // min(2, simds)
        self.leaving = deque([0.0] * entries, entries)
        self.coming = deque[tuple[float, float]]()

    def served(self, op: Operation) -> float:
        """Clocks of an access."""
        moved = self.simds * self.gpu.wave_size * op.lane_bytes
        return self.rates.lds_clocks(moved, op.lane_bytes, op.unit == "write") * op.factor

    def sending(self, op: Operation) -> float:
        """Clocks in which a wave sends what it writes; two SIMDs share a bus of half the rate."""
        return min(2, self.simds) * self.gpu.wave_size * op.lane_bytes / (self.rates.lds_bytes / 2)

    def brought(self, op: Operation) -> float:
        """Clocks of writing what a direct load brings."""
        return self.simds * self.gpu.wave_size * op.lane_bytes / self.rates.lds_bytes

    def issue(self, served: float, now: float) -> float:
        """When the result is there of an access, for which the queue must have an entry free."""
        coming, free, latency = self.coming, self.free, self.latency
        while coming and coming[0][0] <= now:
            arrived, clocks = coming.popleft()
            free = (free if free > arrived else arrived) + clocks
        self.free = free = (free if free > now else now) + served
        self.leaving.append(free + (latency - served if latency > served else 0.0))
        return free + latency


class LoadPath:
    """free: when all is taken up that was issued.  taken_up: when the loads are for which the queue has
    entries.  under_way: bytes of those that are returning.  last: when the last one has.
    """

    def __init__(self, gpu: GpuMachine, rates: Rates, simds: int, bytes_a_clock: float) -> None:
        self.gpu, self.rates, self.simds, self.bytes_a_clock = gpu, rates, simds, bytes_a_clock
        self.capacity, self.latencies = rates.l1_capacity / simds, _latencies(rates)
        self.free = self.under_way = self.last = 0.0
        self.count = 0
        entries = max(1, rates.request_queue // simds)
        self.taken_up = deque([0.0] * entries, entries)
        self.returning = deque[tuple[float, float]]()

    def moved(self, op: Operation) -> float:
        """Bytes that a load takes of the path."""
        return self.gpu.wave_size * max(4, op.lane_bytes) * op.factor

    def issue(self, moved: float, now: float) -> float:
        """When the data is there of a load, for which the queue must have an entry free."""
        start = self.free if self.free > now else now
        under_way, returning, count = self.under_way, self.returning, self.count
        while returning and under_way + moved > self.capacity:
            returned, size = returning.popleft()
            under_way -= size
            start = returned if returned > start else start
        self.under_way, self.count = under_way + moved, count + 1
        self.free = free = start + self.simds * moved / self.bytes_a_clock
        came = start + (self.latencies[count] if count < FIRST else _latency(self.rates, count))
        came = free if free > came else came
        self.last = last = self.last if self.last > came else came
        returning.append((last, moved))
        self.taken_up.append(start)
        return last


@lru_cache(maxsize=64)
def _latencies(rates: Rates) -> Sequence[float]:
    """Clocks of the FIRST loads."""
    return [_latency(rates, count) for count in range(FIRST)]


def _latency(rates: Rates, count: int) -> float:
    """Clocks of a load before which so many were issued."""
    spread = rates.memory_spread * (2 * ((count + 1) * GOLDEN % 1) - 1)
    return rates.memory_latency * (1 + spread)
