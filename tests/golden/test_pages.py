"""Pages and pictures for people, as they are written: what a tuning did, lines over decades, the texts of a
kernel with the operands that their lines are of.

    pytest tests/golden --update-golden     writes what they are now

Whoever changes one looks at it first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.unit.tuner.test_report import TRIED, tuned

from imbrex.bench.picture import Line, lines_picture
from imbrex.diagnostic import Diagnostic
from imbrex.explore.panels.source import MOST, source
from imbrex.problem import Gemm
from imbrex.tuner.campaign import Refused
from imbrex.tuner.report import page

FOLDER = Path(__file__).parent / "pages"
LINES = (
    Line("one", "#111111", ((1, 8.0), (7, 4.5), (100, 0.0))),
    Line("dots", "#222222", ((2, 2.0), (30, 7.25)), has_dots=True),
    Line("level", "#333333", ((1, 3.0), (1000, 3.0))),
)
UNIT = """// lhs:
//   (m, k) -> (k, m)
//
// of nothing
float matrix_block_b[4], other, held_a;
load(lhs, matrix_block_b);
out[0] = rhs_panels * thread_a;"""
LEVELS = (
    (
        "problem",
        """func(%lhs, %rhs, %out) {
  %0 = miopen.transform %lhs {
    layout = 1
    upper = 2
  }
  gemm %0, %rhs_1, %outer
}""",
    ),
    ("long", "\n".join(["store %out"] * MOST + ["never shown"])),
)


def texts() -> Iterator[str]:
    """The panel of a kernel whose texts are given: the drawing, the table, and what each line stands for."""
    ladders = {
        name: SimpleNamespace(array=array) for name, array in zip("ABC", ("lhs", "rhs", "out"), strict=True)
    }
    bundle = SimpleNamespace(units=("a.hpp",), files={"a.hpp": UNIT, "vec.h": "", "store.h": ""})
    subject: Any = SimpleNamespace(
        ladders=ladders, sides=("A", "B"), texts=LEVELS, source=SimpleNamespace(bundle=bundle)
    )
    found = source(subject).to_json()
    yield from (found["svg"], *found["sentences"], found["sampled"])
    yield from (json.dumps(row["cells"]) for row in found["table"]["rows"])
    for text in found["texts"]:
        yield f"{text['name']} ({text['language']}), {len(text['lines'])} lines"
        yield from (f"{stands_for:12}{line}" for line, stands_for in text["lines"][:8])


PAGES = {
    "texts.txt": lambda: "\n".join(texts()),
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
