"""What was measured is what a call gets: as a kernel's report says it, and where it cannot be."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.patience import said_when_warm

import imbrex
from imbrex.config.candidates import Candidate, candidates
from imbrex.config.configuration import parse
from imbrex.config.proposal import fitted, near_pick
from imbrex.database import Database, Trial, Unit, Verdict, device_of
from imbrex.database.warning import DatabaseWarning
from imbrex.kernel import CPU, Kernel, compile
from imbrex.pipeline import Request, machine_for
from imbrex.problem import parse_problem, problem_text
from imbrex.run.host_machine import host_machine

TEXT = "gemm -m 96 -n 96 -k 96"
(PROBLEM,) = parse_problem(TEXT)


@pytest.fixture(scope="module")
def pick() -> Kernel:
    """What the model chooses."""
    return compile(PROBLEM, threads=1)


@pytest.fixture(scope="module")
def other(pick: Kernel) -> Kernel:
    """Another kernel of the problem, which we say is faster."""
    here = host_machine()
    of = machine_for("cpu", here.isa.level, 1, here.l2_bytes, here.l3_bytes, here.isa.fma_per_cycle)
    config = candidates(Request(PROBLEM, of)).ranked[5].configuration
    return compile(PROBLEM, threads=1, config=config)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "t.db"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DatabaseWarning)
        yield tmp_path / "t.db"


def tuned(
    path: Path, configuration: str, pick: Kernel, source: str = "", problem: str = TEXT, low: float = 1.4
) -> None:
    unit = Unit(problem_text(parse_problem(problem)[0]), "cpu", device_of(CPU), 1)
    with Database(path) as db:
        db.record(unit, Trial(configuration, "ok", 10.0, source=source))
        db.conclude(unit, Verdict(configuration, pick.configuration, 1.5, low, 1.6, 20))


def test_without_a_database_the_model_chooses_and_with_a_configuration_the_caller(
    pick: Kernel, other: Kernel
) -> None:
    assert (pick.choice.by, str(pick.choice)) == ("model", "by the model")
    assert (other.choice.by, str(other.choice)) == ("caller", "as asked for")


def test_what_was_measured_is_used_and_said(pick: Kernel, other: Kernel, database: Path) -> None:
    tuned(database, other.configuration, pick, other.source_digest)
    for name in (None, "mine"):
        kernel = compile(PROBLEM, threads=1, name=name)
        assert kernel.configuration == other.configuration != pick.configuration
        assert kernel.report["choice"]["by"] == "measured" and kernel.report["choice"]["gain"] == 1.5
        assert "1.50 x the model's pick (user database)" in str(kernel.choice)
    assert kernel.check().is_right
    assert pickle.loads(pickle.dumps(kernel)).choice == kernel.choice


@pytest.mark.parametrize("asked", [{"untuned": True}, {"algorithm": "direct"}, {"threads": 2}])
def test_who_asks_for_something_else_gets_that(
    asked: dict[str, object], pick: Kernel, other: Kernel, database: Path
) -> None:
    tuned(database, other.configuration, pick, other.source_digest)
    kernel = compile(PROBLEM, **({"threads": 1} | asked))  # type: ignore[arg-type]
    assert kernel.choice.by in ("model", "caller")
    assert kernel.configuration != other.configuration


def test_a_gain_that_is_measured_again_is_said(pick: Kernel, other: Kernel, database: Path) -> None:
    tuned(database, other.configuration, pick, other.source_digest)
    compile(PROBLEM, threads=1)
    with Database(database) as db:
        unit = Unit(problem_text(PROBLEM), "cpu", device_of(CPU), 1)
        db.conclude(unit, Verdict(other.configuration, pick.configuration, 1.7, 1.6, 1.8, 20, "later"))
    kernel = compile(PROBLEM, threads=1)
    assert kernel.was_cached and kernel.choice.gain == 1.7


@pytest.mark.parametrize(
    ("configuration", "why"),
    [
        ("v1:direct+product=v1:cpu:6,16,48,96,96,16,k_blocked,b,straight@data_parallel", "expected 'v2'"),
        ("v2:direct+product=v1:cpu:6,16,0,96,96,16,k_blocked,b,straight@data_parallel", ""),
        (
            "v2:no_such+product=v1:cpu:6,16,48,96,96,16,k_blocked,b,straight@data_parallel",
            "unknown algorithm",
        ),
        ("v2:v4r4+product=v1:cpu:6,16,48,96,96,16,k_blocked,b,straight@data_parallel", "algorithm 'v4r4'"),
        ("v2:direct+new_key=1", "unknown key"),
        ("v2:direct", ""),
    ],
)
def test_what_can_no_longer_be_built_is_passed_over_and_said_once(
    configuration: str, why: str, pick: Kernel, database: Path
) -> None:
    tuned(database, configuration, pick)
    with pytest.warns(DatabaseWarning, match="the measured .* is passed over") as told:
        kernel = compile(PROBLEM, threads=1)
    assert len(told) == 1 and why in str(told[0].message)
    assert kernel.configuration == pick.configuration
    assert kernel.choice.by == "model" and "is passed over" in str(kernel.choice)
    again = compile(PROBLEM, threads=1)
    assert again.was_cached and again.choice == kernel.choice


def test_another_source_than_the_measured_one_is_a_proposal(
    pick: Kernel, other: Kernel, database: Path
) -> None:
    tuned(database, other.configuration, pick, "of other code")
    with pytest.warns(DatabaseWarning, match="had another source"):
        kernel = compile(PROBLEM, threads=1)
    assert kernel.choice.by in ("nearest", "model") and "had another source" in kernel.choice.passed_over


def test_a_configuration_from_nearby_is_taken_where_the_model_lets_it(
    pick: Kernel, other: Kernel, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = "gemm -m 96 -n 96 -k 128"
    tuned(database, other.configuration, pick, problem=near)
    monkeypatch.setattr("imbrex.config.proposal.MARGIN", 1e9)
    kernel = compile(PROBLEM, threads=1)
    assert kernel.configuration == other.configuration
    assert (kernel.choice.by, kernel.choice.problem) == ("nearest", problem_text(parse_problem(near)[0]))
    assert kernel.check().is_right


def test_blocks_of_a_cpu_fit_the_problem_that_they_are_proposed_for() -> None:
    def ranked(k: int, level: str) -> list[Candidate]:
        (problem,) = parse_problem(f"gemm -m 96 -n 96 -k {k}")
        return list(candidates(Request(problem, machine_for("cpu", level, 1))).ranked)

    proposal, near = ranked(96, "avx2")[0].configuration, near_pick(ranked(128, "avx2"))
    (found,) = fitted([proposal], near).values()
    assert found.products[0].tuning.k_per_block == 128  # type: ignore[union-attr]
    assert proposal.products[0].tuning.k_per_block == 96  # type: ignore[union-attr]
    assert fitted([parse("v2:v4r4")], near) == {}
    of_another, wide = ranked(96, "avx512")[0].configuration, ranked(128, "avx512")
    assert fitted([of_another], wide) and fitted([of_another], near_pick(wide)) == {}


def test_control_where_the_pick_stayed_nothing_is_proposed(
    pick: Kernel, other: Kernel, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database(database) as db:
        unit = Unit(problem_text(parse_problem("gemm -m 96 -n 96 -k 112")[0]), "cpu", device_of(CPU), 1)
        db.conclude(unit, Verdict(other.configuration, other.configuration, 1.0, 1.0, 1.0, 20))
    monkeypatch.setattr("imbrex.config.proposal.MARGIN", 1e9)
    assert compile(PROBLEM, threads=1).choice.by == "model"


def test_control_a_configuration_that_the_model_expects_to_be_slow_is_not(
    pick: Kernel, other: Kernel, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned(database, other.configuration, pick, problem="gemm -m 96 -n 96 -k 120")
    monkeypatch.setattr("imbrex.config.proposal.MARGIN", 1e-9)
    kernel = compile(PROBLEM, threads=1)
    assert (kernel.configuration, kernel.choice.by) == (pick.configuration, "model")


def test_a_warm_start_with_a_database_imports_no_compiler(
    pick: Kernel, other: Kernel, database: Path, kernel_cache: Path
) -> None:
    tuned(database, other.configuration, pick, other.source_digest)
    compile(PROBLEM, threads=1)
    absent = ("xdsl", "imbrex.ir", "imbrex.view", "imbrex.emit", "imbrex.pipeline", "rich", "filelock")
    program = (
        "import sys, json, imbrex\n"
        f"kernel = imbrex.compile({TEXT!r}, threads=1)\n"
        "assert kernel.was_cached\n"
        f"print(json.dumps([kernel.choice.by, [m for m in sys.modules if m.startswith({absent})]]))\n"
    )
    said, errors = said_when_warm(program, kernel_cache, IMBREX_DB=str(database))
    assert errors == ""
    assert json.loads(said) == ["measured", []]


def test_functions_use_it_at_once_where_this_process_tuned(
    pick: Kernel, other: Kernel, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []

    def compiled(*args: Any, **words: Any) -> Kernel:
        used.append((kernel := compile(*args, **words)).configuration)
        return kernel

    monkeypatch.setattr("imbrex.function.batches.compile", compiled)
    a = np.ones((96, 96), np.float32)
    call = partial(imbrex.gemm, a, a, threads=1)
    call(), call()
    tuned(database, other.configuration, pick, other.source_digest)
    call(), call()
    assert used == [pick.configuration, other.configuration]


def test_a_pick_that_nothing_beat_is_measured_too(pick: Kernel, other: Kernel, database: Path) -> None:
    tuned(database, other.configuration, pick, low=0.99)
    kernel = compile(PROBLEM, threads=1)
    assert kernel.configuration == pick.configuration
    assert kernel.choice.by == "measured" and kernel.choice.gain == 1.0
