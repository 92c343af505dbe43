"""The page of a tuning: it is whole, escapes what it shows, and tells what a reader asks."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.unit.tuner.test_session import FEW, TEXTS, UNIT

from imbrex.cli.skipped import Skipped
from imbrex.cli.tune import Shown
from imbrex.config.candidates import Candidates
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Gemm
from imbrex.tuner.campaign import Refused
from imbrex.tuner.outcome import Tried, Tuned
from imbrex.tuner.report import page

FOUND = Candidates(FEW.ranked, {"lds_bytes": 8, "grid": 4}, {})
EMPTY = {"meta", "br", "line", "polyline", "circle"}
OPEN = {"li", "th", "td", "p", "tr"}
TRIED = (
    Tried(0, "ok", 2000.0, "", 0.0),
    Tried(3, "wrong", None, "element [0] is <nothing>", 2.0),
    Tried(5, "ok", 1500.0, "", 3.0),
    Tried(2, "ok", 2500.0, "", 4.0),
)


def tuned(winner: int, tried: tuple[Tried, ...] = TRIED, is_judged: bool = True) -> Tuned:
    gain = 1.0 if winner == 0 else 4 / 3
    times = gain, gain, gain, 2000.0, 1500.0
    return Tuned(UNIT, TEXTS[0], TEXTS[winner], *times, {"ok": 3}, 1.0, 1.0, True, is_judged, FOUND, tried, 4)


class Checked(HTMLParser):
    """Tags that are opened are closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in EMPTY | OPEN:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Nothing is left open."""

    def handle_endtag(self, tag: str) -> None:
        if tag not in OPEN:
            assert self.stack.pop() == tag


def test_a_page_shows_the_race_the_ranks_and_what_failed() -> None:
    text = page([(tuned(5), 3), (Refused(Gemm(8, 8, 8), Diagnostic("no <kernel>")), 1)])
    checked = Checked()
    checked.feed(text)
    assert checked.stack == []
    assert text.count("<svg") == 2 and text.count("<circle") == 3
    assert "1.333 times as fast" in text and "<mark>" in text and "4 of 12 candidates" in text
    assert "element [0] is &lt;nothing&gt;" in text and "no &lt;kernel&gt;" in text
    why = (("refused by the rule lds_bytes", 8, 20.0), ("refused by the rule grid", 4, 10.0))
    for reason, count, width in (*why, ("tried, and wrong", 1, 2.5)):
        bar = f'<div style="width: {width:.2f}rem"></div>'
        assert f"<tr><td>{reason}<td>{count}<td>{bar}" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_pick_that_stays_is_told() -> None:
    text = page([(tuned(0), 1)])
    assert "which stays" in text and "<mark>" not in text
    assert "it was not judged yet" in page([(tuned(0, is_judged=False), 1)])


def test_the_race_is_over_time() -> None:
    """From the first trial that gave a time to the last one, the pick beside it."""
    text = page([(tuned(5), 1)])
    race = text[text.index("the fastest so far") - 2000 :]
    ends = [
        line.split('points="')[1].split('"')[0].split() for line in race.splitlines() if "polyline" in line
    ]
    assert [len(points) for points in ends] == [3, 2] and ends[0][0] == ends[1][0]
    assert ends[0][-1].split(",")[0] == ends[1][-1].split(",")[0] and "seconds" in text


def test_nothing_that_gave_a_time_has_no_picture() -> None:
    assert "<svg" not in page([(tuned(0, TRIED[1:2]), 1)]) and "<svg" not in page([])


@pytest.mark.parametrize(("is_done", "said"), [(True, "nothing to do"), (False, "0 trials in")])
def test_what_ended_before_a_trial_is_not_called_done(
    is_done: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = cast(Any, SimpleNamespace(problems=[UNIT.problem]))
    outcome = replace(tuned(0), fresh=0, is_done=is_done)
    Shown(plan, False, Skipped(), {}, [(outcome, 1)]).summary("db")
    assert said in capsys.readouterr().out
