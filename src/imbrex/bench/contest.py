"""Contest: several calls timed in turn, round after round, so that all of them meet the same machine.

Law: every contender gives one sample a round, in the same order, and shares the machine's drift.  A sample
begins with a call that is not timed, so caches and pools of threads are as warm as calls in a row leave them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from imbrex.run.time import Timing

__all__ = ["contest"]

_SAMPLE_NS = 2_000_000
_PAUSE_S = 0.002  # for the threads of a peer's pool, which spin for a while after their work


def contest(
    calls: Mapping[str, Callable[[], object]], *, budget_s: float = 0.3, least: int = 5, threads: int = 1
) -> dict[str, Timing]:
    """Timings by name.  budget_s: for each contender, warm-up apart; at least `least` rounds."""
    groups = {name: _group(call) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + budget_s * len(calls)
    rounds = 0
    while rounds < least or time.perf_counter() < end:
        rounds += 1
        for name, call in calls.items():
            if threads > 1:
                time.sleep(_PAUSE_S)
            call()
            started = time.perf_counter_ns()
            for _ in range(groups[name]):
                call()
            samples[name].append((time.perf_counter_ns() - started) / groups[name])
    return {name: Timing(tuple(found), groups[name]) for name, found in samples.items()}


def _group(call: Callable[[], object]) -> int:
    """Calls that make a sample long enough for the clock; after three calls to warm up."""
    shortest_ns = None
    for _ in range(3):
        started = time.perf_counter_ns()
        call()
        elapsed_ns = time.perf_counter_ns() - started
        shortest_ns = elapsed_ns if shortest_ns is None else min(shortest_ns, elapsed_ns)
    assert shortest_ns is not None
    return max(1, -(-_SAMPLE_NS // max(1, shortest_ns)))
