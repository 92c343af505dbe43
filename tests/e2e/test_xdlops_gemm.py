"""Products on waves: LDS layouts, ways to copy, orders of rows, chips, tails of K and more."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.covering import Row, covering, pairs
from tests.e2e.many import Case, wrong
from tests.pairs import one_in

from imbrex.dtype import DTYPES
from imbrex.problem import Gemm

WAVE = (64, 32)
SHAPES: dict[str, dict[str, Any]] = {
    "one": {"m": 1, "n": 1},
    "a tile": {"m": 128, "n": 64},
    "a tile and one": {"m": 129, "n": 65, "batch": 2},
    "primes": {"m": 37, "n": 131, "alpha": 2.0, "beta": 3.0},
    "primes, A transposed": {"m": 67, "n": 29, "transpose_a": True},
    "primes, both transposed": {"m": 71, "n": 101, "transpose_a": True, "transpose_b": True, "beta": 1.0},
    "primes, B transposed": {"m": 139, "n": 43, "transpose_b": True},
}
AXES = {
    "type": ("f32", "f16", "bf16", "f64", "i8", "f8e4m3fnuz", "f8e5m2"),
    "chip": ("gfx908", "gfx90a", "gfx942", "gfx950"),
    "shape": tuple(SHAPES),
    "waves": ((1, 1), (2, 1), (1, 2), (2, 2)),
    "steps": (0.5, 1, 1.25, 2, 2.75, 4),
    "lds": ("xor", "padded", "plain", "tiled"),
    "swapped": ("straight", "swapped"),
    "interleave": (1, 2, 4),
    "buffers": (1, 2),
}
CHIPS = {"f64": AXES["chip"][1:], "f8e4m3fnuz": ("gfx942",), "f8e5m2": ("gfx950",)}
"""Of the types that not all chips multiply."""

DIRECT = {
    "type": ("f32", "f16", "bf16", "i8", "f64", "f8e5m2"),
    "chip": ("gfx942", "gfx950"),
    "shape": ("one", "primes, B transposed"),
    "waves": ((1, 1), (2, 2)),
    "steps": (0.5, 1, 2, 2.5, 4),
    "lds": ("xor", "plain", "tiled"),
    "swapped": ("straight", "swapped"),
    "interleave": (1, 2),
}
"""Lanes load neighbours in k of both operands: 4 bytes of them, on gfx950 16.  So B is transposed, and K is
whole vectors."""


def allowed(row: Row) -> bool:
    """Chips multiply their types; integers are not scaled."""
    kind = row.get("type", "f32")
    is_scaled = {"alpha", "beta"} & set(SHAPES[row.get("shape", "one")])
    return row.get("chip", "gfx942") in CHIPS.get(kind, AXES["chip"]) and not (kind == "i8" and is_scaled)


def case(row: Row, copy: str) -> Case:
    pack = 16 // DTYPES[row["type"]].bytes
    block = [size * count for size, count in zip(WAVE, row["waves"], strict=True)]
    numbers = [*block, 4, *WAVE, pack]
    words = [row["lds"], copy, row["swapped"], row["interleave"], row.get("buffers", 2)]
    shape = SHAPES[row["shape"]] | ({"transpose_b": True} if copy == "direct" else {})
    k = int(row["steps"] * 4 * pack)
    problem = Gemm(k=k if copy == "direct" else k - 1 if k % 3 else k, dtype=row["type"], **shape)
    return Case(problem, f"v1:xdlops:{','.join(map(str, [*numbers, 'auto', *words]))}", row["chip"])


STAGED_ROWS = one_in(2, covering(AXES, allowed))


def direct(row: Row) -> bool:
    """gfx942 has no f64 whose lanes load neighbours."""
    return allowed(row) and (row.get("type"), row.get("chip")) != ("f64", "gfx942")


DIRECT_ROWS = one_in(2, covering(DIRECT, direct, seed=7))


@pytest.mark.parametrize("part", range(2))
def test_staged(part: int) -> None:
    assert wrong([case(row, "staged") for row in STAGED_ROWS[part::2]], seed=part) == []


def test_direct() -> None:
    assert wrong([case(row, "direct") for row in DIRECT_ROWS]) == []


@pytest.mark.parametrize(("axes", "rows"), [(AXES, STAGED_ROWS), (DIRECT, DIRECT_ROWS)])
def test_every_value_is_met(axes: dict[str, Any], rows: list[Row]) -> None:
    met = {entry for row in rows for pair in pairs(row) for entry in pair}
    assert met == {(name, value) for name, values in axes.items() for value in values}
