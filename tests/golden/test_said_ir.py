"""What is said of modules whose numbers are others or whose attributes are missing, at every level of the IR.

    pytest tests/golden --update-golden     writes what is said now

Of each module some places, evenly apart.  A number that may be another one is as good; of one that follows
from others a message says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.golden.test_source import CASES, Emitted

from imbrex.config import tiles, tuning
from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load
from imbrex.pipeline import Request, levels, machine_for

FOLDER = Path(__file__).parent / "said_ir"
SHOWN = (
    "conv_nchw", "gemm_avx2", "gemm_gfx942_stream_k", "gemm_sm_90a_stream_k",
    "conv_sm_90a_halo",
)  # fmt: skip
NUMBER, ENTRY = re.compile(r"(?<![\w.\"])\d+(?![\w.\"])"), re.compile(r"\"?\w+\"? = [\w\"#<>.]+, ")
MOST_CHARACTERS = 8000
NUMBERS, ENTRIES = 6, 3
"""Places of each level."""


def damaged(text: str) -> Iterator[tuple[str, str]]:
    """What was done, and the text with it."""
    for pattern, most in ((NUMBER, NUMBERS), (ENTRY, ENTRIES)):
        found = list(pattern.finditer(text))
        for place in found[:: max(1, -(-len(found) // most))]:
            other = str(int(place[0]) + 1) if pattern is NUMBER else ""
            before = text[max(0, place.start() - 24) : place.start()].replace("\n", " ")
            yield f"{before}{place[0]} -> {other}", text[: place.start()] + other + text[place.end() :]


def said(case: Emitted) -> Iterator[str]:
    machine, own = machine_for(case.target, case.isa, 4), tuning.parse(case.tuning)
    shared = tiles.parse(case.schedule)
    request = Request(case.problem, machine, case.target, own, case.algorithm, "said", shared)
    known = set[str]()
    for level in levels(request):
        whole = str(level.module)
        if len(whole) > MOST_CHARACTERS or whole in known:
            continue
        known.add(whole)
        yield f"{level.name}\n"
        for what, text in damaged(whole):
            try:
                load(text, "said.mlir")
                yield f"  {what}: as good\n"
            except Diagnostic as error:
                yield f"  {what}: {error.message}{f' | {error.hint}' if error.hint else ''}\n"


@pytest.mark.parametrize("name", SHOWN)
def test_the_same_is_said_of_the_same(name: str, update_golden: bool) -> None:
    text, path = "".join(said(CASES[name])), FOLDER / f"{name}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(SHOWN, FOLDER)
