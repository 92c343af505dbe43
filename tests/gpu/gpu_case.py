"""Case: one kernel for a GPU that is to be checked."""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.bench.prepare import Wanted
from imbrex.problem import Problem
from imbrex.verify.data import Values, values_of
from imbrex.verify.unit import Unit, unit_of

__all__ = ["TARGET", "Case"]

TARGET = "sm_90a"


@dataclass(frozen=True)
class Case:
    """One kernel; `family` selects with -k."""

    family: str
    problem: Problem
    tuning: str | None = None
    schedule: str | None = None
    algorithm: str | None = None

    @property
    def values(self) -> tuple[Values, ...]:
        """Kinds of operands that it is checked on."""
        return values_of(self.problem)

    @property
    def unit(self) -> Unit:
        """What adds its products."""
        return unit_of(TARGET, self.problem.dtype)

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.problem, TARGET, self.tuning, self.schedule, self.algorithm)

    def __str__(self) -> str:
        chosen = "-".join(word for word in (self.algorithm, self.tuning, self.schedule) if word)
        return f"{self.family}-{self.problem.key()}{f'-{chosen}' if chosen else ''}"
