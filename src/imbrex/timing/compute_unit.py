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

A choice of a tuning simulates dozens of loops of thousands of operations: waves stand in a heap of turns, and
what can be computed of an operation is computed once (`step`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappushpop
from math import inf

from imbrex.chip import GpuMachine
from imbrex.timing.operation import Loop, Operation, Residents, looks_back_of, matrix_clocks_of
from imbrex.timing.step import Barrier, Paths, Pipes, steps_of
from imbrex.timing.wave import Group, Step, Turn, Wave, trip_alone

__all__ = ["Issue", "Trip", "simulated", "traced"]

WARM, MEASURED = 4, 8
"""Trips of the first wave before, and while, it is measured."""


@dataclass(frozen=True)
class Trip:
    """Clocks of one trip of all waves, and the share of them in which the matrix pipe works."""

    clocks: float
    busy: float


@dataclass(frozen=True)
class Issue:
    """An operation that a wave issued in a trip: when, and when its unit or its result was done with it.

    since: when the wave could have issued it, had it not to wait.
    """

    wave: int
    trip: int
    operation: Operation
    since: float
    at: float
    until: float


@lru_cache(maxsize=4096)
def simulated(loop: Loop, gpu: GpuMachine, residents: Residents) -> Trip:
    """A trip in the steady state, in the mean."""
    return _simulated(loop, gpu, residents, list)


def traced(loop: Loop, gpu: GpuMachine, residents: Residents) -> Sequence[Issue]:
    """All that `simulated` lets waves issue, in the order of time of each wave."""
    found: list[Issue] = []

    def watched(steps: Sequence[Step]) -> list[Step]:
        last: dict[int, tuple[int, float]] = {}
        return [Watched(step, op, len(loop), found, last) for step, op in zip(steps, loop, strict=True)]

    _simulated(loop, gpu, residents, watched)
    return found


class Watched:
    """A step whose issues are noted.  last: by wave, how many operations it has behind it, and when it could
    go on behind the last.
    """

    def __init__(
        self, step: Step, op: Operation, trip: int, found: list[Issue], last: dict[int, tuple[int, float]]
    ) -> None:
        self.step, self.op, self.trip, self.found, self.last = step, op, trip, found, last

    def may_issue(self, wave: Wave, when: float) -> float:
        return self.step.may_issue(wave, when)

    def issue(self, wave: Wave, now: float) -> float:
        count, since = self.last.get(wave.number, (0, now))
        ready = self.step.issue(wave, now)
        match self.op.unit:
            case "matrix" | "vector":
                until = now + self.op.clocks
            case "read" | "write":
                until = wave.lgkm[-1]
            case "load" | "direct":
                until = wave.vm[-1]
            case _:
                until = now
        self.last[wave.number] = count + 1, now if ready == inf else ready
        self.found.append(Issue(wave.number, count // self.trip, self.op, since, now, until))
        return ready


def _simulated(
    loop: Loop, gpu: GpuMachine, residents: Residents, watched: Callable[[Sequence[Step]], list[Step]]
) -> Trip:
    """A trip of steps, each as `watched` makes it."""
    assert gpu.rates is not None, gpu.name
    pipes, waves = Pipes(), _waves(loop, residents)
    spread = matrix_clocks_of(loop) * residents.waves_of_group
    starts = [number // residents.waves_of_group * spread for number in range(len(waves))]
    turns: list[Turn] = [
        (start, wave.rank, wave.issued, wave.number) for start, wave in zip(starts, waves, strict=True)
    ]
    barrier = Barrier(gpu.rates, turns)
    paths = Paths(gpu, residents.simds)
    steps = watched(steps_of(loop, gpu.rates, pipes, paths, barrier))
    for number, wave in enumerate(waves):
        wave.begin(steps, barrier if residents.is_ping_pong and number % 2 else None)
    if len(waves) == 1:
        return _alone(waves[0], pipes)
    heapify(turns)
    return _run(waves, turns, pipes, len(loop))


def _waves(loop: Loop, own: Residents) -> list[Wave]:
    looks_back, groups = looks_back_of(loop), [Group() for _ in range(own.groups)]
    numbers = range(own.groups * own.waves_of_group)
    return [Wave(number, groups[number // own.waves_of_group], looks_back) for number in numbers]


def _alone(wave: Wave, pipes: Pipes) -> Trip:
    """The trips of a wave that shares its SIMD with no other, as half of all loops do: it takes no turns."""
    calls = [(step.may_issue, step.issue) for step in wave.steps]
    ready, times = 0.0, list[tuple[float, float]]()
    for _ in range(WARM + MEASURED):
        now, ready = trip_alone(wave, calls, ready)
        times.append((now, pipes.worked))
    return _mean(times[WARM - 1], times[-1])


def _mean(begun: tuple[float, float], ended: tuple[float, float]) -> Trip:
    """The trips that were measured, from times and clocks of the matrix pipe."""
    clocks, worked = ended[0] - begun[0], ended[1] - begun[1]
    return Trip(clocks / MEASURED, worked / clocks)


def _run(waves: list[Wave], turns: list[Turn], pipes: Pipes, trip: int) -> Trip:
    """Law: the time at which an operation may issue only grows while other waves issue, so that one that was
    told is a lower bound.  The least turn is told anew, and issues if it still is the least.
    """
    first, mark, times = waves[0], WARM * trip, list[tuple[float, float]]()
    turn = heappop(turns)
    while True:
        when, rank, issued, number = turn
        wave = waves[number]
        step = wave.step
        now = step.may_issue(wave, when)
        if now > when:
            later = now, rank, issued, number
            turn = heappushpop(turns, later)
            if turn is not later:
                continue
        wave.issued = now
        ready = step.issue(wave, now)
        if ready < inf:
            wave.advance()
            turn = heappushpop(turns, (ready, wave.rank, now, number))
        else:
            assert turns, "the loop does not come round: a barrier that nothing releases"
            turn = heappop(turns)
        if first.at == mark:
            times.append((now, pipes.worked))
            mark += MEASURED * trip
            if len(times) == 2:
                return _mean(*times)
