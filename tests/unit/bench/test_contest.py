"""Contenders take turns: equal rounds, in order, each timed by its own calls."""

from __future__ import annotations

import time

import pytest

from imbrex.bench.contest import contest
from imbrex.bench.report import geometric_mean


def test_every_contender_gives_a_sample_a_round_in_turn() -> None:
    order: list[str] = []

    def call(name: str) -> None:
        order.append(name)
        time.sleep(0.003)

    found = contest({"a": lambda: call("a"), "b": lambda: call("b")}, budget_s=0.0, least=4)
    assert order[:6] == ["a"] * 3 + ["b"] * 3
    assert order[6:] == ["a", "a", "b", "b"] * 4, "each sample after a call that is not timed"
    assert {name: len(timing.samples_ns) for name, timing in found.items()} == {"a": 4, "b": 4}
    assert min(found["a"].samples_ns) > 1.5e6


def test_short_calls_are_sampled_in_groups() -> None:
    found = contest({"quick": lambda: None, "slow": lambda: time.sleep(0.003)}, budget_s=0.01, least=3)
    assert found["quick"].calls_per_sample > 100
    assert found["slow"].calls_per_sample == 1
    assert found["quick"].median_ns < found["slow"].median_ns / 100


def test_geometric_mean() -> None:
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([3.0]) == pytest.approx(3.0)
