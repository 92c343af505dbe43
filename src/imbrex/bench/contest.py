"""Contest: contenders take turns, round after round, so that all of them meet the same machine.

Law: every contender has one turn a round, in the same order, and shares the machine's drift.  A turn begins
with calls that are not timed: caches, clocks and pools of threads are as warm as calls in a row leave them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from imbrex.run.isolated import Failed
from imbrex.run.time import Timing, measure

__all__ = ["TURN_S", "Call", "Turn", "contest", "turn_of"]

Call: TypeAlias = Callable[[], object]
Turn: TypeAlias = Callable[[], Timing | Failed]
"""Some samples of a contender, or why it can give no more."""

WARM_S: Final = 0.005
"""An idle core of a virtual machine was seen to take 0.7 ms to be back."""
TURN_S: Final = 0.03


def contest(
    turns: Mapping[str, Turn], *, budget_s: float = 0.3, least: int = 5
) -> dict[str, Timing | Failed]:
    """Timings by name.  budget_s: for each contender, pauses included; at least `least` rounds.  Who fails
    has no further turn.
    """
    found: dict[str, list[Timing]] = {name: [] for name in turns}
    failed: dict[str, Failed] = {}
    end = time.perf_counter() + budget_s * len(turns)
    rounds = 0
    while rounds < least or time.perf_counter() < end:
        rounds += 1
        for name in (name for name in turns if name not in failed):
            answer = turns[name]()
            if isinstance(answer, Failed):
                failed[name] = answer
            else:
                found[name].append(answer)
    return {name: failed.get(name) or _joined(parts) for name, parts in found.items()}


def turn_of(call: Call, turn_s: float = TURN_S) -> Callable[[], Timing]:
    """Turns of a call in this process."""
    return partial(measure, call, warmup_s=min(WARM_S, turn_s), budget_s=turn_s, least=1)


def _joined(parts: list[Timing]) -> Timing:
    """All samples; groups of calls are as large as the first turn's, or nearly so."""
    return Timing(tuple(ns for part in parts for ns in part.samples_ns), parts[0].calls_per_sample)
