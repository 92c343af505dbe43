"""Calibration: parameters of a target's model, fitted to times on this machine, judged, and kept.

    caches measured -> configurations of samples timed, at last in turn -> fit -> regret of unseen problems

Laws: trials are kept as they are made, so that what was interrupted goes on; parameters are kept at the end,
all or none, and only where the picks for problems that were left out of the fit get faster.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import fmean
from threading import Event
from typing import Final

import numpy as np

from imbrex.bench.caches import cache_sizes
from imbrex.bench.peer import one_blas_thread
from imbrex.chip import SIZES, CpuMachine, Machine, Parameter, parameters, with_parameters
from imbrex.config.candidates import Candidates, candidates
from imbrex.config.modelled import modelled
from imbrex.config.request import Request
from imbrex.database import Calibration, Database, Unit, threads_of
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target
from imbrex.pipeline import machine_on
from imbrex.problem import parse_problem, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.tuner.campaign import expect_timed, here_of, lock_of
from imbrex.tuner.fit import Series, fitted, held_out, regret
from imbrex.tuner.outcome import Limits, Step
from imbrex.tuner.pool import Builders, Timer
from imbrex.tuner.samples import LOOKED_AT, problems_for, spread
from imbrex.tuner.session import Session
from imbrex.tuner.task import Here, Work

__all__ = ["Calibrated", "Judged", "calibrate"]

FEWEST: Final = 6
"""Times of a problem, and problems, that a fit needs."""
ROUNDS: Final = (FEWEST, 12, 24)
"""Configurations of each problem after each round over all of them."""
IN_TURN: Final = 0.15
"""The part of the time that is left for times in turn."""
LEAST_GAIN: Final = 0.002
"""How far the mean regret of problems that were left out has to fall."""


@dataclass(frozen=True)
class Judged:
    """A problem that was left out of a fit.  before, after: regret of the pick with the defaults, and with
    what was fitted to others.
    """

    problem: str
    before: float
    after: float


@dataclass(frozen=True)
class Calibrated:
    """What came of a calibration.  values: a parameter and what was fitted; sizes: a cache's name, what the
    system reports and what was measured.  times: that were fitted to.  is_kept: did the regret fall?
    """

    device: str
    values: tuple[tuple[Parameter, float], ...]
    sizes: tuple[tuple[str, int, int], ...]
    judged: tuple[Judged, ...]
    times: int
    is_kept: bool

    @property
    def before(self) -> float:
        """Mean regret with the defaults."""
        return fmean(one.before for one in self.judged)

    @property
    def after(self) -> float:
        """Mean regret with what was fitted to other problems."""
        return fmean(one.after for one in self.judged)


def calibrate(
    target: Target,
    budget_s: float,
    jobs: int,
    database: Callable[[], Database],
    report: Callable[[str, Step], None],
    waiting: Callable[[], None],
) -> Calibrated:
    """Measures, fits, judges, and keeps what is better; a Diagnostic where there is nothing to fit to, or too
    little time.
    """
    expect_timed(target)
    plain = machine_on(host_machine(), target.chip or target.kind, 1)
    if not parameters(plain) or target.is_emulated or not target.runs_here:
        raise Diagnostic(f"the models of {target} have no parameters that could be fitted")
    here, until = here_of(target), time.monotonic() + budget_s
    sizes = cache_sizes(here.machine) if isinstance(plain, CpuMachine) else {}
    with ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        builders = stack.enter_context(Builders(jobs))
        timer = stack.enter_context(Timer(lock_of(f"{here.device.key} 0"), waiting))
        db = stack.enter_context(database())
        begins = _Begins(target, here, until - IN_TURN * budget_s, builders, timer, db, report)
        timed = [_Timed(text, plain, begins) for text in problems_for(plain)]
        for most in ROUNDS:
            for one in timed:
                one.measure(most)
        for one in timed:
            one.measure_in_turn()
        found = _judged(here, plain, with_parameters(plain, sizes.items()), timed)
        if found.is_kept:
            values = [(p.name, value) for p, value in found.values]
            values += [(name, float(size)) for name, size in sizes.items()]
            facts = (found.before, found.after, found.times, uuid.uuid4().hex[:12])
            kept = Calibration(tuple(values), *facts)
            db.calibrate(str(target), here.device, kept)
    return found


@dataclass(frozen=True)
class _Begins:
    """What the sessions of all problems have in common.  until: the end of trials."""

    target: Target
    here: Here
    until: float
    builders: Builders
    timer: Timer
    database: Database
    report: Callable[[str, Step], None]

    def session(self, problem: str, found: Candidates) -> Session:
        """A problem's."""
        unit = Unit(problem, str(self.target), self.here.device, threads_of(self.target, 1))
        return Session(
            unit, Work(problem, self.target, 1), found, (), Limits(None, self.until, Event()), self.builders,
            self.timer, self.database, uuid.uuid4().hex[:12],
            lambda step: self.report(problem, step), self.here.is_cold,
        )  # fmt: skip


class _Timed:
    """A problem and the times of its configurations, by their places in the model's order."""

    def __init__(self, text: str, machine: Machine, begins: _Begins) -> None:
        (problem,) = parse_problem(text)
        self.problem, self.begins = problem_text(problem), begins
        self.request = Request(problem, machine, begins.target.source)
        self.times: Mapping[int, float] = {}
        self._found: Candidates | None = None
        self._session: Session | None = None
        self._order: list[int] = []

    def measure(self, most: int) -> None:
        """Times so many of its configurations, as far as there is time, and they were not timed before."""
        if time.monotonic() >= self.begins.until:
            return
        found = self._found = self._found or candidates(self.request)
        self._order = self._order or spread(found.ranked, self.request, LOOKED_AT)
        self._session = self._session or self.begins.session(self.problem, found)
        self.times = self._session.timed([i for i in self._order[:most] if i not in self.times])

    def measure_in_turn(self) -> None:
        """Times all of them again, in turn, if they are enough for a fit."""
        if self._session is not None and len(self.times) >= FEWEST:
            self.times = self._session.timed_in_turn()

    @property
    def series(self) -> Series:
        """What a fit takes."""
        assert self._found is not None
        chosen = [self._found.ranked[index].configuration for index in self.times]
        return Series(np.log([*self.times.values()]), modelled(self.request, chosen))


def _judged(here: Here, plain: Machine, sized: Machine, timed: Sequence[_Timed]) -> Calibrated:
    enough = [one for one in timed if len(one.times) >= FEWEST]
    if len(enough) < FEWEST:
        message = f"a calibration needs times of {FEWEST} problems, and has those of {len(enough)}"
        raise Diagnostic(message, hint="what was measured is kept; the same command, with more time, goes on")
    found = [one.series for one in enough]
    after = held_out(found, sized)
    judged = tuple(
        Judged(one.problem, regret(series, plain), left_out)
        for one, series, left_out in zip(enough, found, after, strict=True)
    )
    there = {p.name: p.default for p in parameters(fitted(found, sized))}
    sizes = [(name, getattr(plain, name), getattr(sized, name)) for name in SIZES if hasattr(plain, name)]
    gained = fmean(one.before - one.after for one in judged)
    return Calibrated(
        here.device.name,
        tuple((p, there[p.name]) for p in parameters(plain)),
        tuple(sizes),
        judged,
        sum(len(one.times) for one in enough),
        gained >= LEAST_GAIN,
    )
