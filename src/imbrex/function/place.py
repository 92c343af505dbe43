"""Place: where the kernel of a call runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU, Emulate, Goal, goal

__all__ = ["Place", "place"]

EMULATED: Final = "emulate"
"""The target of lane-level builds where no GPU is named."""


class Place(NamedTuple):
    """threads: of a CPU."""

    goal: Goal
    threads: int | None


@lru_cache(maxsize=64)
def place(target: str | None, emulate: Emulate, threads: int | None, own: str = CPU.target) -> Place:
    """Place of a call; ValueError for a target that there is not.  own: where the arrays lie, which
    counts where no target is named.
    """
    default = EMULATED if emulate and own == CPU.target else own
    try:
        return Place(goal(default if target is None else target, emulate), threads)
    except Diagnostic as error:
        raise ValueError(f"{error.message}; {error.hint}") from None
