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

from imbrex.chip import GpuMachine, Rates
from imbrex.timing.operation import Operation

__all__ = ["LdsPath", "LoadPath"]

GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are even: latencies without a random generator."""


class LdsPath:
    """free: when all is served that was issued.  leaving: when the accesses leave for which the queue
    has entries.  coming: when direct loads come, and for how many clocks they are written.
    """

    def __init__(self, gpu: GpuMachine, rates: Rates, simds: int) -> None:
        self.gpu, self.rates, self.simds, self.free = gpu, rates, simds, 0.0
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
        while self.coming and self.coming[0][0] <= now:
            arrived, clocks = self.coming.popleft()
            self.free = max(self.free, arrived) + clocks
        latency = self.rates.lds_latency
        self.free = free = (self.free if self.free > now else now) + served
        self.leaving.append(free + (latency - served if latency > served else 0.0))
        return free + latency


class LoadPath:
    """free: when all is taken up that was issued.  taken_up: when the loads are for which the queue has
    entries.  under_way: bytes of those that are returning.  last: when the last one has.
    """

    def __init__(self, gpu: GpuMachine, rates: Rates, simds: int, bytes_a_clock: float) -> None:
        self.gpu, self.rates, self.simds, self.bytes_a_clock = gpu, rates, simds, bytes_a_clock
        self.capacity = rates.l1_capacity / simds
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
        while self.returning and self.under_way + moved > self.capacity:
            returned, size = self.returning.popleft()
            self.under_way -= size
            start = max(start, returned)
        self.free = start + self.simds * moved / self.bytes_a_clock
        self.count += 1
        spread = self.rates.memory_spread * (2 * (self.count * GOLDEN % 1) - 1)
        self.last = max(self.last, self.free, start + self.rates.memory_latency * (1 + spread))
        self.under_way += moved
        self.returning.append((self.last, moved))
        self.taken_up.append(start)
        return self.last
