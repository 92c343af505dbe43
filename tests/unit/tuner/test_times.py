"""Times: what is chosen of a product, what a crash costs, and when it ends; kernels' times are made up."""

from __future__ import annotations

import math
import runpy
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.unit.tuner.made_up_times import prepared, timed

from imbrex.bench.gpu.lot import OTHER_KINDS
from imbrex.bench.lot import drawn_lot
from imbrex.config.candidates import Candidate, candidates
from imbrex.config.configuration import parse
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.kernel import target_of
from imbrex.problem import Gemm, parse_problem
from imbrex.run.host_machine import host_machine
from imbrex.tuner import times as module
from imbrex.tuner.campaign import request_of
from imbrex.tuner.times import Product, Timed, apart, times

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
PROBLEM = "gemm -t bf16 -m 181 -n 2048 -k 8192 -transA 0 -transB 1 -g 1"
PRODUCT = Product(PROBLEM, "sm_90a", 4, 1, 0.1)


@pytest.fixture(scope="module")
def ranked() -> tuple[Candidate, ...]:
    (problem,) = parse_problem(PROBLEM)
    request = request_of(problem, target_of("sm_90a"), 1, host_machine())
    return candidates(replace(request, algorithm="direct")).ranked


def mode(one: Candidate) -> str:
    return one.configuration.products[0].schedule.mode


def tuning_of(one: Candidate) -> WarpgroupTuning:
    tuning = one.configuration.products[0].tuning
    assert isinstance(tuning, WarpgroupTuning), tuning
    return tuning


@pytest.mark.parametrize("count", [1, 2, 12, 40])
def test_the_pick_comes_first_and_others_are_near_it(ranked: tuple[Candidate, ...], count: int) -> None:
    found = apart(ranked, count, Random(1))
    assert found[0] == ranked[0] and len(set(found)) == len(found) == count
    assert all(one.cycles <= module.FARTHEST * ranked[0].cycles for one in found)
    assert found == apart(ranked, count, Random(1))


def test_every_family_of_schedules_and_many_tiles_are_among_them(ranked: tuple[Candidate, ...]) -> None:
    found, other = apart(ranked, 12, Random(1)), apart(ranked, 12, Random(2))
    assert {mode(one) for one in found} >= set(module.FAMILIES) and found != other
    assert any(mode(one) not in module.FAMILIES for one in found)
    tiles = {(tuning_of(one).m_per_block, tuning_of(one).n_per_block) for one in found}
    assert len(tiles) >= 6


def test_no_two_differ_in_the_order_of_tiles_alone(ranked: tuple[Candidate, ...]) -> None:
    found = apart(ranked, 10_000, Random(1))
    kinds = {(replace(tuning_of(one), group=1), mode(one)) for one in found}
    assert 100 < len(found) < len(ranked) and len(kinds) == len(found)


def test_where_no_matrix_unit_serves_those_of_vectors_are_chosen() -> None:
    (problem,) = parse_problem("gemm -m 208 -n 792 -k 536 -transA 1")
    request = request_of(problem, target_of("sm_90a"), 1, host_machine())
    found = apart(candidates(replace(request, algorithm="direct")).ranked, 8, Random(1))
    tunings = {one.configuration.products[0].tuning for one in found}
    assert len(tunings) >= 5 and all(isinstance(one, GeneralTuning) for one in tunings)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "prepared", prepared)
    monkeypatch.setattr(module, "timed", timed)


def test_a_crash_costs_its_own_configuration(made_up: None) -> None:
    few, four, none = PRODUCT, replace(PRODUCT, count=2), replace(PRODUCT, count=0)
    found = {one.product: one for one in times([few, four, none], 1, time.monotonic() + 60)}
    assert found[four] == Timed(four, {"1": 1.0, "2": 2.0}, {"0": "not legal", "together": "2"})
    assert found[few].microseconds == {"1": 1.0, "2": 2.0, "4": 4.0}
    assert set(found[few].refused) == {"0", "3", "together"} and found[few].refused["together"] == "1"
    assert "crash" in found[few].refused["3"]
    assert found[none].refused == {"": "error: ValueError: no configuration"}


def test_what_has_not_ended_in_time_is_left_out(made_up: None) -> None:
    long = replace(PRODUCT, count=2000)
    began = time.monotonic()
    assert list(times([long], 1, time.monotonic() + 0.5)) == []
    assert list(times([PRODUCT], 1, time.monotonic() - 1)) == []
    assert time.monotonic() - began < 30


def test_other_kinds_are_products_that_the_copy_engine_brings() -> None:
    """Rows of both operands begin at multiples of 16 bytes."""
    for one in drawn_lot(OTHER_KINDS, 7):
        problem = one.problem
        assert isinstance(problem, Gemm), problem
        rows = [
            problem.m if problem.transpose_a else problem.k,
            problem.k if problem.transpose_b else problem.n,
        ]
        assert all(row * problem.dtype.bytes % 16 == 0 for row in rows), one.title


def test_a_table_of_times_is_what_a_correction_is_fitted_to(tmp_path: Path) -> None:
    script, fit = (runpy.run_path(str(BENCHMARKS / f"{name}.py")) for name in ("times", "correction"))
    texts = [
        f"v2:direct+product=v1:warpgroup:64,144,64,8,1,1,1,cooperative,straight,2@{words}"
        for words in ("data_parallel", "split_k:132,early")
    ]
    assert [str(parse(text)) for text in texts] == texts
    one = Timed(PRODUCT, dict(zip(texts, (20.0, 10.0), strict=True)), {"x": "not legal"})
    none = Timed(PRODUCT, {}, {"": "not legal"})
    path = tmp_path / "lot.json.gz"
    path.write_bytes(
        script["table"]({"about": "two times", "when": "2026-11-30"}, [("few rows", one), ("tall", none)])
    )
    (series,) = fit["series_of"](path)
    assert series.source == "lot, few rows" and series.problem == PROBLEM
    assert [round(math.exp(us)) for us in series.times] == [20, 10]
    assert [str(schedule) for _, schedule in series.plans] == ["data_parallel", "split_k:132"]
    _, of_lot, in_all = fit["report"]([series], [])
    assert of_lot.startswith("lot, few rows: 1 problems, ")
    assert in_all.startswith("all of 16 bits: 1 problems, ")
    assert {fit["part_of"](f"{PROBLEM} -n {n}", 5) for n in range(40)} == set(range(5))


def test_a_convolution_is_timed_by_all_algorithms_and_fitted_without_what_they_copy(tmp_path: Path) -> None:
    script, fit = (runpy.run_path(str(BENCHMARKS / f"{name}.py")) for name in ("times", "correction"))
    text = "convfp16 -n 64 -c 80 -H 17 -W 17 -k 192 -y 3 -x 3 -p 1 -q 1 -F 1"
    (problem,) = parse_problem(text)
    chosen = apart(
        candidates(request_of(problem, target_of("sm_90a"), 1, host_machine())).ranked, 12, Random(1)
    )
    assert len({replace(one.configuration, products=()) for one in chosen}) > 1
    product = "product=v1:warpgroup:128,80,64,7,2,1,1,cooperative,straight,1@data_parallel"
    one = Timed(
        replace(PRODUCT, problem=text),
        {
            f"v2:channels_last+taps_first+channels=32+{product}": 30.0,
            f"v2:channels_last+taps_first+channels=64+{product}": 20.0,
            f"v2:v4r4+taps_first+channels=32+{product}": 10.0,
            "v2:direct": 5.0,
        },
    )
    path = tmp_path / "lot.json.gz"
    path.write_bytes(script["table"]({"about": "times", "when": "2026-12-01"}, [("nchw forward", one)]))
    (series,) = fit["series_of"](path)
    copied = [us - math.exp(own) for us, own in zip((30.0, 20.0), series.times, strict=True)]
    assert len(series.plans) == 2 and copied[0] == pytest.approx(copied[1]) and 1 < copied[0] < 10
