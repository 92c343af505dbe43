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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from statistics import median
from threading import Event
from typing import Any, Final

import numpy as np

from imbrex.config.candidates import Candidates
from imbrex.database import Database, Status, Trial, Unit, Verdict
from imbrex.database.record import now
from imbrex.run.isolated import Failed
from imbrex.tuner.duel import FEWEST_PAIRS, duels, pairs_needed, undisturbed, winner
from imbrex.tuner.features import features
from imbrex.tuner.pool import Builders, Timer
from imbrex.tuner.search import UNLIKELY, Search
from imbrex.tuner.task import Build, Built, Contest, Contested, Probe, Probed, Proof, Work

__all__ = ["Limits", "Session", "Step", "Tried", "Tuned"]

FINALISTS: Final = 6
RACED: Final = 4
RACE_EVERY: Final = 8
RACE_BLOCKS: Final = 5
LEAST_S: Final = 20.0
MOST_S: Final = 120.0
"""Seconds until a process that times is taken to hang, at least and at most."""


@dataclass(frozen=True)
class Limits:
    """What a session may take.  trials: None for all candidates.  until: time.monotonic's seconds.

    ends: set where the session is to end at the next trial.
    """

    trials: int | None
    until: float
    ends: Event


@dataclass(frozen=True)
class Step:
    """What a session tells while it goes on.  best_ns, pick_ns: None where nothing was right yet."""

    trials: int
    wanted: int
    best_ns: float | None
    pick_ns: float | None
    doing: str


@dataclass(frozen=True)
class Tried:
    """A trial.  rank: by the model, from 0.  ns: None where it failed; note: why."""

    rank: int
    status: Status
    ns: float | None
    note: str


@dataclass(frozen=True)
class Tuned:
    """What came of a unit.  gain: the pick's time over the winner's; 1 where the pick stays.

    found: what was to choose from; tried: of these, in order.
    counts: trials by their status; fresh: those that were made now.  is_done: was everything tried that was
    wanted?  build_s: seconds of compiling, of all builders together, as far as it was not there.
    """

    unit: Unit
    pick: str
    winner: str
    gain: float
    low: float
    high: float
    pick_ns: float | None
    winner_ns: float | None
    counts: dict[str, int]
    seconds: float
    build_s: float
    is_done: bool
    found: Candidates
    tried: tuple[Tried, ...]
    fresh: int


@dataclass
class Session:
    """`Session(...).run()`: one unit, from its candidates to a verdict."""

    unit: Unit
    work: Work
    found: Candidates
    seeds: Sequence[str]
    limits: Limits
    builders: Builders
    timer: Timer
    database: Database
    name: str
    told: Callable[[Step], None]
    _times: dict[int, float] = field(default_factory=dict[int, float])
    _counts: Counter[str] = field(default_factory=Counter[str])
    _tried: list[Tried] = field(default_factory=list[Tried])
    _sources: dict[int, Built] = field(default_factory=dict[int, Built])
    _build_s: float = 0.0
    _fresh: int = 0

    def __post_init__(self) -> None:
        self._texts = [str(one.configuration) for one in self.found.ranked]
        places = {text: place for place, text in enumerate(self._texts)}
        seeds = [places[text] for text in self.seeds if text in places]
        ranked = self.found.ranked
        until = UNLIKELY if self.limits.trials is not None else 0.0
        self._search = Search(ranked, features(ranked), seeds=seeds, until=until)
        self._known = {trial.configuration: trial for trial in reversed(self.database.trials(self.unit))}
        most = len(self._texts) if self.limits.trials is None else self.limits.trials
        self._wanted = min(most, len(self._texts))

    def run(self) -> Tuned:
        """Tries candidates until the limits, or until little can be gained; judges, unless interrupted."""
        started = time.monotonic()
        since = 0
        for place, built in self._builds():
            self._try(place, built)
            since += 1
            if since >= RACE_EVERY and len(self._times) >= 2 and not self._is_over:
                since = 0
                self._race()
            self._tell("searching")
        before = self.database.best(self.unit)
        if before is not None and not self._fresh and before.configuration in self._texts:
            said = Verdict(before.configuration, self._texts[0], before.gain, before.gain, before.gain, 0)
            return self._tuned(said, time.monotonic() - started)
        verdict = None if self.limits.ends.is_set() else self._judged()
        return self._tuned(verdict, time.monotonic() - started)

    @property
    def _is_over(self) -> bool:
        return self.limits.ends.is_set() or time.monotonic() >= self.limits.until

    def _builds(self) -> Iterator[tuple[int, Built | Failed]]:
        """Candidates as they are built.  Where the CPU is timed, none is being built meanwhile."""
        waiting: dict[Future[Any], int] = {}
        proposed, is_out = 0, False
        ahead = self.builders.count * (1 if self.work.goal.is_native else 2)
        while True:
            room = ahead - len(waiting) if not (waiting and self.work.goal.is_native) else 0
            room = min(room, self._wanted - proposed)
            if room > 0 and not is_out and not self._is_over:
                places = self._search.propose(room)
                is_out = not places
                proposed += len(places)
                for place in places:
                    task = Build(self.work, self._texts[place])
                    waiting[self.builders.submit(task)] = place
            if not waiting:
                return
            everything = self.work.goal.is_native
            done, _ = wait(waiting, return_when="ALL_COMPLETED" if everything else FIRST_COMPLETED)
            for future in [f for f in waiting if f in done]:
                yield waiting.pop(future), future.result()

    def _try(self, place: int, built: Built | Failed) -> None:
        """Times a candidate, unless that was done, and keeps what came of it."""
        if isinstance(built, Failed):
            self._keep(place, self._trial(place, _status(built), note=built.message))
            return
        self._build_s += built.seconds
        self._sources[place] = built
        before = self._known.get(self._texts[place])
        if before is not None and (before.source, before.compiler) == (built.source, built.compiler):
            self._learn(place, before)
            return
        hopeless = self._search.hopeless_ns
        found = self.timer.probe(Probe(self.work, self._texts[place], hopeless), self._patience(hopeless))
        if isinstance(found, Failed):
            self._keep(place, self._trial(place, _status(found), note=found.message))
        elif found.wrong is not None:
            self._keep(place, self._trial(place, "wrong", note=found.wrong))
        else:
            self._keep(place, self._timed(place, found))

    def _timed(self, place: int, found: Probed) -> Trial:
        samples = found.samples_ns
        middle = median(samples)
        spread = median(abs(sample - middle) for sample in samples)
        return self._trial(place, "ok", middle, spread, len(samples), is_cold=found.is_cold)

    def _trial(
        self,
        place: int,
        status: Status,
        median_ns: float | None = None,
        spread_ns: float | None = None,
        samples: int = 0,
        note: str = "",
        is_cold: bool = True,
    ) -> Trial:
        built = self._sources.get(place, Built("", "", 0.0))
        return Trial(
            self._texts[place], status, median_ns, spread_ns, samples, built.source, built.compiler,
            note, self.name, now(), is_cold,
        )  # fmt: skip

    def _keep(self, place: int, trial: Trial) -> None:
        if trial.status != "ok" and self.limits.ends.is_set():
            return  # Ctrl-C reaches compilers too: what it ended says nothing of its configuration
        self._fresh += 1
        self.database.record(self.unit, trial)
        self._learn(place, trial)

    def _learn(self, place: int, trial: Trial) -> None:
        self._counts[trial.status] += 1
        ns = trial.median_ns if trial.status == "ok" else None
        self._tried.append(Tried(place, trial.status, ns, trial.note))
        if trial.status == "ok" and trial.median_ns is not None:
            self._times[place] = trial.median_ns
            self._search.tell(place, trial.median_ns)
        else:
            self._search.tell(place, None)

    def _race(self) -> None:
        """The best again, in turn: a time that was too good by luck is found out."""
        places = self._search.finalists(RACED)
        found = self._contested(places, RACE_BLOCKS)
        if found is None:
            return
        for place, times in zip(places, found.T, strict=True):
            self._times[place] = float(np.median(times))
            self._search.tell(place, self._times[place])

    def _contested(self, places: Sequence[int], blocks: int) -> Any:
        """Times of the blocks that count, one column a candidate; None where one of them failed."""
        task = Contest(self.work, tuple(self._texts[place] for place in places), blocks)
        slowest = max(self._times[place] for place in places)
        found = self.timer.contest(task, self._patience(slowest * blocks * len(places)))
        if not isinstance(found, Contested):
            return None
        times = np.array(found.blocks_ns).reshape(-1, len(places))
        kept = undisturbed(times, np.array(found.disturbed, dtype=np.bool_))
        return kept if len(kept) else times

    def _judged(self) -> Verdict | None:
        """The duel of the finalists with the pick; None where the pick was not timed."""
        if 0 not in self._times:
            return None
        rivals = [p for p in self._search.finalists(FINALISTS + 1) if p != 0][:FINALISTS]
        while rivals:
            self._tell(f"duel of {len(rivals)} with the pick")
            places = [0, *rivals]
            first = self._contested(places, FEWEST_PAIRS)
            if first is None:
                return None
            more = pairs_needed(first) - len(first)
            rest = self._contested(places, more) if more > 0 and not self._is_over else None
            times = first if rest is None else np.concatenate([first, rest])
            found = duels(times)
            best = winner(found)
            for place, column in zip(places, times.T, strict=True):
                self._times[place] = float(np.median(column))
            if best is None:
                return self._concluded(0, 1.0, 1.0, 1.0, len(times))
            if self._is_proved(rivals[best]):
                duel = found[best]
                gain, low, high = (1 / (1 - part) for part in (duel.gain, duel.lower, duel.upper))
                return self._concluded(rivals[best], gain, low, high, duel.pairs)
            del rivals[best]
        return self._concluded(0, 1.0, 1.0, 1.0, 0)

    def _is_proved(self, place: int) -> bool:
        """Is its result right in every way that is checked?"""
        found = self.timer.prove(Proof(self.work, self._texts[place]), MOST_S)
        if isinstance(found, Probed) and found.wrong is None:
            return True
        failed = found if isinstance(found, Failed) else Failed("wrong", found.wrong or "")
        status = _status(failed)
        self.database.record(self.unit, self._trial(place, status, note=failed.message))
        self._counts[status] += 1
        return False

    def _concluded(self, place: int, gain: float, low: float, high: float, pairs: int) -> Verdict:
        verdict = Verdict(self._texts[place], self._texts[0], gain, low, high, pairs, self.name, now())
        self.database.conclude(self.unit, verdict)
        return verdict

    def _tuned(self, verdict: Verdict | None, seconds: float) -> Tuned:
        pick = self._texts[0]
        text = pick if verdict is None else verdict.configuration
        bounds = (1.0, 1.0, 1.0) if verdict is None else (verdict.gain, verdict.low, verdict.high)
        return Tuned(
            self.unit, pick, text, *bounds, self._times.get(0), self._times.get(self._texts.index(text)),
            dict(self._counts), seconds, self._build_s, not self._is_over, self.found,
            tuple(self._tried), self._fresh,
        )  # fmt: skip

    def _tell(self, doing: str) -> None:
        best = min(self._times.values(), default=None)
        self.told(Step(self._counts.total(), self._wanted, best, self._times.get(0), doing))

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
