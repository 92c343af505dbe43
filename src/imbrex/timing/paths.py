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
from dataclasses import dataclass, field

from imbrex.chip import GpuMachine, Rates
from imbrex.timing.operation import Operation

__all__ = ["LdsPath", "LoadPath"]

GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are even: latencies without a random generator."""


@dataclass
class LdsPath:
    gpu: GpuMachine
    rates: Rates
    simds: int
    free: float = 0.0
    leaving: deque[float] = field(default_factory=deque[float])
    coming: deque[tuple[float, float]] = field(default_factory=deque[tuple[float, float]])

    @property
    def places(self) -> int:
        """Places of the queue for one SIMD's accesses."""
        return self.rates.lds_queue // min(2, self.simds)

    def may_issue(self, now: float) -> float:
        """When the queue has a place."""
        return max(now, self.leaving[0]) if len(self.leaving) == self.places else now

    def issue(self, op: Operation, now: float) -> float:
        """When its result is there."""
        while self.coming and self.coming[0][0] <= now:
            arrived, clocks = self.coming.popleft()
            self.free = max(self.free, arrived) + clocks
        moved = self.simds * self.gpu.wave_size * op.lane_bytes
        served = self.rates.lds_clocks(moved, op.lane_bytes, op.unit == "write") * op.factor
        self.free = max(self.free, now) + served
        if len(self.leaving) == self.places:
            self.leaving.popleft()
        self.leaving.append(self.free + max(0.0, self.rates.lds_latency - served))
        return self.free + self.rates.lds_latency

    def sending(self, op: Operation) -> float:
        """Clocks in which a wave sends what it writes; two SIMDs share a bus of half the rate."""
        return min(2, self.simds) * self.gpu.wave_size * op.lane_bytes / (self.rates.lds_bytes / 2)

    def comes(self, op: Operation, when: float) -> None:
        """What a direct load brings."""
        moved = self.simds * self.gpu.wave_size * op.lane_bytes
        self.coming.append((when, moved / self.rates.lds_bytes))


@dataclass
class LoadPath:
    gpu: GpuMachine
    rates: Rates
    simds: int
    bytes_a_clock: float
    free: float = 0.0
    count: int = 0
    under_way: float = 0.0
    taken_up: deque[float] = field(default_factory=deque[float])
    returning: deque[tuple[float, float]] = field(default_factory=deque[tuple[float, float]])
    last: float = 0.0

    @property
    def places(self) -> int:
        """Places of the queue for one SIMD's loads."""
        return max(1, self.rates.request_queue // self.simds)

    def may_issue(self, now: float) -> float:
        """When the queue has a place."""
        return max(now, self.taken_up[0]) if len(self.taken_up) == self.places else now

    def issue(self, op: Operation, now: float) -> float:
        """When its data is there."""
        moved = self.gpu.wave_size * max(4, op.lane_bytes) * op.factor
        start = max(now, self.free)
        while self.returning and self.under_way + moved > self.rates.l1_capacity / self.simds:
            returned, size = self.returning.popleft()
            self.under_way -= size
            start = max(start, returned)
        self.free = start + self.simds * moved / self.bytes_a_clock
        self.count += 1
        spread = self.rates.memory_spread * (2 * (self.count * GOLDEN % 1) - 1)
        self.last = max(self.last, self.free, start + self.rates.memory_latency * (1 + spread))
        self.under_way += moved
        self.returning.append((self.last, moved))
        if len(self.taken_up) == self.places:
            self.taken_up.popleft()
        self.taken_up.append(start)
        return self.last
