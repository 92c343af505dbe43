"""Answers: what became of the mutants, kept as each ends, so that a run that was stopped goes on.

A line of the file is one trial, with the day and a name of source and tests; of one mutant the last counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path

from tests.mutants.mutation import Key, Mutant
from tests.mutants.trial import CUT, EQUIVALENT, SKIPPED, SURVIVED, Trial, score

__all__ = ["Answers"]


class Answers:
    """Of those mutants that still are in the sample; in memory alone where no file is named."""

    def __init__(self, path: Path | None, mutants: Sequence[Mutant], equivalent: Mapping[Key, str]) -> None:
        self.path, self.mutants, self.equivalent = path, mutants, equivalent
        self.known: dict[Key, tuple[Trial, str]] = {}
        of = {mutant.key: mutant for mutant in mutants}
        lines = path.read_text("utf-8").split("\n") if path and path.exists() else []
        for line in lines[:-1]:  # what has no end was being written
            told = json.loads(line)
            mutant = of.get(Mutant(**told.pop("mutant")).key)
            where = f"{told.pop('date')} of tree {told.pop('tree')}"
            if mutant is not None:
                self.known[mutant.key] = Trial(mutant, **told), where
        if path and lines and lines[-1]:
            path.write_text("\n".join([*lines[:-1], ""]), "utf-8")

    @property
    def trials(self) -> list[Trial]:
        """In the order of the sample; those whose reason was written since are equivalent."""
        known = [self.known[mutant.key][0] for mutant in self.mutants if mutant.key in self.known]
        return [
            replace(trial, outcome=EQUIVALENT, by=self.equivalent[trial.mutant.key])
            if trial.mutant.key in self.equivalent
            else trial
            for trial in known
        ]

    def left(self, limit: float, again: bool) -> list[Mutant]:
        """Those of which nothing is known, nor would be at this limit; `again`: those that survived."""
        known = {trial.mutant.key: trial for trial in self.trials}
        if again:
            return [trial.mutant for trial in known.values() if trial.outcome == SURVIVED]
        return [
            mutant
            for mutant in self.mutants
            if not (trial := known.get(mutant.key))
            or trial.outcome == SKIPPED
            or (trial.outcome == CUT and trial.seconds < limit)
        ]

    def add(self, trial: Trial, tree: str) -> None:
        """Keeps it in the file at once."""
        today = str(date.today())
        self.known[trial.mutant.key] = trial, f"{today} of tree {tree}"
        if self.path:
            with self.path.open(
                "a", encoding="utf-8"
            ) as file:  # one write a line: several threads add theirs
                file.write(json.dumps({**asdict(trial), "tree": tree, "date": today}) + "\n")

    def summary(self) -> str:
        """How many of the sample were tried, when, of which tree, and how many the tests saw."""
        trees = Counter(self.known[mutant.key][1] for mutant in self.mutants if mutant.key in self.known)
        of = ", ".join(f"{count} on {where}" for where, count in trees.items())
        return (
            f"Tried {len(self.known)} of the {len(self.mutants)} mutants of the sample ({of or 'none'}); "
            f"killed {score(self.trials) or 'none'} of those of which it is known."
        )
