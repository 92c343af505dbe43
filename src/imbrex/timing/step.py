"""What the operations of a loop do to one SIMD: when one may issue, and when its wave may go on.

A step knows what can be computed of its operation before anything is issued; units know when they are free.
"""

from __future__ import annotations

from heapq import heappush
from math import inf

from imbrex.chip import TURN, GpuMachine, Rates
from imbrex.timing.operation import Loop, Operation
from imbrex.timing.paths import LdsPath, LoadPath
from imbrex.timing.wave import Step, Turn, Wave

__all__ = ["Barrier", "Paths", "Pipes", "steps_of"]


class Pipes:
    """When the matrix pipe, the vector port and the scalar unit are free; clocks that the pipe has worked."""

    __slots__ = ("matrix", "port", "scalar", "worked")

    def __init__(self) -> None:
        self.matrix = self.port = self.scalar = self.worked = 0.0


class Paths:
    """LDS, and loads, as the waves of one SIMD share them with those of the others."""

    __slots__ = ("lds", "loads")

    def __init__(self, gpu: GpuMachine, simds: int) -> None:
        rates, l2_bytes = gpu.rates, gpu.device.l2_bytes if gpu.device is not None else inf
        assert rates is not None, gpu.name
        self.lds = LdsPath(gpu, rates, simds)
        self.loads = LoadPath(gpu, rates, simds, min(rates.l1_bytes, l2_bytes))


class Barrier:
    """The last wave of a workgroup to come lets all of it go."""

    def __init__(self, rates: Rates, turns: list[Turn]) -> None:
        self.clocks, self.turns = rates.barrier, turns

    def may_issue(self, wave: Wave, when: float) -> float:
        return when

    def issue(self, wave: Wave, now: float) -> float:
        group, ready = wave.group, now + self.clocks
        group.missing -= 1
        if group.missing:
            return inf
        group.missing = len(group.waves)
        for other in group.waves:
            if other is not wave:
                other.advance()
                heappush(self.turns, (ready, other.rank, other.issued, other.number))
        return ready


def steps_of(loop: Loop, rates: Rates, pipes: Pipes, paths: Paths, barrier: Barrier) -> list[Step]:
    """The steps of a trip; operations that are one object are one step."""
    assert loop
    operations = {id(op): op for op in loop}
    made = {name: _step(op, rates, pipes, paths, barrier) for name, op in operations.items()}
    return [made[id(op)] for op in loop]


def _step(op: Operation, rates: Rates, pipes: Pipes, paths: Paths, barrier: Barrier) -> Step:
    match op.unit:
        case "matrix":
            return _Matrix(pipes, op.clocks, op.clocks if op.is_exclusive else rates.shadow)
        case "vector":
            return _Vector(pipes, op.clocks)
        case "scalar":
            return _Scalar(pipes)
        case "fetch":
            return _Fetch(pipes, rates.lds_latency)
        case "read" | "write":
            return _Lds(paths.lds, op)
        case "load":
            return _Load(paths.loads, op)
        case "direct":
            return _Direct(paths.loads, paths.lds, op)
        case "wait":
            return _Wait(op.vm, op.lgkm)
        case "barrier":
            return barrier
        case "priority":
            return _Priority(op.level)
        case "branch":
            return _Pause(rates.branch - TURN)
        case "pause":
            return _Pause(op.clocks - TURN)


class _Matrix:
    def __init__(self, pipes: Pipes, clocks: float, shadow: float) -> None:
        self.pipes, self.clocks, self.shadow = pipes, clocks, shadow

    def may_issue(self, wave: Wave, when: float) -> float:
        pipes = self.pipes
        free = pipes.matrix if pipes.matrix > pipes.port else pipes.port
        return free if free > when else when

    def issue(self, wave: Wave, now: float) -> float:
        pipes = self.pipes
        pipes.matrix, pipes.port = now + self.clocks, now + self.shadow
        pipes.worked += self.clocks
        return now + TURN


class _Vector:
    def __init__(self, pipes: Pipes, clocks: float) -> None:
        self.pipes, self.clocks = pipes, clocks

    def may_issue(self, wave: Wave, when: float) -> float:
        free = self.pipes.port
        return free if free > when else when

    def issue(self, wave: Wave, now: float) -> float:
        self.pipes.port = now + self.clocks
        return now + TURN


class _Scalar:
    def __init__(self, pipes: Pipes) -> None:
        self.pipes = pipes

    def may_issue(self, wave: Wave, when: float) -> float:
        free = self.pipes.scalar
        return free if free > when else when

    def issue(self, wave: Wave, now: float) -> float:
        self.pipes.scalar = now + TURN
        return now + TURN


class _Fetch(_Scalar):
    """Scalars from memory."""

    def __init__(self, pipes: Pipes, latency: float) -> None:
        super().__init__(pipes)
        self.latency = latency

    def issue(self, wave: Wave, now: float) -> float:
        wave.lgkm.append(now + self.latency)
        return super().issue(wave, now)


class _Wait:
    """Holds a wave until at most so many of its accesses are under way."""

    def __init__(self, vm: int | None, lgkm: int | None) -> None:
        self.vm, self.lgkm = (None if most is None else -1 - most for most in (vm, lgkm))

    def may_issue(self, wave: Wave, when: float) -> float:
        if self.vm is not None and wave.vm[self.vm] > when:
            when = wave.vm[self.vm]
        if self.lgkm is not None and wave.lgkm[self.lgkm] > when:
            when = wave.lgkm[self.lgkm]
        return when

    def issue(self, wave: Wave, now: float) -> float:
        return now + TURN


class _Lds:
    """A read or a write; a wave that writes sends its data before it issues anything else."""

    def __init__(self, lds: LdsPath, op: Operation) -> None:
        self.lds, self.served = lds, lds.served(op)
        self.sending = lds.sending(op) if op.unit == "write" else 0.0

    def may_issue(self, wave: Wave, when: float) -> float:
        free = self.lds.leaving[0]
        return free if free > when else when

    def issue(self, wave: Wave, now: float) -> float:
        wave.lgkm.append(self.lds.issue(self.served, now))
        return now + TURN + self.sending


class _Load:
    """Memory into registers."""

    def __init__(self, loads: LoadPath, op: Operation) -> None:
        self.loads, self.moved = loads, loads.moved(op)

    def may_issue(self, wave: Wave, when: float) -> float:
        free = self.loads.taken_up[0]
        return free if free > when else when

    def issue(self, wave: Wave, now: float) -> float:
        wave.vm.append(self.loads.issue(self.moved, now))
        return now + TURN


class _Direct(_Load):
    """Memory into LDS."""

    def __init__(self, loads: LoadPath, lds: LdsPath, op: Operation) -> None:
        super().__init__(loads, op)
        self.lds, self.brought = lds, lds.brought(op)

    def issue(self, wave: Wave, now: float) -> float:
        after = super().issue(wave, now)
        self.lds.coming.append((wave.vm[-1], self.brought))
        return after


class _Priority:
    def __init__(self, level: int) -> None:
        self.rank = -level

    def may_issue(self, wave: Wave, when: float) -> float:
        return when

    def issue(self, wave: Wave, now: float) -> float:
        wave.rank = self.rank
        return now + TURN


class _Pause:
    """Nothing but time.  more: clocks beyond a turn."""

    def __init__(self, more: float) -> None:
        self.more = more

    def may_issue(self, wave: Wave, when: float) -> float:
        return when

    def issue(self, wave: Wave, now: float) -> float:
        return now + TURN + self.more
