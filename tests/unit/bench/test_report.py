"""A row holds what was measured, and the report what the rows come to."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.pairs import in_turn

from imbrex.bench.apart import Apart
from imbrex.bench.ceiling import ceiling, copy
from imbrex.bench.peer import NumPy
from imbrex.bench.report import measured, report
from imbrex.chip import CPU_ISAS
from imbrex.dtype import BF16, F16, F32, F64, I8, DType
from imbrex.kernel import compile
from imbrex.problem import Gemm
from imbrex.run.host_machine import host_machine
from imbrex.view.mma.vector import fastest_unit


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    with Apart() as made:
        yield made


def test_a_row_and_a_report(apart: Apart) -> None:
    rows = [measured(compile(Gemm(48, 48, 48), threads=1), [NumPy()], 1, apart, budget_s=0.01)]
    (row,) = rows
    assert row.is_right
    assert set(row.timings) == {"imbrex", "numpy"}
    assert row.gigaflops > 0
    assert row.ceiling is not None and row.ceiling.gigaflops > 0
    assert row.copy_ns is not None and row.copy_ns > 0 and row.copy_share is not None
    by_memory = row.copy_share > row.gigaflops / row.ceiling.gigaflops
    assert row.is_bound_by_memory == (by_memory and not row.is_bound_by_call)
    assert row.speedups["numpy"] == row.timings["numpy"].median_ns / row.timings["imbrex"].median_ns
    assert row.extra_bytes == row.kernel.workspace_bytes
    document = json.loads(json.dumps(report(rows, [NumPy()])))
    assert document["rows"][0]["problem"].startswith("gemm -t f32 -m 48")
    assert document["summary"][0]["speedups"]["numpy"] == pytest.approx(row.speedups["numpy"])
    assert (document["summary"][0]["right"], document["summary"][0]["threads"]) == (1, 1)
    assert document["machine"]["cores"] >= 1


def test_what_is_mostly_a_call_is_named_so(apart: Apart) -> None:
    least, large = (
        measured(compile(Gemm(size, size, size), threads=1), [], 1, apart, budget_s=0.01) for size in (2, 320)
    )
    assert least.is_bound_by_call and not least.is_bound_by_memory
    assert not large.is_bound_by_call
    (told,) = report([least, large], [])["summary"]
    assert told["bound_by_call"] == 1
    share = large.copy_share if large.is_bound_by_memory else large.ceiling_share
    assert (told["copy_share"] or told["ceiling_share"]) == pytest.approx(share)
    assert told["copy_share"] is None or told["ceiling_share"] is None


def test_a_peer_that_does_not_take_part_is_named(apart: Apart) -> None:
    row = measured(
        compile(Gemm(16, 16, 16, epilogue="relu(x + bias)"), threads=1), [NumPy()], 1, apart, budget_s=0.01
    )
    assert row.is_right and set(row.timings) == {"imbrex"}
    assert row.to_json()["missing"] == {"numpy": "has no way to compute it"}


def test_the_ceiling_of_doubles_is_below_that_of_singles() -> None:
    single, double = ceiling(F32, 1), ceiling(F64, 1)
    assert single.run() == single.flops == 2 * double.run() > 0


@pytest.mark.parametrize("element", [F16, BF16, I8, F32], ids=str)
def test_every_type_has_the_ceiling_of_its_unit(element: DType) -> None:
    found = ceiling(element, 2)
    assert found.unit == fastest_unit(CPU_ISAS[host_machine().isa.level], element).name
    assert found.run() == found.flops == 2 * ceiling(element, 1).flops > 0
    assert found.peak(0.0).gigaflops > 0


SIZES = (0, 3, 1 << 17, (1 << 17) + 2, 3_000_001, 5 << 20)


@pytest.mark.parametrize(("size", "threads"), in_turn(SIZES, [1, 2, 5], whole=[3_000_001]))
def test_a_copy_is_of_any_size(size: int, threads: int) -> None:
    found = copy(size, threads)
    assert found() == 0 and found.source.all() and (found.result == found.source).all()
