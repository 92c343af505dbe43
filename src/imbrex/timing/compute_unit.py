"""The simulation of a compute unit: waves of one SIMD issue a loop in order, and wait where it says so.

- a wave issues at most one operation every four clocks, a unit takes at most one; of waves that could issue
  at the same time the one of higher priority goes, then the one that has waited longest;
- a matrix operation needs the matrix pipe and the vector port;
- LDS and loads are as in `paths`; a wave that writes to LDS sends its data before it issues anything else;
- a wait holds a wave until at most so many of its accesses are under way; a barrier holds the waves of a
  workgroup until all of them are there;
- workgroups that share the SIMD start evenly spread over a trip.

Left out: fetches of instructions, dependences between operations (a loop has waits where its results are
needed), and that latencies grow where memory is short of bytes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Final

from imbrex.chip import GpuMachine
from imbrex.timing.operation import Loop, Operation, Residents, matrix_clocks_of
from imbrex.timing.paths import LdsPath, LoadPath

__all__ = ["TURN", "Trip", "simulated"]

TURN: Final = 4
"""Clocks from one issue of a wave to its next; a vector instruction of 64 lanes takes as long."""

WARM, MEASURED = 4, 8
"""Trips of the first wave before, and while, it is measured."""


@dataclass(frozen=True)
class Trip:
    """Clocks of one trip of all waves, and the share of them in which the matrix pipe works."""

    clocks: float
    busy: float


@lru_cache(maxsize=4096)
def simulated(loop: Loop, gpu: GpuMachine, residents: Residents) -> Trip:
    """A trip in the steady state."""
    return _Simd(loop, gpu, residents).run()


@dataclass
class _Wave:
    group: int
    ready: float
    at: int = 0
    trips: int = 0
    priority: int = 0
    issued: float = -1.0
    arrived: float = -1.0
    extra_barriers: int = 0
    vm: deque[float] = field(default_factory=deque[float])
    lgkm: deque[float] = field(default_factory=deque[float])

    def goes_before(self, other: _Wave) -> bool:
        """Which of two issues first that could at the same time."""
        return (-self.priority, self.issued) < (-other.priority, other.issued)


class _Simd:
    """Times are clocks."""

    def __init__(self, loop: Loop, gpu: GpuMachine, residents: Residents) -> None:
        assert gpu.rates is not None and loop, gpu.name
        self.loop, self.rates, own = loop, gpu.rates, residents
        l2_bytes = gpu.device.l2_bytes if gpu.device is not None else inf
        self.lds = LdsPath(gpu, gpu.rates, own.simds)
        self.loads = LoadPath(gpu, gpu.rates, own.simds, min(gpu.rates.l1_bytes, l2_bytes))
        self.matrix = self.port = self.scalar = self.worked = 0.0
        spread = matrix_clocks_of(loop) * own.waves_of_group
        self.waves = [_Wave(i, i * spread) for i in range(own.groups) for _ in range(own.waves_of_group)]
        for place, wave in enumerate(self.waves):
            wave.extra_barriers = int(own.is_ping_pong and place % 2)

    def run(self) -> Trip:
        """A trip of the first wave, in the mean."""
        first, begun, worked = self.waves[0], 0.0, 0.0
        while True:
            now, wave = self._next()
            trips = first.trips
            self._issue(wave, now)
            if first.trips != trips and first.trips == WARM:
                begun, worked = now, self.worked
            elif first.trips == WARM + MEASURED:
                return Trip((now - begun) / MEASURED, (self.worked - worked) / (now - begun))

    def _next(self) -> tuple[float, _Wave]:
        """The wave that issues before the others, and when."""
        now, chosen = inf, self.waves[0]
        for wave in self.waves:
            when = self._earliest(wave) if wave.ready <= now else inf
            if when < now or (when == now < inf and wave.goes_before(chosen)):
                now, chosen = when, wave
        assert now < inf, "the loop does not come round: a barrier that nothing releases"
        return now, chosen

    def _earliest(self, wave: _Wave) -> float:
        """When the wave's next operation may issue, if no other wave's does before."""
        op, now = self.loop[wave.at], wave.ready
        if wave.extra_barriers:
            return now
        match op.unit:
            case "matrix":
                return max(now, self.matrix, self.port)
            case "vector":
                return max(now, self.port)
            case "read" | "write":
                return self.lds.may_issue(now)
            case "load" | "direct":
                return self.loads.may_issue(now)
            case "wait":
                return max(now, _until(wave.vm, op.vm), _until(wave.lgkm, op.lgkm))
            case "scalar" | "fetch":
                return max(now, self.scalar)
            case "barrier" | "priority" | "branch" | "pause":
                return now

    def _issue(self, wave: _Wave, now: float) -> None:
        op = self.loop[wave.at]
        wave.issued = now
        for results in (wave.vm, wave.lgkm):
            while results and results[0] <= now:
                results.popleft()
        if op.unit == "barrier" or wave.extra_barriers:
            self._arrive(wave, now)
            return
        self._advance(wave, now + TURN + self._taken(wave, op, now))

    def _taken(self, wave: _Wave, op: Operation, now: float) -> float:
        """Clocks, besides a turn, in which the wave issues nothing else; what it holds is held."""
        match op.unit:
            case "matrix":
                self.matrix = now + op.clocks
                self.port = now + (op.clocks if op.is_exclusive else self.rates.shadow)
                self.worked += op.clocks
            case "vector":
                self.port = now + op.clocks
            case "scalar":
                self.scalar = now + TURN
            case "fetch":
                self.scalar = now + TURN
                wave.lgkm.append(now + self.rates.lds_latency)
            case "read" | "write":
                wave.lgkm.append(self.lds.issue(op, now))
                return self.lds.sending(op) if op.unit == "write" else 0.0
            case "load" | "direct":
                wave.vm.append(self.loads.issue(op, now))
                if op.unit == "direct":
                    self.lds.comes(op, wave.vm[-1])
            case "priority":
                wave.priority = op.level
            case "branch":
                return self.rates.branch - TURN
            case "pause":
                return op.clocks - TURN
            case "wait" | "barrier":
                pass
        return 0.0

    def _arrive(self, wave: _Wave, now: float) -> None:
        """The wave is at a barrier; the last one to come lets all of its workgroup go."""
        wave.arrived, wave.ready = now, inf
        group = [other for other in self.waves if other.group == wave.group]
        if any(other.arrived < 0 for other in group):
            return
        for other in group:
            other.arrived = -1.0
            if other.extra_barriers:
                other.extra_barriers -= 1
                other.ready = now + self.rates.barrier
            else:
                self._advance(other, now + self.rates.barrier)

    def _advance(self, wave: _Wave, ready: float) -> None:
        wave.ready = ready
        wave.at += 1
        if wave.at == len(self.loop):
            wave.at, wave.trips = 0, wave.trips + 1


def _until(results: deque[float], most: int | None) -> float:
    """When at most so many results are outstanding."""
    return results[-1 - most] if most is not None and len(results) > most else 0.0
