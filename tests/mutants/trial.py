"""Trials: what became of each mutant, and the score by folder.

Law: a mutant is killed by a test that fails with it twice, the second time alone, and passes alone without,
or by tests that spend more than twice the CPU seconds that they spend without.  A test that fails on the
unchanged tree tells nothing and is left out.  It survived when its tests passed.  Nothing is known where
their CPU seconds were spent before, or where none of them passed, since all are skipped here or left out.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.mutants.mutation import Key, Mutant, folder_of
from tests.mutants.tree import Tree, on_trees

__all__ = [
    "CUT",
    "EQUIVALENT",
    "KILLED",
    "SKIPPED",
    "SURVIVED",
    "TIMEOUT",
    "Trial",
    "Trials",
    "named",
    "score",
    "table",
]

KILLED, TIMEOUT, SURVIVED, CUT, SKIPPED, EQUIVALENT = (
    "killed", "timeout", "survived", "cut", "skipped", "equivalent",
)  # fmt: skip
COLUMNS: Final = {
    "killed": (KILLED,), "by time": (TIMEOUT,), "survived": (SURVIVED,), "not known": (CUT, SKIPPED),
    "equivalent": (EQUIVALENT,),
}  # fmt: skip
NOT_FOUND, NO_TESTS = 4, 5  # pytest's exit codes


@dataclass(frozen=True)
class Trial:
    """by: the test that told, the reason, or what limits the answer.  seconds: of a processor."""

    mutant: Mutant
    outcome: str
    by: str = ""
    seconds: float = 0.0


class Batch(NamedTuple):
    """outcome, by, seconds: as of a trial; no outcome where these tests decide nothing.  passed, skipped: how
    many of them.
    """

    outcome: str
    by: str
    seconds: float
    passed: int = 0
    skipped: int = 0


@dataclass
class Trials:
    """limit: CPU seconds of the tests of one mutant.  until: of time.monotonic, when all is over.

    silent: tests that fail without any fault.  sound: those that pass, as they were asked together.
    """

    tests: Callable[[str, int], Sequence[str]]
    limit: float
    until: float
    equivalent: Mapping[Key, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    sound: set[tuple[str, ...]] = field(default_factory=set)

    def all(
        self, mutants: Iterable[Mutant], trees: Sequence[Tree], told: Callable[[Trial], None]
    ) -> list[Trial]:
        """Of as many mutants as the time allows, in their order, one to a tree."""

        def one(mutant: Mutant, tree: Tree) -> Trial | None:
            trial = self.one(mutant, tree)
            if trial is not None:
                told(trial)
            return trial

        def over() -> None:
            self.until = 0.0  # nothing else is begun, and what is ended says nothing of its mutant

        try:
            return [trial for trial in on_trees(trees, one, mutants, over) if trial is not None]
        finally:
            over()

    def one(self, mutant: Mutant, tree: Tree) -> Trial | None:
        """What becomes of it; None where the time was over before."""
        if reason := self.equivalent.get(mutant.key):
            return Trial(mutant, EQUIVALENT, reason)
        if time.monotonic() >= self.until:
            return None
        tests, spent, passed, skipped = self.tests(mutant.path, mutant.line), 0.0, 0, 0
        for files in _batches(tests, 2 if mutant.path.endswith(".py") else 1):
            batch = self._batch(mutant, tree, files, self.limit - spent)
            spent += batch.seconds
            passed, skipped = passed + batch.passed, skipped + batch.skipped
            if time.monotonic() >= self.until:
                return None
            if batch.outcome:
                return Trial(mutant, batch.outcome, batch.by, self.limit if batch.outcome == CUT else spent)
        if tests and not passed:
            return Trial(mutant, SKIPPED, f"none of its tests runs here: {' '.join(tests)}", spent)
        limits = f"{skipped} of its tests are skipped here" if skipped else ""
        return Trial(mutant, SURVIVED, limits if tests else "no test", spent)

    def _batch(self, mutant: Mutant, tree: Tree, batch: Sequence[str], cpu: float) -> Batch:
        spent, unsteady = 0.0, set[str]()
        while left := [test for test in batch if test not in self.silent | unsteady]:
            with tree.fault(mutant):
                ran = tree.pytest(left, cpu - spent, self.until, self.silent | unsteady)
            spent += ran.seconds
            if ran.code in (0, NO_TESTS) or time.monotonic() >= self.until:
                return Batch("", "", spent, ran.passed, ran.skipped)
            if ran.code is None:
                slow = self._is_sound(tree, left, max((cpu - spent + ran.seconds) / 2, 1))
                return Batch(TIMEOUT if slow else CUT, " ".join(left) if slow else "", spent)
            failed = ran.failed or left  # all where pytest could not say
            with tree.fault(mutant):
                again = tree.pytest(failed, self.limit, self.until)
            spent += again.seconds
            if again.code == 0:
                unsteady.update(failed)
            elif self._is_sound(tree, failed, self.limit):
                return Batch(KILLED, " ".join(failed), spent)
        return Batch("", "", spent)

    def _is_sound(self, tree: Tree, tests: Sequence[str], cpu: float) -> bool:
        """Do they pass without the fault?  Those that do not are silent from now on."""
        if tuple(tests) in self.sound:
            return True
        ran = tree.pytest(tests, cpu, self.until)
        if ran.code == NOT_FOUND:  # the fault gave the test its name
            return self._is_sound(tree, sorted({test.partition("::")[0] for test in tests}), cpu)
        if ran.code == 0:
            self.sound.add(tuple(tests))
        elif ran.code is not None:
            self.silent.update(ran.failed or tests)
        return ran.code == 0


def _batches(tests: Sequence[str], growth: int) -> Iterator[Sequence[str]]:
    """1, 2, 4, ... files: the first tells soonest, and starting pytest takes time."""
    start, count = 0, 1
    while start < len(tests):
        yield tests[start : start + count]
        start, count = start + count, growth * count


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
        [name, *(sum(t.outcome in outcomes for t in of) for outcomes in COLUMNS.values()), score(of)]
        for name, of in rows
    ]
    head = ["folder", *COLUMNS, "score"]
    counted = [head, ["---"] * len(head), *counted]
    return [f"| {' | '.join(map(str, row))} |" for row in counted]


def named(trials: Sequence[Trial]) -> list[str]:
    """Which ones survived, and of which nothing is known."""
    found = {
        column: [f"`{t.mutant.path}:{t.mutant.line}`" for t in trials if t.outcome in COLUMNS[column]]
        for column in ("survived", "not known")
    }
    return [f"{column.capitalize()}: {', '.join(places)}." for column, places in found.items() if places]
