"""Damaged text is a module or a Diagnostic with a place, never another exception."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import Miopen, load

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


@pytest.mark.parametrize("op", [*Miopen.operations], ids=lambda op: op.name)
def test_any_number_of_operands_results_and_regions_is_a_diagnostic(op: type[Operation]) -> None:
    """The generic form says nothing of what an operation takes."""
    for operands, results, regions in product((0, 1, 2, 3, 5), (0, 1), (0, 1)):
        given, types = ", ".join(["%a"] * operands), ", ".join(["memref<4x4xf32>"] * operands)
        result, type_ = ("%r = ", "memref<4x4xf32>") if results else ("", "()")
        error = outcome(
            "func.func @f(%a: memref<4x4xf32>) {\n"
            f'  {result}"{op.name}"({given}){" ({})" * regions} : ({types}) -> {type_}\n  func.return\n}}\n'
        )
        assert error is None or "not well-formed" not in error.message


@pytest.mark.parametrize(
    "text",
    [
        f"func.func @f(%a: memref<{'9' * 5000}xf32>)",
        f"func.func @f() {{\n  %a = arith.constant {'9' * 5000} : i32\n}}",
        f"func.func @f(%a: memref<4xf32>) {{\n  miopen.gemm(%a, %a, %a) {{ k = {'9' * 5000} }}\n}}",
        f"func.func @f(%a: memref<4xf32>) {{\n  miopen.gemm(%a, %a, %a) {{ k = #{'9' * 5000} }}\n}}",
    ],
)
def test_digits_without_end_are_a_diagnostic(text: str) -> None:
    error = outcome(text)
    assert error is not None and "too many digits" in error.message


def test_damage_is_noticed() -> None:
    assert outcome(TEXTS[0].replace("padding", "paddling", 1)) is not None
    with pytest.raises(AssertionError):
        assert outcome(TEXTS[0]) is not None
