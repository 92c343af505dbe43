"""A row holds what was measured, and the report what the rows come to."""

from __future__ import annotations

import json

import pytest

from imbrex.bench.ceiling import ceiling
from imbrex.bench.peer import NumPy
from imbrex.bench.report import measured, report
from imbrex.dtype import F32, F64, I8
from imbrex.problem import Gemm


def test_a_row_and_a_report() -> None:
    rows = [measured(Gemm(48, 48, 48), [NumPy()], 1, budget_s=0.01)]
    (row,) = rows
    assert row.is_right
    assert set(row.timings) == {"imbrex", "numpy"}
    assert row.gigaflops > 0
    assert row.ceiling_gigaflops is not None and row.ceiling_gigaflops > 0
    assert row.speedups["numpy"] == row.timings["numpy"].median_ns / row.timings["imbrex"].median_ns
    assert row.extra_bytes == row.kernel.workspace_bytes
    document = json.loads(json.dumps(report(rows, [NumPy()])))
    assert document["rows"][0]["problem"].startswith("gemm -t f32 -m 48")
    assert document["summary"][0]["speedups"]["numpy"] == pytest.approx(row.speedups["numpy"])
    assert (document["summary"][0]["right"], document["summary"][0]["threads"]) == (1, 1)
    assert document["machine"]["cores"] >= 1


def test_a_peer_that_does_not_take_part_is_named() -> None:
    row = measured(Gemm(16, 16, 16, epilogue="relu(x + bias)"), [NumPy()], 1, budget_s=0.01)
    assert row.is_right and set(row.timings) == {"imbrex"}
    assert row.to_json()["missing"] == {"numpy": "has no way to compute it"}


def test_the_ceiling_of_doubles_is_below_that_of_singles() -> None:
    single, double = ceiling(F32, 1), ceiling(F64, 1)
    assert single is not None and double is not None
    assert single.run() == 2 * double.run() > 0
    assert ceiling(I8, 1) is None
