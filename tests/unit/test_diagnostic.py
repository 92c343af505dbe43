"""Diagnostic: its text, its place, its hints."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic, did_you_mean


def test_without_a_place_it_is_one_line() -> None:
    assert str(Diagnostic("no such thing")) == "error: no such thing"


def test_with_a_place_it_shows_the_line_and_carets() -> None:
    error = Diagnostic(
        "bad word", file="a.mlir", line=3, col=5, source="one twoo three", length=4, hint="try two"
    )
    assert str(error).splitlines() == [
        "a.mlir:3:5: error: bad word",
        "one twoo three",
        "    ^^^^",
        "hint: try two",
    ]


def test_carets_keep_tabs_and_stay_inside_the_line() -> None:
    lines = str(Diagnostic("x", line=1, col=2, source="\tab", length=99)).splitlines()
    assert lines == ["<text>:1:2: error: x", "\tab", "\t^^"]


def test_carets_may_stand_just_behind_the_line() -> None:
    assert str(Diagnostic("x", line=1, col=4, source="abc")).splitlines()[-1] == "   ^"


def test_at_fills_only_what_is_unknown() -> None:
    located = Diagnostic("x", file="a", subject="k").at(file="b", line=2, col=1, source="yy", length=2)
    assert (located.file, located.line, located.length, located.subject) == ("a", 2, 2, "k")
    assert located.at(line=9, col=9, length=9).line == 2
    assert located.at(col=9, length=9).length == 2


def test_it_can_be_raised_and_caught() -> None:
    with pytest.raises(Diagnostic, match="broken") as caught:
        raise Diagnostic("broken")
    assert caught.value.args == ("broken",)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("stride", "did you mean 'strides'?"),
        ("STRIDES", "did you mean 'strides'?"),
        ("zzz", None),
        ("", None),
    ],
)
def test_did_you_mean(word: str, hint: str | None) -> None:
    assert did_you_mean(word, ["strides", "padding"]) == hint
