"""Contenders take turns: equal rounds, in order; who fails has no further turn."""

from __future__ import annotations

import pytest

from imbrex.bench.contest import contest, turn_of
from imbrex.bench.report import geometric_mean
from imbrex.run.isolated import Failed
from imbrex.run.time import Timing


def test_every_contender_has_a_turn_a_round() -> None:
    order: list[str] = []

    def turn(name: str) -> Timing:
        order.append(name)
        return Timing((1.0, 2.0), 7)

    found = contest({"a": lambda: turn("a"), "b": lambda: turn("b")}, budget_s=0.0, least=4)
    assert order == ["a", "b"] * 4
    assert found == {name: Timing((1.0, 2.0) * 4, 7) for name in "ab"}


def test_who_fails_has_no_further_turn() -> None:
    turns = iter([Timing((1.0,)), Failed("crash", "gone")])
    found = contest({"a": lambda: next(turns), "b": lambda: Timing((1.0,))}, budget_s=0.0, least=3)
    assert found == {"a": Failed("crash", "gone"), "b": Timing((1.0,) * 3)}


def test_a_turn_of_a_call_begins_warm() -> None:
    calls: list[int] = []
    timing = turn_of(lambda: calls.append(0))()
    assert len(calls) > len(timing.samples_ns) * timing.calls_per_sample


def test_geometric_mean() -> None:
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([3.0]) == pytest.approx(3.0)
