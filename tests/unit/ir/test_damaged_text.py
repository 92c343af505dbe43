"""Damaged text is a module or a Diagnostic with a place, never another exception."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load

LIT = Path(__file__).parents[2] / "lit"
TEXTS = [
    (LIT / f"{name}.mlir").read_text().split("\n// CHECK")[0]
    for name in ("ops", "draft_forward", "seed_forward", "seed_blockwise", "seed_gridwise_gemm_ex")
]
TOKEN = re.compile(r"//[^\n]*|\"[^\"\n]*\"|[\w.%@#]+|\s+|.")
NOISE = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ",",
    ":",
    "=",
    "?",
    "-",
    "#",
    '"',
    "%x",
    "1",
    "layout",
    "to",
    "\0",
]


def outcome(text: str) -> Diagnostic | None:
    try:
        load(text, "damaged.mlir")
    except Diagnostic as error:
        assert error.file == "damaged.mlir" and error.line is not None and error.message
        str(error)
        return error
    return None


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_any_damage_is_a_diagnostic(data: st.DataObject) -> None:
    tokens = TOKEN.findall(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        other = data.draw(st.integers(0, len(tokens) - 1))
        match data.draw(st.sampled_from(["drop", "repeat", "swap", "noise", "cut"])):
            case "drop":
                del tokens[place]
            case "repeat":
                tokens.insert(place, tokens[place])
            case "swap":
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case "noise":
                tokens.insert(place, data.draw(st.sampled_from(NOISE)))
            case _:
                del tokens[place + 1 :]
        if not tokens:
            break
    outcome("".join(tokens))


def test_the_texts_are_whole() -> None:
    assert [outcome(text) for text in TEXTS] == [None] * len(TEXTS)


def test_damage_is_noticed() -> None:
    assert outcome(TEXTS[0].replace("padding", "paddling", 1)) is not None
    with pytest.raises(AssertionError):
        assert outcome(TEXTS[0]) is not None
