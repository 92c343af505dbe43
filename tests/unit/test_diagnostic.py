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


def test_control_characters_are_escapes_and_carets_still_right() -> None:
    error = Diagnostic(
        "no \x1b[31mword\r", line=1, col=7, source="a\x1b[2Jb word\x07s", length=4, hint="\u202ex"
    )
    assert str(error).splitlines() == [
        "<text>:1:7: error: no \\x1b[31mword\\r",
        "a\\x1b[2Jb word\\x07s",
        "         ^^^^",
        "hint: \\u202ex",
    ]
    assert str(Diagnostic("x", line=1, col=1, source="\x1b\x1b", length=2)).splitlines()[-1] == "^^^^^^^^"


def test_wide_characters_take_two_columns() -> None:
    assert (
        str(Diagnostic("x", line=1, col=3, source="\u6f22\u5b57 \u6f22", length=2)).splitlines()[-1]
        == "    ^^^"
    )
    assert str(Diagnostic("x", line=1, col=3, source="e\u0301x")).splitlines()[-1] == " ^"


def test_long_lines_are_cut_around_the_span() -> None:
    line = "a" * 1000 + "WRONG" + "b" * 1000
    shown, carets = str(Diagnostic("x", line=1, col=1001, source=line, length=5)).splitlines()[1:]
    assert shown == "..." + "a" * 60 + "WRONG" + "b" * 40 + "..."
    assert shown[carets.index("^") : len(carets)] == "WRONG"
    shown, carets = str(Diagnostic("x", line=1, col=1, source="a" * 10**7, length=10**7)).splitlines()[1:]
    assert (len(shown), carets) == (143, "^" * 100)


@pytest.mark.parametrize(("before", "behind"), [(120, 80), (121, 80), (120, 81)])
def test_a_line_is_cut_where_twice_as_much_is_left_out(before: int, behind: int) -> None:
    source = "a" * before + "WRONG" + "b" * behind
    _, shown, _ = str(Diagnostic("x", line=1, col=before + 1, source=source, length=5)).splitlines()
    lead = "a" * before if before == 120 else "..." + "a" * 60
    assert shown == lead + "WRONG" + ("b" * behind if behind == 80 else "b" * 40 + "...")


def test_long_messages_are_cut() -> None:
    assert str(Diagnostic(f"unknown '{'a' * 10**6}' here")) == (
        f"error: unknown '{'a' * 75}... (1000000 characters)' here"
    )
    assert len(str(Diagnostic("word " * 10**6))) < 1010
    assert str(Diagnostic("first\nsecond")) == "error: first\nsecond", "the lines of a compiler are kept"


def test_the_message_of_a_place_is_one_line() -> None:
    error = Diagnostic("got 'a\nerror: b'", line=1, col=1, source="a\nerror: b", length=9)
    assert str(error).splitlines()[:2] == ["<text>:1:1: error: got 'a\\nerror: b'", "a\\nerror: b"]


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
        ("stride" + "e" * 10**6, None),
    ],
)
def test_did_you_mean(word: str, hint: str | None) -> None:
    assert did_you_mean(word, ["strides", "padding"]) == hint
