"""How long a call takes: warmed up by time, sampled until a budget is spent, told by the median.

Law: the minimum is the machine at its best, the median what a user gets, MAD (median of |sample - median|)
how far to trust either.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Timing", "measure"]

_SHORTEST_SAMPLE_NS = 20_000  # several hundred times what reading the clock takes


@dataclass(frozen=True, slots=True)
class Timing:
    """samples_ns: time of one call, each the mean over `calls_per_sample` calls."""

    samples_ns: tuple[float, ...]
    calls_per_sample: int = 1

    @property
    def min_ns(self) -> float:
        return min(self.samples_ns)

    @property
    def median_ns(self) -> float:
        return statistics.median(self.samples_ns)

    @property
    def mad_ns(self) -> float:
        middle = self.median_ns
        return statistics.median(abs(sample - middle) for sample in self.samples_ns)

    def gigaflops(self, flops: int) -> float:
        """Speed of the median call."""
        return flops / self.median_ns

    def to_json(self) -> dict[str, float | int]:
        return {
            "median_ns": self.median_ns,
            "min_ns": self.min_ns,
            "mad_ns": self.mad_ns,
            "samples": len(self.samples_ns),
            "calls_per_sample": self.calls_per_sample,
        }


def measure(
    call: Callable[[], object],
    *,
    warmup_s: float = 0.05,
    budget_s: float = 0.3,
    least: int = 5,
    most: int = 10_000,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Timing:
    """Calls until `warmup_s` has passed (at least once), then samples until `budget_s` has (at least
    `least` samples).

    A call too short for the clock is sampled in groups.
    """
    if not 1 <= least <= most:
        raise ValueError(f"should be 1 <= least <= most, got least {least}, most {most}")
    shortest_ns = _warm_up(call, int(warmup_s * 1e9), clock)
    group = max(1, -(-_SHORTEST_SAMPLE_NS // max(1, shortest_ns)))
    samples: list[float] = []
    end = clock() + int(budget_s * 1e9)
    while len(samples) < least or (len(samples) < most and clock() < end):
        started = clock()
        for _ in range(group):
            call()
        samples.append((clock() - started) / group)
    return Timing(tuple(samples), group)


def _warm_up(call: Callable[[], object], warmup_ns: int, clock: Callable[[], int]) -> int:
    """The shortest call of the warm-up: the first ones load pages and raise clocks."""
    started = before = clock()
    shortest_ns: int | None = None
    while shortest_ns is None or before - started < warmup_ns:
        call()
        now = clock()
        shortest_ns = now - before if shortest_ns is None else min(shortest_ns, now - before)
        before = now
    return shortest_ns
