"""The timeline: waves of one SIMD issue the loop in order, turn by turn, and wait where the code says so.

What the throughput bound leaves out is here: the latency of LDS and of global memory, `s_waitcnt`, barriers,
one instruction a turn for a wave.  The rules:

- time runs in turns of four clocks; in a turn a wave issues at most one instruction, a unit takes at most
  one; the wave of higher priority (`s_setprio`) goes first, then the one that has waited longest;
- a matrix instruction needs the matrix pipe and the vector port; both stay taken as in `bound`;
- LDS and the path to memory serve accesses in order.  The other three SIMDs are taken to do the same at
  the same time, so an access of this one holds the path four times as long as it takes;
- a result arrives when the path has moved it, and the latency after; `s_waitcnt vmcnt(n) lgkmcnt(m)` holds
  the wave until at most n and m of its accesses are under way;
- a barrier holds the waves of one workgroup until all of them are there;
- workgroups that share the SIMD start evenly spread over a trip; scheduling is measured after WARM trips.

Two things are idealised: instruction fetch always hits, and every access to memory has the same latency.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from imbrex.build.amd.hot_loop.bound import Conflicts, transfer_clocks
from imbrex.build.amd.hot_loop.kind import Unit, unit_of
from imbrex.build.amd.hot_loop.rates import TURN, matrix_clocks, modelled, rates_of, vector_clocks
from imbrex.build.amd.hot_loop.text import Inst
from imbrex.chip import GpuMachine

__all__ = ["simulated_busy"]

WARM, MEASURED = 4, 8
MOST_TURNS = 1 << 20
PATHS = ("matrix", "port", "lds", "vmem")


@dataclass(frozen=True)
class _Step:
    """An instruction with what its issue costs.  held: clocks of its unit.  port: of the vector port."""

    unit: Unit
    held: float = 0.0
    port: int = 0
    vm: int | None = None
    lgkm: int | None = None
    count: int = 0


@dataclass
class _Wave:
    group: int
    ready: int
    at: int = 0
    trips: int = 0
    priority: int = 0
    vm: deque[float] = field(default_factory=deque[float])
    lgkm: deque[float] = field(default_factory=deque[float])
    is_at_barrier: bool = False


def simulated_busy(
    loop: Sequence[Inst], chip: str, waves: int, conflicts: Conflicts, waves_of_group: int = 1
) -> float:
    """The part of the time that the matrix pipe of one SIMD is busy.

    waves: of one SIMD.  waves_of_group: of those, how many belong to one workgroup.
    """
    gpu = modelled(chip)
    steps = [_step(inst, gpu, conflicts) for inst in loop]
    matrix = sum(s.held for s in steps if s.unit == "matrix")
    groups = max(1, waves // waves_of_group)
    spread = int(matrix * waves / TURN / groups)
    members = [i // waves_of_group for i in range(groups * waves_of_group)]
    running = [_Wave(group, group * spread) for group in members]
    return _Simd(steps, gpu, running).run() if matrix else 0.0


@dataclass
class _Simd:
    """Times are clocks, but `ready` and the counter of `run`, which are turns."""

    steps: Sequence[_Step]
    gpu: GpuMachine
    waves: list[_Wave]
    free: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PATHS, 0.0))
    busy: float = 0.0

    def run(self) -> float:
        first = self.waves[0]
        begun = (0, 0.0)
        for turn in range(MOST_TURNS):
            used: set[str] = set()
            for wave in sorted(self.waves, key=lambda w: (-w.priority, w.ready)):
                before = first.trips
                if wave.ready <= turn:
                    self._try(wave, turn, used)
                if first.trips != before and first.trips == WARM:
                    begun = (turn, self.busy)
                if first.trips == WARM + MEASURED:
                    return (self.busy - begun[1]) / (TURN * (turn - begun[0]))
        raise AssertionError("the loop does not come round: a barrier or a wait that nothing releases")

    def _try(self, wave: _Wave, turn: int, used: set[str]) -> None:
        """Issue the wave's next instruction in this turn if everything that it needs is there."""
        step, now, rates = self.steps[wave.at], float(TURN * turn), rates_of(self.gpu)
        unit = "valu" if step.unit == "matrix" else step.unit
        if unit in used or not self._may_issue(wave, step, now):
            return
        if step.unit == "barrier" and not self._arrived(wave):
            return
        used.add(unit)
        match step.unit:
            case "matrix":
                self.free["matrix"], self.free["port"] = now + step.held, now + step.port
                self.busy += step.held
            case "valu":
                self.free["port"] = now + step.port
            case "lds":
                wave.lgkm.append(self._moved("lds", step, now) + rates.lds_latency)
            case "vmem":
                wave.vm.append(self._moved("vmem", step, now) + rates.memory_latency)
            case "smem":
                wave.lgkm.append(now + rates.lds_latency)
            case "other":
                wave.priority = step.count if step.held else wave.priority
            case "wait" | "barrier" | "branch" | "salu":
                pass
        self._advance(wave, turn, 1 + (step.count if step.unit == "other" and not step.held else 0))

    def _may_issue(self, wave: _Wave, step: _Step, now: float) -> bool:
        for results in (wave.vm, wave.lgkm):
            while results and results[0] <= now:
                results.popleft()
        match step.unit:
            case "matrix":
                return self.free["matrix"] <= now and self.free["port"] <= now
            case "valu":
                return self.free["port"] <= now
            case "lds" | "smem":
                return len(wave.lgkm) < 15
            case "vmem":
                return len(wave.vm) < 63
            case "wait":
                vm_left = step.vm is None or len(wave.vm) <= step.vm
                return vm_left and (step.lgkm is None or len(wave.lgkm) <= step.lgkm)
            case "barrier" | "branch" | "salu" | "other":
                return True

    def _moved(self, path: str, step: _Step, now: float) -> float:
        """When the path has served this access and those before it."""
        self.free[path] = max(self.free[path], now) + self.gpu.simds * step.held
        return self.free[path]

    def _arrived(self, wave: _Wave) -> bool:
        """Has the whole workgroup come to the barrier?  The last one to come lets all of them go."""
        wave.is_at_barrier = True
        group = [w for w in self.waves if w.group == wave.group]
        if not all(w.is_at_barrier for w in group):
            return False
        for other in group:
            other.is_at_barrier = False
            if other is not wave:
                self._advance(other, other.ready, 1)
        return True

    def _advance(self, wave: _Wave, turn: int, turns: int) -> None:
        wave.ready = turn + turns
        wave.at += 1
        if wave.at == len(self.steps):
            wave.at, wave.trips = 0, wave.trips + 1


def _step(inst: Inst, gpu: GpuMachine, conflicts: Conflicts) -> _Step:
    match unit := unit_of(inst):
        case "matrix":
            clocks, is_exclusive = matrix_clocks(inst, gpu)
            return _Step(unit, clocks, clocks if is_exclusive else rates_of(gpu).shadow)
        case "valu":
            return _Step(unit, port=vector_clocks(inst))
        case "lds" | "vmem":
            return _Step(unit, transfer_clocks(inst, gpu, conflicts))
        case "wait":
            limits = dict(word.rstrip(")").split("(") for word in inst.modifiers if "(" in word)
            return _Step(unit, vm=_limit(limits.get("vmcnt")), lgkm=_limit(limits.get("lgkmcnt")))
        case "other":
            number = int(inst.operands[0], 0) if inst.operands and inst.operands[0].isdigit() else 0
            return _Step(unit, held=float(inst.name == "s_setprio"), count=number)
        case "salu" | "smem" | "barrier" | "branch":
            return _Step(unit)


def _limit(text: str | None) -> int | None:
    return None if text is None else int(text)
