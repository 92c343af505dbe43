"""The simulation as its page says it, without turns: at every step all waves are asked, and nothing is known
of an operation before it issues.  What `imbrex.timing.compute_unit` is held to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from imbrex.chip import GpuMachine
from imbrex.timing.operation import Loop, Operation, Residents, matrix_clocks_of
from imbrex.timing.paths import GOLDEN

__all__ = ["polled"]

TURN, WARM, MEASURED = 4, 4, 8


@dataclass
class Wave:
    group: int
    ready: float
    extra_barriers: int
    at: int = 0
    trips: int = 0
    priority: int = 0
    issued: float = -1.0
    has_arrived: bool = False
    vm: list[float] = field(default_factory=list[float])
    lgkm: list[float] = field(default_factory=list[float])


def polled(loop: Loop, gpu: GpuMachine, own: Residents) -> tuple[float, float]:
    """Clocks of a trip, and the share of them in which the matrix pipe works."""
    simd, begun, worked = Simd(loop, gpu, own), 0.0, 0.0
    first = simd.waves[0]
    while True:
        asked = ((simd.earliest(w), -w.priority, w.issued, place) for place, w in enumerate(simd.waves))
        now, _, _, place = min(asked)
        assert now < inf
        trips = first.trips
        simd.issue(simd.waves[place], now)
        if first.trips != trips and first.trips == WARM:
            begun, worked = now, simd.worked
        elif first.trips == WARM + MEASURED:
            return (now - begun) / MEASURED, (simd.worked - worked) / (now - begun)


class Simd:
    def __init__(self, loop: Loop, gpu: GpuMachine, own: Residents) -> None:
        assert gpu.rates is not None and gpu.device is not None
        self.loop, self.gpu, self.rates, self.simds = loop, gpu, gpu.rates, own.simds
        self.l1 = min(gpu.rates.l1_bytes, gpu.device.l2_bytes)
        self.matrix = self.port = self.scalar = self.worked = self.lds = self.loads = self.last = 0.0
        self.leaving, self.taken_up, self.loaded = list[float](), list[float](), 0
        self.coming, self.returning = list[tuple[float, float]](), list[tuple[float, float]]()
        spread, many = matrix_clocks_of(loop) * own.waves_of_group, own.groups * own.waves_of_group
        groups = [place // own.waves_of_group for place in range(many)]
        odd = [int(own.is_ping_pong and place % 2) for place in range(many)]
        self.waves = [Wave(group, group * spread, extra) for group, extra in zip(groups, odd, strict=True)]

    def earliest(self, wave: Wave) -> float:
        op, now = self.loop[wave.at], wave.ready
        if wave.extra_barriers:
            return now
        match op.unit:
            case "matrix":
                return max(now, self.matrix, self.port)
            case "vector":
                return max(now, self.port)
            case "scalar" | "fetch":
                return max(now, self.scalar)
            case "read" | "write":
                return _free(now, self.leaving, self.rates.lds_queue // min(2, self.simds))
            case "load" | "direct":
                return _free(now, self.taken_up, max(1, self.rates.request_queue // self.simds))
            case "wait":
                return max(now, _until(wave.vm, op.vm), _until(wave.lgkm, op.lgkm))
            case "barrier" | "priority" | "branch" | "pause":
                return now

    def issue(self, wave: Wave, now: float) -> None:
        op, wave.issued = self.loop[wave.at], now
        if op.unit == "barrier" or wave.extra_barriers:
            self.arrive(wave, now)
        else:
            _advance(wave, now + TURN + self.taken(wave, op, now), len(self.loop))

    def taken(self, wave: Wave, op: Operation, now: float) -> float:
        """Clocks, besides a turn, in which the wave issues nothing else."""
        match op.unit:
            case "matrix":
                self.matrix = now + op.clocks
                self.port = now + (op.clocks if op.is_exclusive else self.rates.shadow)
                self.worked += op.clocks
            case "vector":
                self.port = now + op.clocks
            case "scalar" | "fetch":
                self.scalar = now + TURN
                wave.lgkm += [now + self.rates.lds_latency] if op.unit == "fetch" else []
            case "read" | "write":
                wave.lgkm.append(self.access(op, now))
                if op.unit == "write":
                    together = min(2, self.simds) * self.gpu.wave_size * op.lane_bytes
                    return together / (self.rates.lds_bytes / 2)
            case "load" | "direct":
                wave.vm.append(self.load(op, now))
                if op.unit == "direct":
                    moved = self.simds * self.gpu.wave_size * op.lane_bytes
                    self.coming.append((wave.vm[-1], moved / self.rates.lds_bytes))
            case "priority":
                wave.priority = op.level
            case "branch":
                return self.rates.branch - TURN
            case "pause":
                return op.clocks - TURN
            case "wait" | "barrier":
                pass
        return 0.0

    def access(self, op: Operation, now: float) -> float:
        while self.coming and self.coming[0][0] <= now:
            arrived, clocks = self.coming.pop(0)
            self.lds = max(self.lds, arrived) + clocks
        moved = self.simds * self.gpu.wave_size * op.lane_bytes
        served = self.rates.lds_clocks(moved, op.lane_bytes, op.unit == "write") * op.factor
        self.lds = max(self.lds, now) + served
        self.leaving.append(self.lds + max(0.0, self.rates.lds_latency - served))
        return self.lds + self.rates.lds_latency

    def load(self, op: Operation, now: float) -> float:
        moved = self.gpu.wave_size * max(4, op.lane_bytes) * op.factor
        start = max(now, self.loads)
        capacity = self.rates.l1_capacity / self.simds
        while self.returning and sum(size for _, size in self.returning) + moved > capacity:
            start = max(start, self.returning.pop(0)[0])
        self.loads = start + self.simds * moved / self.l1
        self.loaded += 1
        spread = self.rates.memory_spread * (2 * (self.loaded * GOLDEN % 1) - 1)
        self.last = max(self.last, self.loads, start + self.rates.memory_latency * (1 + spread))
        self.returning.append((self.last, moved))
        self.taken_up.append(start)
        return self.last

    def arrive(self, wave: Wave, now: float) -> None:
        wave.has_arrived, wave.ready = True, inf
        group = [other for other in self.waves if other.group == wave.group]
        if not all(other.has_arrived for other in group):
            return
        for other in group:
            other.has_arrived = False
            if other.extra_barriers:
                other.extra_barriers, other.ready = 0, now + self.rates.barrier
            else:
                _advance(other, now + self.rates.barrier, len(self.loop))


def _advance(wave: Wave, ready: float, trip: int) -> None:
    wave.ready, done = ready, wave.at + 1
    wave.at, wave.trips = done % trip, wave.trips + done // trip


def _free(now: float, leaving: list[float], places: int) -> float:
    """When a queue has a place: when the access has left it that came so many accesses ago."""
    return max(now, leaving[-places]) if len(leaving) >= places else now


def _until(results: list[float], most: int | None) -> float:
    """When at most so many results are outstanding."""
    return results[-1 - most] if most is not None and len(results) > most else 0.0
