"""Tuner: many problems tuned, one session each, on every device that is given.

    the heaviest first: each has an equal share of the time that is left, what it leaves goes to the others

Law: what a session measured is kept when the next one begins; Ctrl-C, or the end of the budget, ends with
what there is, and the same command goes on from there.  A problem whose host is lost goes to another one.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from imbrex.bench.peer import one_blas_thread
from imbrex.build.cache.location import cache_directory
from imbrex.config.candidates import Candidates, candidates
from imbrex.config.configuration import Configuration, parse
from imbrex.config.proposal import fitted as fitted_to
from imbrex.database import Database, Unit, device_of, threads_of
from imbrex.database.lookup import advice
from imbrex.database.record import Parameters
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target
from imbrex.kernel.tuned import Effort
from imbrex.pipeline import Request, calibrated, machine_on
from imbrex.problem import Problem, problem_text
from imbrex.problem.run_time import expect_fixed
from imbrex.run.host_machine import HostMachine, host_machine
from imbrex.tuner.outcome import Limits, Step, Tuned
from imbrex.tuner.pool import Builders, Host, Lost, Timer
from imbrex.tuner.session import Session
from imbrex.tuner.stopwatch import is_cold
from imbrex.tuner.task import Here, Work

__all__ = ["Left", "Plan", "Refused", "Tuner", "expect_timed", "weighted"]

TRIALS: Final[Mapping[Effort, int | None]] = {"quick": 8, "normal": 50, "full": None}
"""Trials of a problem; None for all candidates."""
ENDLESS: Final = float("inf")
GO_ON: Final = "what was measured is kept; the same command goes on from there"


@dataclass(frozen=True)
class Plan:
    """What to tune, and how much it may take.  budget_s: of everything together.

    trials: of each problem, instead of those of an effort.  devices: numbers of GPUs; none: the first one.
    jobs: processes that compile.
    """

    problems: Mapping[Problem, int]
    target: Target
    threads: int
    effort: Effort = "normal"
    trials: int | None = None
    budget_s: float | None = None
    devices: tuple[int, ...] = ()
    jobs: int = 1

    def __post_init__(self) -> None:
        if self.devices and self.target.is_native:
            message = f"'devices' are GPUs by number, and kernels of {self.target} are timed on none"
            raise Diagnostic(message, hint="leave 'devices' out")
        for problem in self.problems:
            expect_fixed(problem.run_time, "tuning")

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


def expect_timed(target: Target) -> None:
    """A Diagnostic where what is built for a target has no time of its own."""
    if target.is_executed:
        message = "an emulator of instructions has no times that a tuning could compare"
        raise Diagnostic(message, hint=f"leave --emulate out, on a machine with a {target.chip}")


@dataclass
class Tuner:
    """`Tuner(...).run()`: all problems of a plan.

    database: opens it, for each device's thread.  report: what goes on, with the problem and its weight.
    finished: what came of one.  waiting: another tuning times on the device.  hosts: none: this one, with the
    plan's devices.
    """

    plan: Plan
    database: Callable[[], Database]
    report: Callable[[Unit, int, Step], None]
    finished: Callable[[Tuned | Refused, int], None]
    waiting: Callable[[], None] = lambda: None
    hosts: Sequence[Host] = ()

    def run(self) -> list[Tuned | Refused]:
        """What came of each problem, in the order in which they ended."""
        expect_timed(self.plan.target)
        began = time.monotonic()
        until = ENDLESS if self.plan.budget_s is None else began + self.plan.budget_s
        ordered = sorted(self.plan.problems, key=lambda p: -p.flops * self.plan.problems[p])
        left = Left(ordered)
        self._found: list[Tuned | Refused] = []
        self._errors: list[BaseException] = []
        self._lost: list[Lost] = []
        self._ends = threading.Event()
        self._over = 0
        hosts = self.hosts or (_this_host(self.plan),)
        self._lanes = sum(len(host.devices) for host in hosts)
        with ExitStack() as stack:
            stack.enter_context(one_blas_thread())
            lanes: list[threading.Thread] = []
            for host in hosts:
                builders = stack.enter_context(Builders(host.jobs, host.builder))
                lanes += [
                    threading.Thread(target=self._lane, args=(host, device, left, builders, until))
                    for device in host.devices
                ]
            for lane in lanes:
                lane.start()
            try:
                for lane in lanes:
                    lane.join()
            except KeyboardInterrupt:
                self._ends.set()
                while self._over < len(lanes):  # an interrupted join takes a thread to have ended
                    time.sleep(0.05)
                raise
        if self._errors:
            raise self._errors[0]
        if len(self._lost) == self._lanes:
            raise Diagnostic(f"every host is lost, the first one because {self._lost[0]}", hint=GO_ON)
        return self._found

    def _lane(self, host: Host, device: int | None, left: Left, builders: Builders, until: float) -> None:
        """Problems, one after the other, on one device."""
        try:
            lock = None if host.here is None else lock_of(f"{host.here.device.key} {device or 0}")
            with Timer(lock, self.waiting, host.timer) as timer, self.database() as database:
                here = host.here or timer.identify(self.plan.target)
                lane = _Lane(device, here, builders, timer, database)
                while not self._ends.is_set() and time.monotonic() < until:
                    with left.next() as problem:
                        if problem is None:
                            return
                        share = (until - time.monotonic()) / max(1, -(-(len(left) + 1) // self._lanes))
                        end = ENDLESS if until == ENDLESS else time.monotonic() + share
                        self._session(problem, lane, end)
        except Lost as lost:
            self._lost.append(lost)
        except BaseException as error:
            self._errors.append(error)
        finally:
            self._over += 1

    def _session(self, problem: Problem, lane: _Lane, until: float) -> None:
        here, database = lane.here, lane.database
        plan, weight = self.plan, self.plan.problems[problem]
        threads = threads_of(plan.target, plan.threads)
        unit = Unit(problem_text(problem), str(plan.target), here.device, threads)
        try:
            known = database.calibration(unit.target, unit.device)
            fitted = () if known is None else known.parameters
            found = candidates(request_of(problem, plan.target, plan.threads, here.machine, fitted))
        except Diagnostic as reason:
            self._ended(Refused(problem, reason), weight)
            return
        work = Work(unit.problem, plan.target, plan.threads, lane.device)
        seeds = _seeds(database, unit, plan.target, found)
        session = Session(
            unit, work, found, seeds, Limits(plan.wanted, until, self._ends), lane.builders, lane.timer,
            database, uuid.uuid4().hex[:12], lambda step: self.report(unit, weight, step), here.is_cold,
        )  # fmt: skip
        self._ended(session.run(), weight)

    def _ended(self, outcome: Tuned | Refused, weight: int) -> None:
        self._found.append(outcome)
        self.finished(outcome, weight)


class _Lane(NamedTuple):
    """A device, and who builds for it, times on it and keeps what it says."""

    device: int | None
    here: Here
    builders: Builders
    timer: Timer
    database: Database


class Left:
    """Problems that are left, for several lanes: one whose lane ends in `Lost` goes to another one."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._left = deque(problems)
        self._at_work = 0
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._left)

    @contextmanager
    def next(self) -> Generator[Problem | None]:
        """The next one; None where there is none, and no other lane may still give one back."""
        with self._changed:
            while not self._left and self._at_work:
                self._changed.wait()
            problem = self._left.popleft() if self._left else None
            self._at_work += 1
        try:
            yield problem
        except Lost:
            if problem is not None:
                self._left.appendleft(problem)
            raise
        finally:
            with self._changed:
                self._at_work -= 1
                self._changed.notify_all()


def _this_host(plan: Plan) -> Host:
    return Host(plan.jobs, plan.devices or (None,), here=here_of(plan.target))


def here_of(target: Target) -> Here:
    """What a target's kernels run on in this machine, as a timer of its own would say it."""
    return Here(device_of(target), host_machine(), is_cold(target))


def request_of(
    problem: Problem, target: Target, threads: int, here: HostMachine, fitted: Parameters = ()
) -> Request:
    """What the compiler is asked for, on a machine, where nothing is chosen yet.  fitted: its calibration."""
    where = machine_on(here, target.chip or target.kind, threads)
    return Request(problem, calibrated(where, fitted), target.source)


def _seeds(database: Database, unit: Unit, target: Target, found: Candidates) -> list[str]:
    """Configurations that won before; else what suits of those that won for problems nearby."""
    best = database.best(unit)
    if best is not None:
        return [str(parse(best.configuration))]
    advised = advice(unit.problem, target, unit.threads)
    proposals = dict[Configuration, None]()
    for near in () if advised is None else advised.near:
        with suppress(Diagnostic):  # of a version that has no such configuration
            proposals[parse(near.winner.configuration)] = None
    return [str(of) for of in fitted_to(proposals, found.ranked).values()]


def lock_of(device: str) -> Path:
    folder = cache_directory() / "tuning"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{sha256(device.encode()).hexdigest()[:16]}.lock"
