"""Timing against a clock that the test moves, so that nothing here depends on the machine's speed."""

from __future__ import annotations

import pytest

from imbrex.run.time import Timing, measure


class Clock:
    """A clock that only calls move: each by the next of `durations_ns`, then by the last."""

    def __init__(self, *durations_ns: int) -> None:
        self.durations_ns, self.now_ns, self.calls = list(durations_ns), 0, 0

    def read(self) -> int:
        return self.now_ns

    def call(self) -> None:
        self.now_ns += self.durations_ns[min(self.calls, len(self.durations_ns) - 1)]
        self.calls += 1


def test_statistics() -> None:
    timing = Timing((5.0, 1.0, 2.0, 100.0, 3.0))
    assert (timing.min_ns, timing.median_ns, timing.mad_ns) == (1.0, 3.0, 2.0)
    assert timing.gigaflops(6) == 2.0
    assert timing.to_json() == {
        "median_ns": 3.0, "min_ns": 1.0, "mad_ns": 2.0, "samples": 5, "calls_per_sample": 1,
    }  # fmt: skip


def test_warm_up_is_not_sampled() -> None:
    clock = Clock(9_000_000, 1_000_000)
    timing = measure(clock.call, warmup_s=0.01, budget_s=0.01, clock=clock.read)
    assert set(timing.samples_ns) == {1_000_000.0}
    assert len(timing.samples_ns) == 10
    assert clock.calls == 2 + 10


def test_least_wins_over_the_budget_and_most_over_both() -> None:
    slow = Clock(10**9)
    assert len(measure(slow.call, warmup_s=0.0, budget_s=0.1, least=3, clock=slow.read).samples_ns) == 3
    assert slow.calls == 1 + 3
    fast = Clock(10**6)
    assert len(measure(fast.call, warmup_s=0.0, budget_s=9.0, most=7, clock=fast.read).samples_ns) == 7


def test_short_calls_are_sampled_in_groups() -> None:
    clock = Clock(1_000)
    timing = measure(clock.call, warmup_s=0.0, budget_s=0.0, least=2, clock=clock.read)
    assert timing == Timing((1_000.0, 1_000.0), calls_per_sample=20)


def test_a_call_that_takes_no_time_at_all() -> None:
    clock = Clock(0)
    assert measure(clock.call, warmup_s=0.0, budget_s=0.0, clock=clock.read).min_ns == 0.0


def test_impossible_counts() -> None:
    with pytest.raises(ValueError, match="should be 1 <= least <= most, got least 5, most 2"):
        measure(lambda: None, most=2)
