"""Session: one unit tuned: candidates built, checked, timed, raced, and a duel at the end.

    the model's pick, seeds, what the search proposes -> built side by side -> checked and timed alone
    -> the best again, in turn -> a duel of the finalists with the pick -> a verdict

On a CPU nothing is built while something is timed; a GPU is timed while the CPU builds.

Laws: every trial is in the database before the next one begins, so that what ends a session takes away
nothing.  A trial of an earlier session counts if its source and compiler are the same.  A candidate takes
the pick's place only where the duel proves a gain, and after every check that there is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import numpy as np

from imbrex.config.candidates import Candidates
from imbrex.database import Database, Status, Trial, Unit, Verdict
from imbrex.database.record import now
from imbrex.run.isolated import Failed
from imbrex.tuner.duel import FEWEST_PAIRS, duels, pairs_needed, undisturbed, winner
from imbrex.tuner.features import Floats, features
from imbrex.tuner.outcome import Limits, Step, Tried, Tuned
from imbrex.tuner.pool import Builders, Timer
from imbrex.tuner.search import UNLIKELY, Search
from imbrex.tuner.task import Build, Built, Contest, Contested, Probe, Probed, Proof, Work

__all__ = ["Session"]

FINALISTS: Final = 6
RACED: Final = 4
RACE_EVERY: Final = 8
RACE_BLOCKS: Final = 5
ENDED: Final = frozenset[Status]({"timeout", "crashed"})
STRIKES: Final = 2
"""Sessions in which a configuration's process ended before it is not tried again: the machine may have ended
one of them, where memory was short.
"""
LOOK_S: Final = 0.1
"""Seconds after which who waits for compilers looks whether the session is to end."""
LEAST_S: Final = 20.0
MOST_S: Final = 120.0
"""Seconds until a process that times is taken to hang, at least and at most."""


@dataclass
class Session:
    """`Session(...).run()`: one unit, from its candidates to a verdict.  is_cold: do times defeat caches?"""

    unit: Unit
    work: Work
    found: Candidates
    seeds: Sequence[str]
    limits: Limits
    builders: Builders
    timer: Timer
    database: Database
    name: str
    report: Callable[[Step], None]
    is_cold: bool = True
    _times: dict[int, float] = field(default_factory=dict[int, float])
    _tried: dict[int, Tried] = field(default_factory=dict[int, Tried])
    _sources: dict[int, Built] = field(default_factory=dict[int, Built])
    _build_s: float = 0.0
    _began: float = field(default_factory=time.monotonic)
    _fresh: int = 0

    def __post_init__(self) -> None:
        self._texts = [str(one.configuration) for one in self.found.ranked]
        indices = {text: index for index, text in enumerate(self._texts)}
        seeds = [indices[text] for text in self.seeds if text in indices]
        ranked = self.found.ranked
        until = UNLIKELY if self.limits.trials is not None else 0.0
        self._search = Search(ranked, features(ranked), seeds=seeds, until=until)
        before = self.database.trials(self.unit)
        self._known = {trial.configuration: trial for trial in reversed(before)}
        self._ended = Counter(trial.configuration for trial in before if trial.status in ENDED)
        most = len(self._texts) if self.limits.trials is None else self.limits.trials
        self._wanted = min(most, len(self._texts))

    def timed(self, indices: Sequence[int]) -> Mapping[int, float]:
        """Nanoseconds of these candidates, of which those fail that are not among them; nothing is raced or
        judged.
        """
        left = list(indices)
        self._wanted = len(left)

        def proposed(count: int) -> list[int]:
            found = left[:count]
            del left[:count]
            return found

        for index, built in self._builds(proposed):
            self._try(index, built)
            self._tell("calibrating")
        return self._times

    def timed_in_turn(self) -> Mapping[int, float]:
        """Nanoseconds of all that have a time, from blocks in which each has its turn: minutes lie between
        their trials, in which the machine may have changed.
        """
        if len(self._times) > 1:
            self._race(sorted(self._times))
        return self._times

    def run(self) -> Tuned:
        """Tries candidates until the limits, or until little can be gained; judges, unless interrupted."""
        since = 0
        for index, built in self._builds(self._search.propose):
            self._try(index, built)
            since += 1
            if since >= RACE_EVERY and len(self._times) >= 2 and not self._is_over:
                since = 0
                self._race(self._search.finalists(RACED))
            self._tell("searching")
        before = self.database.best(self.unit)
        if before is not None and not self._fresh and before.configuration in self._texts:
            said = Verdict(before.configuration, self._texts[0], before.gain, before.gain, before.gain, 0)
            return self._tuned(said)
        verdict = None if self.limits.ends.is_set() else self._judged()
        return self._tuned(verdict)

    @property
    def _is_over(self) -> bool:
        return self.limits.ends.is_set() or time.monotonic() >= self.limits.until

    def _builds(self, propose: Callable[[int], list[int]]) -> Iterator[tuple[int, Built | Failed]]:
        """What is proposed, as it is built.  Where the CPU is timed, none is being built meanwhile."""
        waiting: dict[Future[Any], int] = {}
        proposed, is_out = 0, False
        ahead = self.builders.count * (1 if self.work.target.is_native else 2)
        while True:
            free = ahead - len(waiting) if not (waiting and self.work.target.is_native) else 0
            free = min(free, self._wanted - proposed)
            if free > 0 and not is_out and not self._is_over:
                indices = propose(free)
                is_out = not indices
                proposed += len(indices)
                for index in indices:
                    task = Build(self.work, self._texts[index])
                    waiting[self.builders.submit(task)] = index
            if not waiting:
                return
            everything = self.work.target.is_native
            if everything or not self._tried:
                self._tell(f"compiling {len(waiting)}")
            done = self._done(waiting, ALL_COMPLETED if everything else FIRST_COMPLETED)
            if not done:
                return
            for future in [f for f in waiting if f in done]:
                yield waiting.pop(future), future.result()

    def _done(self, waiting: Mapping[Future[Any], int], when: str) -> set[Future[Any]]:
        """Builds that are done; none where the session is to end meanwhile."""
        while not self.limits.ends.is_set():
            done, left = wait(waiting, LOOK_S, when)
            if done and (when == FIRST_COMPLETED or not left):
                return done
        return set()

    def _try(self, index: int, built: Built | Failed) -> None:
        """Times a candidate, unless that was done, and keeps what came of it."""
        if isinstance(built, Failed):
            self._keep(index, self._trial(index, _status(built), note=built.message))
            return
        self._build_s += built.seconds
        self._sources[index] = built
        before = self._known.get(self._texts[index])
        if before is not None and self._is_same(before, built):
            self._learn(index, before)
            return
        hopeless = self._search.hopeless_ns
        found = self.timer.probe(Probe(self.work, self._texts[index], hopeless), self._patience(hopeless))
        if isinstance(found, Failed):
            self._keep(index, self._trial(index, _status(found), note=found.message))
        elif found.wrong is not None:
            self._keep(index, self._trial(index, "wrong", note=found.wrong))
        else:
            self._keep(index, self._timed(index, found))

    def _is_same(self, before: Trial, built: Built) -> bool:
        """Is a trial of an earlier session of this code, and timed as now, and would it be so again?"""
        if before.status in ENDED and self._ended[before.configuration] < STRIKES:
            return False
        is_timed_so = before.status != "ok" or before.is_cold == self.is_cold
        return is_timed_so and (before.source, before.compiler) == (built.source, built.compiler)

    def _timed(self, index: int, found: Probed) -> Trial:
        samples = found.samples_ns
        middle = median(samples)
        spread = median(abs(sample - middle) for sample in samples)
        return self._trial(index, "ok", middle, spread, len(samples))

    def _trial(
        self,
        index: int,
        status: Status,
        median_ns: float | None = None,
        spread_ns: float | None = None,
        samples: int = 0,
        note: str = "",
    ) -> Trial:
        built = self._sources.get(index, Built("", "", 0.0))
        return Trial(
            self._texts[index], status, median_ns, spread_ns, samples, built.source, built.compiler,
            note, self.name, now(), self.is_cold,
        )  # fmt: skip

    def _keep(self, index: int, trial: Trial) -> None:
        if trial.status != "ok" and self.limits.ends.is_set():
            return  # what an interrupt may have ended says nothing of its configuration
        self._fresh += index not in self._tried
        self.database.record(self.unit, trial)
        self._learn(index, trial)

    def _learn(self, index: int, trial: Trial) -> None:
        ns = trial.median_ns if trial.status == "ok" else None
        seconds = time.monotonic() - self._began
        self._tried[index] = Tried(index, trial.status, ns, trial.note, seconds)
        if trial.status == "ok" and trial.median_ns is not None:
            self._times[index] = trial.median_ns
            self._search.tell(index, trial.median_ns)
        else:
            self._search.tell(index, None)

    def _race(self, indices: Sequence[int]) -> None:
        """Times candidates again, in turn: a time that was too good by luck is found out."""
        indices, times = self._contested(indices, RACE_BLOCKS)
        for index, column in zip(indices, times.T, strict=True):
            self._times[index] = float(np.median(column))
            self._search.tell(index, self._times[index])

    def _contested(self, indices: Sequence[int], blocks: int) -> tuple[Sequence[int], Floats]:
        """Candidates that stay to the end, and their times in the blocks that count, one column each.

        A candidate that breaks the process is dropped, and the others begin anew.  No places where nobody
        can be found who does.
        """
        while indices:
            found = self._timed_in_turn(indices, blocks)
            if isinstance(found, Contested):
                times = np.array(found.blocks_ns).reshape(-1, len(indices))
                kept = undisturbed(times, np.array(found.disturbed, dtype=np.bool_))
                return indices, kept if len(kept) else times
            staying = [index for index in indices if self._stays(index, blocks)]
            if len(staying) == len(indices):
                break
            indices = staying
        return [], np.empty((0, 0))

    def _stays(self, index: int, blocks: int) -> bool:
        """Is it timed to the end, alone?  Else it is dropped: what went wrong is kept, and it has no time."""
        found = self._timed_in_turn([index], blocks)
        if isinstance(found, Contested):
            return True
        self._drop(index, found)
        return False

    def _timed_in_turn(self, indices: Sequence[int], blocks: int) -> Contested | Failed:
        task = Contest(self.work, tuple(self._texts[index] for index in indices), blocks)
        slowest = max(self._times[index] for index in indices)
        return self.timer.contest(task, self._patience(slowest * blocks * len(indices)))

    def _duel(self, indices: Sequence[int]) -> tuple[Sequence[int], Floats]:
        """What `_contested` says, in as many blocks as the first FEWEST_PAIRS ask for."""
        staying, first = self._contested(indices, FEWEST_PAIRS)
        more = pairs_needed(first) - len(first) if staying else 0
        if more > 0 and not self._is_over:
            kept, rest = self._contested(staying, more)
            still = [index for index in staying if index in self._times]
            first = first[:, [staying.index(index) for index in still]]
            staying, first = still, np.concatenate([first, rest]) if kept else first
        for index, column in zip(staying, first.T, strict=True):
            self._times[index] = float(np.median(column))
        return staying, first

    def _judged(self) -> Verdict | None:
        """The duel of the finalists with the pick; None where the pick is not timed to the end."""
        if 0 not in self._times:
            return None
        rivals = [p for p in self._search.finalists(FINALISTS + 1) if p != 0][:FINALISTS]
        while rivals:
            self._tell(f"duel of {len(rivals)} with the pick")
            staying, times = self._duel([0, *rivals])
            if 0 not in staying:
                return None
            rivals = list(staying[1:])
            found = duels(times)
            best = winner(found)
            if best is None:
                return self._concluded(0, 1.0, 1.0, 1.0, len(times))
            if self._is_proved(rivals[best]):
                duel = found[best]
                gain, low, high = (1 / (1 - part) for part in (duel.gain, duel.lower, duel.upper))
                return self._concluded(rivals[best], gain, low, high, duel.pairs)
            del rivals[best]
        return self._concluded(0, 1.0, 1.0, 1.0, 0)

    def _is_proved(self, index: int) -> bool:
        """Is its result right in every way that is checked?"""
        found = self.timer.prove(Proof(self.work, self._texts[index]), MOST_S)
        if isinstance(found, Probed) and found.wrong is None:
            return True
        self._drop(index, found if isinstance(found, Failed) else Failed("wrong", found.wrong or ""))
        return False

    def _drop(self, index: int, failed: Failed) -> None:
        """Keeps what went wrong with a candidate that had a time, and takes that away."""
        self._times.pop(index, None)
        self._keep(index, self._trial(index, _status(failed), note=failed.message))

    def _concluded(self, index: int, gain: float, low: float, high: float, pairs: int) -> Verdict:
        numbers = (gain, low, high, pairs, self.name, now(), self.is_cold)
        verdict = Verdict(self._texts[index], self._texts[0], *numbers)
        self.database.conclude(self.unit, verdict)
        return verdict

    def _tuned(self, verdict: Verdict | None) -> Tuned:
        pick, seconds = self._texts[0], time.monotonic() - self._began
        text = pick if verdict is None else verdict.configuration
        bounds = (1.0, 1.0, 1.0) if verdict is None else (verdict.gain, verdict.low, verdict.high)
        return Tuned(
            self.unit, pick, text, *bounds, self._times.get(0), self._times.get(self._texts.index(text)),
            Counter(one.status for one in self._tried.values()), seconds, self._build_s, not self._is_over,
            verdict is not None, self.found, tuple(self._tried.values()), self._fresh,
        )  # fmt: skip

    def _tell(self, doing: str) -> None:
        best = min(self._times.values(), default=None)
        self.report(Step(len(self._tried), self._wanted, best, self._times.get(0), doing))

    def _patience(self, expected_ns: float | None) -> float:
        """Seconds until a process that times is taken to hang."""
        return min(MOST_S, LEAST_S + 100 * (expected_ns or 0.0) * 1e-9)


def _status(failed: Failed) -> Status:
    match failed.kind:
        case "hang":
            return "timeout"
        case "crash":
            return "crashed"
        case "wrong":
            return "wrong"
        case _:
            return "failed"
