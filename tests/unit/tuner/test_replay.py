"""Replays of recorded times: records survive files, and the search finds what the model's order misses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from imbrex.config.candidates import Candidate
from imbrex.config.configuration import parse
from imbrex.tuner.replay import Record, read, regrets, write

RECORDS = Path(__file__).resolve().parents[3] / "benchmarks" / "records"
PRODUCTS = ("gemm_f32_nn_m8_n1024_k1024_g1", "gemm_f32_tt_m320_n320_k320_g1")
LINE = "v2:direct+product=v1:cpu:8,48,{},96,256,16,k_major,a,straight@data_parallel"
SMALL = Record(
    {"problem": "gemm -m 8 -n 8 -k 8"},
    tuple(Candidate(parse(LINE.format(48 * i)), 100.0 + i) for i in range(1, 31)),
    tuple(None if i % 7 == 1 else 1000.0 + 100 * (i % 5) for i in range(30)),
)


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "small.txt.gz"
    write(SMALL, path)
    assert read(path) == SMALL
    first = path.read_bytes()
    write(read(path), path)
    assert path.read_bytes() == first


def test_another_models_order_keeps_times_with_their_configurations() -> None:
    turned = SMALL.ranked_by([float(-i) for i in range(30)])
    assert turned.candidates[0].configuration == SMALL.candidates[-1].configuration
    assert turned.times_ns == SMALL.times_ns[::-1]


def test_regret_is_counted_from_the_fastest_of_the_record() -> None:
    assert SMALL.regret[0] == 0 and SMALL.regret[2] == pytest.approx(0.2) and np.isinf(SMALL.regret[1])
    assert regrets(SMALL, "model", (1, 30), 0) == [0.0, 0.0]


def test_the_model_pick_stays_until_a_finalist_has_proven_itself() -> None:
    """Equal times: whatever noise says, the outcome is the pick."""
    equal = Record({}, SMALL.candidates, (1000.0, *[1001.0] * 29))
    assert all(regrets(equal, "random", (30,), seed) == [0.0] for seed in range(10))


def test_a_replay_is_the_same_again() -> None:
    assert regrets(SMALL, "search", (8, 16, 30), 3) == regrets(SMALL, "search", (8, 16, 30), 3)


def test_the_search_finds_on_recorded_times_what_the_models_order_does_not() -> None:
    records = [read(RECORDS / f"{name}.txt.gz") for name in PRODUCTS]

    def mean(strategy: str) -> float:
        runs = [regrets(r, strategy, (50,), seed)[0] for r in records for seed in range(8)]  # type: ignore[arg-type]
        return float(np.mean(runs))

    assert mean("search") < mean("model")
    assert mean("search") < 0.03
