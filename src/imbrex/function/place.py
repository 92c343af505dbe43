"""Place: where the kernel of a call runs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Goal, goal

__all__ = ["Place", "place"]


class Place(NamedTuple):
    """threads: of a CPU."""

    goal: Goal
    threads: int | None


@lru_cache(maxsize=64)
def place(target: str, emulate: bool, threads: int | None) -> Place:
    """Of a call's arguments; ValueError for a target that there is not."""
    try:
        return Place(goal(target, emulate), threads)
    except Diagnostic as error:
        raise ValueError(f"{error.message}; {error.hint}") from None
