"""Tuned: a problem tuned before its kernel is looked for, where a call says so.  Who tunes, `imbrex.tuner`,
comes after all that is called, and is imported then.

Law: a process tunes a problem for a target and a number of threads once with each effort, into one database.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, Literal, TypeAlias, get_args

from imbrex.argument import word
from imbrex.database.news import news
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.target import Target
from imbrex.problem import Problem

__all__ = ["EFFORTS", "Effort", "expect_effort", "tune_first"]

Effort: TypeAlias = Literal["quick", "normal", "full"]
"""How much a tuning tries."""
EFFORTS: Final = get_args(Effort)
_tuned: Final[set[tuple[Problem, Target, int | None, Effort, str | None]]] = set()


def expect_effort(value: object, **said: object) -> None:
    """TypeError and ValueError for what is no word of `Effort`, nor None; a Diagnostic where the call says
    itself what a tuning chooses.
    """
    if value is None:
        return
    word("tune", value, EFFORTS)
    if other := next((name for name, one in said.items() if one is not None), None):
        raise Diagnostic(f"'tune' chooses what '{other}' says", hint="leave out one or the other")


def tune_first(problem: Problem, target: Target, threads: int | None, effort: Effort) -> None:
    """Tunes it on this machine, unless this process did; a Diagnostic where it cannot be tuned."""
    _, database = news()
    if (key := (problem, target, threads, effort, database)) not in _tuned:
        import_module("imbrex.tuner.interface").tune(problem, target, threads=threads, effort=effort)
        _tuned.add(key)
