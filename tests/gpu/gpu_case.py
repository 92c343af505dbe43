"""Case: one kernel for a GPU that is to be checked."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.bench.prepare import Wanted
from imbrex.problem import Problem
from imbrex.verify.data import Values

__all__ = ["TARGET", "Case", "values_of"]

TARGET = "sm_90a"


@dataclass(frozen=True)
class Case:
    """One kernel; `family` selects with -k."""

    family: str
    problem: Problem
    tuning: str | None = None
    schedule: str | None = None
    values: tuple[Values, ...] = ("integer", "float")
    algorithm: str | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.problem, TARGET, self.tuning, self.schedule, self.algorithm)

    def __str__(self) -> str:
        chosen = "-".join(word for word in (self.algorithm, self.tuning, self.schedule) if word)
        return f"{self.family}-{self.problem.key()}{f'-{chosen}' if chosen else ''}"


def values_of(dtype: str) -> tuple[Values, ...]:
    """What a type is checked on."""
    return ("integer",) if dtype == "i8" else ("integer", "float")
