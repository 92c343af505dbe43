"""Limit: what is longer or deeper than it may be is one message, and takes no time."""

from __future__ import annotations

from io import BytesIO

import pytest

from imbrex.config import tiles, tuning
from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load
from imbrex.limit import (
    EPILOGUE_CHARACTERS,
    EPILOGUE_DEPTH,
    IR_BYTES,
    JSON_DEPTH,
    LINE_CHARACTERS,
    PATH_PARTS,
    expect_path,
    read_bounded,
    too_deep,
)
from imbrex.problem import epilogue, parse_problem

MANY = "9" * 5000
GEMM = '{"problem": "gemm", "m": 1, "n": 1, "k": 1, '


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"gemm -m {MANY} -n 1 -k 1", "'-m' is at most 9223372036854775807, got 9"),
        (f"gemm -m 1 -n 1 -k 1 -alpha {MANY}", "'-alpha' must be finite"),
        (f"gemm -m 1 -n 1 -k 1 -strideA {MANY}", "'-strideA' is at most 9223372036854775807"),
        (f"conv -n 1 -p 1,{MANY}", "'-p' is at most 9223372036854775807"),
        (f"conv -F {MANY}", "'-F' is at most 9223372036854775807"),
        (f'{GEMM}"batch": {MANY}}}', "batch must be an integer, got inf"),
        (f'{GEMM}"batch": {2**64}}}', "batch must be an integer, got 1.8446744073709552e+19"),
        (f'{GEMM}"alpha": {MANY}}}', "alpha must be a finite number, got inf"),
        ("[" * 100_000, f"malformed JSON: more than {JSON_DEPTH} lists and objects inside each other"),
        (GEMM + '"alpha": ' + "[" * 100_000, "malformed JSON: more than"),
        (f"conv {'x' * 10_000_000}", f"a line of 10000005 characters is longer than {LINE_CHARACTERS}"),
        ("\n" * 3_000_000, "no problem in the text"),
        ("\n" * 100 + "conv -n x", "'-n' takes an integer, got 'x'"),
    ],
)
def test_of_problems(text: str, message: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        parse_problem(text)
    assert message in str(caught.value) and len(str(caught.value)) < 2000


def test_lines_are_counted_over_blank_ones() -> None:
    with pytest.raises(Diagnostic) as caught:
        parse_problem("\n \n\t\n# conv -n y\n\nconv -n 1 -F 1\n  conv -n x", "f")
    assert (caught.value.line, caught.value.col) == (7, 11)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relu(" * 990 + "x" + ")" * 990, "too many nested parentheses"),
        (" + ".join(["x"] * 2000), f"at most {EPILOGUE_DEPTH} operators and functions inside each other"),
        ("-" * 9000 + "x", f"at most {EPILOGUE_DEPTH} operators"),
        (" + ".join(["x"] * 5000), f"is longer than {EPILOGUE_CHARACTERS}"),
        (f"x * {'9' * 400}", "a number of about 401 digits is beyond every type of floats"),
        (f"x * {MANY}", "no expression: "),
        ("x\0", "no expression: "),
        ("x +\ud800", "no expression: "),
    ],
)
def test_of_epilogues(text: str, message: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        epilogue.parse(text)
    assert message in caught.value.message


def test_the_deepest_epilogue_is_read() -> None:
    deepest = " + ".join(["x"] * EPILOGUE_DEPTH)
    assert str(epilogue.parse(deepest)) == deepest


@pytest.mark.parametrize("text", [f"v1:general:{MANY},32,32,4,2,2", f"v1:general:{2**63},32,32,4,2,2"])
def test_of_tunings(text: str) -> None:
    with pytest.raises(Diagnostic, match="expected a whole number from 1 to 9223372036854775807"):
        tuning.parse(text)


@pytest.mark.parametrize("text", [f"stream_k:{MANY}", f"stream_k/wgm={MANY}"])
def test_of_schedules(text: str) -> None:
    with pytest.raises(Diagnostic):
        tiles.parse(text)


def test_of_files() -> None:
    assert read_bounded(BytesIO(b"abc"), "f", 3) == "abc"
    with pytest.raises(Diagnostic, match="'f' is longer than 2 bytes"):
        read_bounded(BytesIO(b"abc"), "f", 2)
    with pytest.raises(Diagnostic, match="'f' is not UTF-8 text: invalid start byte at byte 1"):
        read_bounded(BytesIO(b"a\xff"), "f")


def test_of_ir() -> None:
    with pytest.raises(Diagnostic, match=f"is longer than {IR_BYTES}"):
        load(" " * (IR_BYTES + 1))


def test_of_paths() -> None:
    expect_path("a/" * (PATH_PARTS - 1))
    with pytest.raises(Diagnostic, match=f"a path of 2001 parts is deeper than {PATH_PARTS}"):
        expect_path("a/" * 2000)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[" * JSON_DEPTH + "]" * JSON_DEPTH, None),
        ("[" * (JSON_DEPTH + 1), JSON_DEPTH),
        ('{"a": "' + "[" * 99 + '"}', None),
        ("{}" + "[" * 99, None),
        ("[[], " * 20 + "[" * 20, 92 + 20),
    ],
)
def test_json_that_is_too_deep(text: str, place: int | None) -> None:
    assert too_deep(text) == place
