"""Pages and pictures for people, as they are written: what a tuning did, lines over decades.

    pytest tests/golden --update-golden     writes what they are now

Whoever changes one looks at it first.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.unit.tuner.test_report import TRIED, tuned

from imbrex.bench.picture import Line, lines_picture
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Gemm
from imbrex.tuner.campaign import Refused
from imbrex.tuner.report import page

FOLDER = Path(__file__).parent / "pages"
LINES = (
    Line("one", "#111111", ((1, 8.0), (7, 4.5), (100, 0.0))),
    Line("dots", "#222222", ((2, 2.0), (30, 7.25)), has_dots=True),
    Line("level", "#333333", ((1, 3.0), (1000, 3.0))),
)
PAGES = {
    "tune.html": lambda: page(
        [
            (tuned(5), 3), (tuned(0, TRIED[:1]), 1), (tuned(2, TRIED[1:], is_judged=False), 2),
            (Refused(Gemm(8, 8, 8), Diagnostic("no <kernel>")), 1),
        ]
    ),
    "lines.svg": lambda: lines_picture(LINES, "trials", "percent"),
    "small.svg": lambda: lines_picture(LINES[1:2], "seconds", "microseconds"),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_as_they_were(name: str, update_golden: bool) -> None:
    text, path = PAGES[name]().replace("><", ">\n<") + "\n", FOLDER / name
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only((Path(name).stem for name in PAGES), FOLDER)
