"""Tuner: many problems tuned, one session each, on every device that is given.

    the heaviest first: each has an equal share of the time that is left, what it leaves goes to the others

Law: what a session measured is kept when the next one begins; Ctrl-C, or the end of the budget, ends with
what there is, and the same command goes on from there.
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from imbrex.build.cache.location import cache_directory
from imbrex.config.candidates import candidates
from imbrex.config.configuration import parse
from imbrex.database import Database, Unit, device_of, threads_of
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Goal
from imbrex.pipeline import Request, machine_for
from imbrex.problem import Problem, problem_text
from imbrex.run.isolated import Isolated
from imbrex.run.machine import machine
from imbrex.tuner.pool import Builders, Start, Timer
from imbrex.tuner.session import Limits, Session, Step, Tuned
from imbrex.tuner.task import Work

__all__ = ["EFFORTS", "Effort", "Plan", "Refused", "Tuner", "builders_of", "expect_timed", "weighted"]

Effort: TypeAlias = Literal["quick", "normal", "full"]
TRIALS: Final[Mapping[Effort, int | None]] = {"quick": 8, "normal": 50, "full": None}
"""Trials of a problem; None for all candidates."""
EFFORTS: Final = get_args(Effort)
ENDLESS: Final = float("inf")


@dataclass(frozen=True)
class Plan:
    """What to tune, and how much it may take.  budget_s: of everything together.

    trials: of each problem, instead of those of an effort.  devices: numbers of GPUs; none: the first one.
    jobs: processes that compile.
    """

    problems: Mapping[Problem, int]
    goal: Goal
    threads: int
    effort: Effort = "normal"
    trials: int | None = None
    budget_s: float | None = None
    devices: tuple[int, ...] = ()
    jobs: int = 1

    @property
    def wanted(self) -> int | None:
        """Trials of a problem; None for all candidates."""
        return TRIALS[self.effort] if self.trials is None else self.trials


@dataclass(frozen=True)
class Refused:
    """A problem that cannot be tuned, and why."""

    problem: Problem
    reason: Diagnostic


def weighted(problems: Sequence[Problem]) -> dict[Problem, int]:
    """Each problem once, with how often it was asked for."""
    found: dict[Problem, int] = {}
    for problem in problems:
        found[problem] = found.get(problem, 0) + 1
    return found


def builders_of(goal: Goal) -> int:
    """Processes that compile, where nobody says how many: one is left for the GPU's host."""
    cores = machine().cores
    return max(1, min(16, cores if goal.is_native else cores - 1))


def expect_timed(goal: Goal) -> None:
    """A Diagnostic where what is built for a goal has no time of its own."""
    if goal.is_executed:
        told = "an emulator of instructions has no times that a tuning could compare"
        raise Diagnostic(told, hint=f"leave --emulate out, on a machine with a {goal.chip}")


@dataclass
class Tuner:
    """`Tuner(...).run()`: all problems of a plan.

    database: opens it, for each device's thread.  told: what goes on, with the problem and its weight.
    finished: what came of one.  waiting: another tuning times on the device.  start: what makes a process
    for builds and times, `Isolated` on this host.
    """

    plan: Plan
    database: Callable[[], Database]
    told: Callable[[Unit, int, Step], None]
    finished: Callable[[Tuned | Refused, int], None]
    waiting: Callable[[], None] = lambda: None
    start: Start = Isolated

    def run(self) -> list[Tuned | Refused]:
        """What came of each problem, in the order in which they ended."""
        expect_timed(self.plan.goal)
        began = time.monotonic()
        until = ENDLESS if self.plan.budget_s is None else began + self.plan.budget_s
        ordered = sorted(self.plan.problems, key=lambda p: -p.flops * self.plan.problems[p])
        left: queue.SimpleQueue[Problem] = queue.SimpleQueue()
        for problem in ordered:
            left.put(problem)
        self._found: list[Tuned | Refused] = []
        self._errors: list[BaseException] = []
        self._ends = threading.Event()
        devices: Sequence[int | None] = self.plan.devices or (None,)
        with ExitStack() as stack:
            builders = stack.enter_context(Builders(self.plan.jobs, self.start))
            lanes = [
                threading.Thread(target=self._lane, args=(number, device, left, builders, until))
                for number, device in enumerate(devices)
            ]
            for lane in lanes:
                lane.start()
            try:
                for lane in lanes:
                    lane.join()
            except KeyboardInterrupt:
                self._ends.set()
                raise
        if self._errors:
            raise self._errors[0]
        return self._found

    def _lane(
        self,
        number: int,
        device: int | None,
        left: queue.SimpleQueue[Problem],
        builders: Builders,
        until: float,
    ) -> None:
        """Problems, one after the other, on one device."""
        plan = self.plan
        try:
            here = device_of(plan.goal)
            lock = _lock_of(f"{here.key} {device or 0}")
            with Timer(lock, self.waiting, self.start) as timer, self.database() as database:
                while not self._ends.is_set() and time.monotonic() < until:
                    try:
                        problem = left.get_nowait()
                    except queue.Empty:
                        return
                    share = (until - time.monotonic()) / max(1, -(-(left.qsize() + 1) // self._lanes))
                    end = ENDLESS if until == ENDLESS else time.monotonic() + share
                    self._session(problem, device, builders, timer, database, end)
        except BaseException as error:
            self._errors.append(error)

    @property
    def _lanes(self) -> int:
        return max(1, len(self.plan.devices))

    def _session(
        self,
        problem: Problem,
        device: int | None,
        builders: Builders,
        timer: Timer,
        database: Database,
        until: float,
    ) -> None:
        plan, weight = self.plan, self.plan.problems[problem]
        unit = Unit(
            problem_text(problem), str(plan.goal), device_of(plan.goal), threads_of(plan.goal, plan.threads)
        )
        try:
            found = candidates(request_of(problem, plan.goal, plan.threads))
        except Diagnostic as reason:
            self._ended(Refused(problem, reason), weight)
            return
        work = Work(unit.problem, plan.goal, plan.threads, device)
        seeds = _seeds(database, unit)
        session = Session(
            unit, work, found, seeds, Limits(plan.wanted, until, self._ends), builders, timer, database,
            uuid.uuid4().hex[:12], lambda step: self.told(unit, weight, step),
        )  # fmt: skip
        self._ended(session.run(), weight)

    def _ended(self, outcome: Tuned | Refused, weight: int) -> None:
        self._found.append(outcome)
        self.finished(outcome, weight)


def request_of(problem: Problem, goal: Goal, threads: int) -> Request:
    """What the compiler is asked for where nothing is chosen yet."""
    here = machine()
    where = goal.chip or goal.target
    return Request(
        problem,
        machine_for(
            where, here.isa.level, threads, here.l2_bytes, here.l3_bytes, here.isa.fma_per_cycle
        ),
        goal.source,
    )  # fmt: skip


def _seeds(database: Database, unit: Unit) -> list[str]:
    """Configurations that won before."""
    best = database.best(unit)
    return [] if best is None else [str(parse(best.configuration))]


def _lock_of(device: str) -> Path:
    folder = cache_directory() / "tuning"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{sha256(device.encode()).hexdigest()[:16]}.lock"
