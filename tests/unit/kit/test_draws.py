"""How a kit says that operands are drawn: what fits their types, and what each kind of values stands for."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.kit.expected import _draws as draws
from imbrex.problem import Gemm
from imbrex.verify.unit import PLAIN


def drawn(dtype: str, values: Any, beta: float = 0.0) -> dict[str, Any]:
    found = dict(draws(Gemm(3, 4, 5, dtype=dtype, beta=beta), values, PLAIN, 32))
    return {role: {k: v for k, v in entry.items() if k != "kept"} for role, entry in found.items()}


@pytest.mark.parametrize(
    ("dtype", "values", "entry"),
    [
        ("i8", "integer", {"kind": "whole", "low": -128, "high": 127}),
        ("i8", "float", {"kind": "whole", "low": -128, "high": 127}),
        ("i8", "probe", {"kind": "whole", "low": -126, "high": 126}),
        ("f32", "probe", {"kind": "odd", "bits": 24}),
        ("f16", "probe", {"kind": "odd", "bits": 11}),
        ("f32", "float", {"kind": "real", "bits": 24}),
        ("f16", "float", {"kind": "real", "bits": 11}),
        ("bf16", "float", {"kind": "real", "bits": 8}),
    ],
)
def test_operands_are_drawn_by_their_type(dtype: str, values: str, entry: dict[str, Any]) -> None:
    """Of probes without the ends of whole numbers, whose negatives there are not."""
    assert drawn(dtype, values) == {"a": {"seed": 32, **entry}, "b": {"seed": 33, **entry}}


def test_a_result_that_is_read_is_drawn() -> None:
    assert set(drawn("f32", "integer")) == {"a", "b"}
    assert set(drawn("f32", "integer", beta=1.0)) == {"a", "b", "c"}
    whole = drawn("f32", "integer")["a"]
    assert whole["kind"] == "whole" and whole["low"] == -whole["high"] < 0
