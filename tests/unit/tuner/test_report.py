"""The page of a tuning: it is whole, escapes what it shows, and tells what a reader asks."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from tests.unit.tuner.test_session import FEW, TEXTS, UNIT

from imbrex.diagnostic import Diagnostic
from imbrex.problem import Gemm
from imbrex.tuner.campaign import Refused
from imbrex.tuner.outcome import Tried, Tuned
from imbrex.tuner.report import page

EMPTY = {"meta", "br", "line", "polyline", "circle"}
OPEN = {"li", "th", "td", "p", "tr"}
TRIED = (
    Tried(0, "ok", 2000.0, ""),
    Tried(3, "wrong", None, "element [0] is <nothing>"),
    Tried(5, "ok", 1500.0, ""),
    Tried(2, "ok", 2500.0, ""),
)


def tuned(winner: int, tried: tuple[Tried, ...] = TRIED) -> Tuned:
    gain = 1.0 if winner == 0 else 4 / 3
    times = gain, gain, gain, 2000.0, 1500.0
    return Tuned(UNIT, TEXTS[0], TEXTS[winner], *times, {"ok": 3}, 1.0, 1.0, True, FEW, tried, 4)


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
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_pick_that_stays_is_told() -> None:
    text = page([(tuned(0), 1)])
    assert "which stays" in text and "<mark>" not in text


def test_nothing_that_gave_a_time_has_no_picture() -> None:
    assert "<svg" not in page([(tuned(0, TRIED[1:2]), 1)]) and "<svg" not in page([])
