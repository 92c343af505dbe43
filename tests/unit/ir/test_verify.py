"""Where a rule of an operation ends: the last text that it admits, and the first that it refuses."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load

MULTIPLY = "miopen.threadwise_gemm(%a{}, %b, %c)"
CASES = {
    "k of both": ("%a: memref<8x4xf32, #5>", MULTIPLY.format(""), None),
    "other k": ("%a: memref<7x4xf32, #5>", MULTIPLY.format(""), "k of a and b differ: 7 and 8"),
    "k behind an index": ("%a: memref<2x8x4xf32, #5>, %i: index", MULTIPLY.format("[%i]"), None),
    "other k behind an index": (
        "%a: memref<8x7x4xf32, #5>, %i: index",
        MULTIPLY.format("[%i]"),
        "k of a and b differ: 7 and 8",
    ),
    "packs of k": ("%a: memref<2x4x4xf32, #5>", MULTIPLY.format(""), None),
    "a row": ("%a: memref<7x4xf32, #5>, %i: index", MULTIPLY.format("[%i]"), None),
}
VIEW = "%o = arith.constant {} : index\n  %v = miopen.subview(%s, %o) : memref<64xi8, #5> to memref<{}, #5>"


def refusal(arguments: str, body: str) -> str | None:
    """What is said of a function of these arguments."""
    try:
        load(f"func.func @f({arguments}) {{\n  {body}\n  func.return\n}}", "f.mlir")
    except Diagnostic as error:
        return error.message
    return None


@pytest.mark.parametrize("case", CASES)
def test_k_of_a_product(case: str) -> None:
    arguments, body, said = CASES[case]
    assert refusal(f"{arguments}, %b: memref<8x4xf32, #5>, %c: memref<4x4xf32, #5>", body) == said


@pytest.mark.parametrize(
    ("element", "size"),
    [("f64", 8), ("f32", 4), ("tf32", 4), ("i32", 4), ("bf16", 2), ("f8E4M3FN", 1), ("i8", 1), ("i16", 2)],
)
def test_bytes_of_a_view(element: str, size: int) -> None:
    """Four elements at the end of 64 bytes, and a byte further; a tf32 takes the room of an f32."""
    end = 64 - 4 * size
    assert refusal("%s: memref<64xi8, #5>", VIEW.format(end, f"4x{element}")) is None
    said = f"bytes {end + 1} to 65 lie outside the source's 64 bytes"
    assert refusal("%s: memref<64xi8, #5>", VIEW.format(end + 1, f"4x{element}")) == said


def test_an_element_without_a_size_lies_anywhere() -> None:
    assert refusal("%s: memref<64xi8, #5>", VIEW.format(4096, "4xindex")) is None
