"""Trials: what became of each mutant, and the score by folder.

Law: a mutant is killed by a test that fails with it and passes without, or that then takes more than twice as
long as it may; a test that fails on the unchanged tree, too, tells nothing and is left out.  It survived when
all its tests passed; where their time was over before, nothing is known.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue

from tests.mutants.mutation import Mutant, folder_of
from tests.mutants.tree import Ran, Tree

__all__ = ["KILLED", "OUTCOMES", "SURVIVED", "TIMEOUT", "Trial", "Trials", "score", "table"]

OUTCOMES = KILLED, TIMEOUT, SURVIVED, CUT, EQUIVALENT = "killed", "timeout", "survived", "cut", "equivalent"
FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+\.py)", re.MULTILINE)
NO_TESTS = 5  # pytest's exit code


@dataclass(frozen=True)
class Trial:
    """by: the test that told, the reason, or what limits the answer.  seconds: that it took."""

    mutant: Mutant
    outcome: str
    by: str = ""
    seconds: float = 0.0


@dataclass
class Trials:
    """limit: seconds that the tests of one mutant may take.  until: of time.monotonic, when all is over.

    silent: tests that fail without any fault.  known: those that pass, as they were asked together.
    """

    tests: Callable[[str, int], Sequence[str]]
    limit: float
    until: float
    equivalent: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    known: set[tuple[str, ...]] = field(default_factory=set)

    def all(
        self, mutants: Iterable[Mutant], trees: Sequence[Tree], told: Callable[[Trial], None]
    ) -> list[Trial]:
        """Of as many mutants as the time allows, in their order, one to a tree."""
        free = SimpleQueue[Tree]()
        for tree in trees:
            free.put(tree)

        def one(mutant: Mutant) -> Trial | None:
            tree = free.get()
            try:
                trial = self.one(mutant, tree)
            finally:
                free.put(tree)
            if trial is not None:
                told(trial)
            return trial

        with ThreadPoolExecutor(len(trees)) as pool:
            try:
                return [trial for trial in pool.map(one, mutants) if trial is not None]
            except BaseException:
                self.until = 0.0  # nothing else is begun
                for tree in trees:
                    tree.stop()
                raise

    def one(self, mutant: Mutant, tree: Tree) -> Trial | None:
        """What becomes of it; None where the time was over before."""
        started = time.monotonic()
        if reason := self.equivalent.get(mutant.key):
            return Trial(mutant, EQUIVALENT, reason)
        tests = [test for test in self.tests(mutant.path, mutant.line) if test not in self.silent]
        if started > self.until:
            return None
        for batch in _batches(tests, 2 if mutant.path.endswith(".py") else 1):
            trial = self._batch(mutant, tree, batch, started)
            if trial is not None:
                return trial
            if time.monotonic() >= self.until:
                return None
            if time.monotonic() >= started + self.limit:
                return Trial(mutant, CUT, "", self.limit)
        return Trial(mutant, SURVIVED, "" if tests else "no test", time.monotonic() - started)

    def _batch(self, mutant: Mutant, tree: Tree, batch: Sequence[str], started: float) -> Trial | None:
        """The trial that these tests end, or None."""
        while batch := [test for test in batch if test not in self.silent]:
            seconds = min(started + self.limit, self.until) - time.monotonic()
            if seconds <= 0:
                return None
            with tree.fault(mutant):
                ran = tree.pytest(batch, seconds)
            if ran.code in (0, NO_TESTS) or time.monotonic() >= self.until:
                return None
            blamed = _blamed(ran, batch)
            if self._passes(tree, blamed, seconds):
                outcome = TIMEOUT if ran.code is None else KILLED
                return Trial(mutant, outcome, " ".join(blamed), time.monotonic() - started)
            if ran.code is None:
                return None  # slow without the fault, too: cut
        return None

    def _passes(self, tree: Tree, tests: Sequence[str], seconds: float) -> bool:
        """Do they pass without the fault, in half the time?  The one that does not is silent from now on."""
        if tuple(tests) in self.known:
            return True
        ran = tree.pytest(tests, max(seconds / 2, 1))
        if ran.code == 0:
            self.known.add(tuple(tests))
        elif ran.code is not None:
            self.silent.update(_blamed(ran, tests))
        return ran.code == 0


def _batches(tests: Sequence[str], growth: int) -> Iterator[Sequence[str]]:
    """1, 2, 4, ... files: the first tells soonest, and starting pytest takes time."""
    start, count = 0, 1
    while start < len(tests):
        yield tests[start : start + count]
        start, count = start + count, growth * count


def _blamed(ran: Ran, tests: Sequence[str]) -> Sequence[str]:
    """The file that failed; all where pytest could not say."""
    return [test for test in dict.fromkeys(FAILED.findall(ran.output)) if test in tests] or tests


def score(trials: Sequence[Trial]) -> str:
    """The share that was killed, of those of which it is known."""
    known = [trial for trial in trials if trial.outcome in (KILLED, TIMEOUT, SURVIVED)]
    return f"{sum(trial.outcome != SURVIVED for trial in known) / len(known):.0%}" if known else ""


def table(trials: Sequence[Trial]) -> list[str]:
    """By folder, in markdown."""
    folders = defaultdict[str, list[Trial]](list)
    for trial in sorted(trials, key=lambda trial: trial.mutant.path):
        folders[f"`{folder_of(trial.mutant.path)}`"].append(trial)
    rows = [*sorted(folders.items()), ("all", list(trials))]
    counted = [
        [name, *(sum(t.outcome == outcome for t in of) for outcome in OUTCOMES), score(of)]
        for name, of in rows
    ]
    head = ["folder", "killed", "by time", "survived", "not known", "equivalent", "score"]
    counted = [head, ["---"] * len(head), *counted]
    return [f"| {' | '.join(map(str, row))} |" for row in counted]
