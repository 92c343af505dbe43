"""A calibration: what is timed, what is kept and when, what others choose by it; on made-up times."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import imbrex
from imbrex.chip import CPU_ISAS, PRICES, Machine, parameters, with_parameters
from imbrex.config.candidates import Candidate
from imbrex.config.configuration import parse
from imbrex.config.modelled import modelled
from imbrex.config.request import Request
from imbrex.database import Calibration, Database, device_of
from imbrex.database.warning import DatabaseWarning
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU, target_of
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.key import key_of
from imbrex.kernel.options import options_of
from imbrex.pipeline import calibrated, configuration_of, lower, machine_on
from imbrex.problem import parse_problem, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.tuner import calibrate as module
from imbrex.tuner.calibrate import Calibrated, calibrate
from imbrex.tuner.samples import problems_for, spread
from imbrex.tuner.task import Build, Built, Contest, Contested, Probe, Probed, Work

PLAIN = replace(machine_on(host_machine(), "cpu", 1), prices=PRICES)
OTHER = with_parameters(PLAIN, [("prices.apart.l2", 0.02), ("prices.turned", 30.0), ("prices.sum", 6.0)])
TEXTS = (
    "gemm -m 64 -n 64 -k 64", "gemm -m 16 -n 128 -k 128", "gemm -m 96 -n 96 -k 96 -transA 1",
    "gemm -m 33 -n 65 -k 47", "gemm -m 72 -n 72 -k 72 -transB 1",
    "gemm -m 128 -n 48 -k 128 -transA 1 -transB 1",
)  # fmt: skip
ROUNDS = (3, 6)


ORDERS: dict[str, list[int]] = {}


def spread_once(ranked: Sequence[Candidate], request: Request, count: int) -> list[int]:
    """The order of a problem's candidates, which no test here changes."""
    text = problem_text(request.problem)
    return ORDERS.get(text) or ORDERS.setdefault(text, spread(ranked, request, count))


class Fake:
    """Builders and a timer, by the model of another machine.  after: a probe at which the user says stop.
    drift: the standard deviation of what the machine's speed changes from trial to trial.
    """

    count = 4
    true: Machine = OTHER
    probes, after, drift = 0, 10**9, 0.0
    chance = random.Random(0)

    def __init__(self, *_: object) -> None: ...
    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, task: Build) -> Future[Built]:
        future: Future[Built] = Future()
        future.set_result(Built("source", "compiler", 0.0))
        return future

    def probe(self, task: Probe, limit_s: float) -> Probed:
        Fake.probes += 1
        if Fake.probes > Fake.after:
            raise KeyboardInterrupt
        (cycles,) = Fake.cycles(task.work, (task.configuration,))
        return Probed(None, (cycles * math.exp(Fake.drift * Fake.chance.gauss(0, 1)),) * 10)

    def contest(self, task: Contest, limit_s: float) -> Contested:
        return Contested((Fake.cycles(task.work, task.configurations),) * task.blocks, (False,) * task.blocks)

    @staticmethod
    def cycles(work: Work, configurations: Sequence[str]) -> tuple[float, ...]:
        (problem,) = parse_problem(work.problem)
        return tuple(modelled(Request(problem, PLAIN), list(map(parse, configurations)))(Fake.true))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "t.db"))
    monkeypatch.setenv("IMBREX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(CPU_ISAS, PLAIN.name, replace(CPU_ISAS[PLAIN.name], prices=PRICES))
    for name, fake in (("Builders", Fake), ("Timer", Fake)):
        monkeypatch.setattr(module, name, fake)
    monkeypatch.setattr(module, "problems_for", lambda _: TEXTS)
    monkeypatch.setattr(module, "cache_sizes", lambda _: {})
    monkeypatch.setattr(module, "ROUNDS", ROUNDS)
    monkeypatch.setattr(module, "spread", spread_once)
    monkeypatch.setattr(Fake, "true", OTHER)
    monkeypatch.setattr(Fake, "probes", 0)
    monkeypatch.setattr(Fake, "after", 10**9)
    monkeypatch.setattr(Fake, "drift", 0.0)
    return tmp_path / "t.db"


def run(path: Path, budget_s: float = 600.0) -> Calibrated:
    return calibrate(CPU, budget_s, 2, lambda: Database(path), lambda *_: None, lambda: None)


def kept(path: Path) -> Calibration | None:
    with Database(path) as db:
        return db.calibration("cpu", device_of(CPU))


def test_what_makes_picks_faster_is_kept_however_the_speed_of_trials_changes(path: Path) -> None:
    """A guest that comes and goes makes trials up to three times as slow; those in turn decide."""
    Fake.drift = 0.5
    found = run(path)
    assert found.is_kept and found.after < found.before and found.times == ROUNDS[1] * len(TEXTS)
    told = kept(path)
    assert told is not None and dict(told.parameters)["prices.turned"] > 15
    assert (told.before, told.after, told.times) == (found.before, found.after, found.times)


def test_where_the_model_is_right_nothing_is_kept(path: Path) -> None:
    Fake.true = PLAIN
    found = run(path)
    assert not found.is_kept and found.before < 0.01 and kept(path) is None


def test_ctrl_c_leaves_the_old_values_and_keeps_the_times(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Calibration((("prices.copy", 4.5),), 0.1, 0.05, 7, "old")
    with Database(path) as db:
        db.calibrate("cpu", device_of(CPU), old)
    Fake.true, Fake.after = PLAIN, ROUNDS[0] * len(TEXTS) + 5
    with pytest.raises(KeyboardInterrupt):
        run(path)
    told = kept(path)
    assert told is not None and told.parameters == old.parameters
    Fake.after = 10**9
    monkeypatch.setattr(module, "fitted", lambda found, machine: machine)
    monkeypatch.setattr(module, "held_out", lambda found, machine: [0.0] * len(found))
    run(path)
    assert Fake.probes == ROUNDS[1] * len(TEXTS) + 1, "what was measured is not measured again"


def test_too_little_time_is_said(path: Path) -> None:
    with pytest.raises(Diagnostic, match="needs times of 6 problems, and has those of 0"):
        run(path, 1e-9)
    assert kept(path) is None


@pytest.mark.parametrize(
    "where", [target_of("gfx942", True), target_of("gfx942"), target_of("sm_90a", True), target_of("neon")]
)
def test_a_target_without_parameters_is_refused(where: Any, path: Path) -> None:
    with pytest.raises(Diagnostic, match="no parameters that could be fitted"):
        calibrate(where, 60, 1, lambda: Database(path), lambda *_: None, lambda: None)


def test_every_later_choice_uses_it_and_nothing_else_does(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "gemm -m 192 -n 192 -k 192"
    (problem,) = parse_problem(text)
    plain = options_of(problem, CPU, Constraints(), 1, None)
    fitted = (("prices.apart.l2", 0.03), ("prices.apart.l3", 0.1))
    with Database(path) as db:
        db.calibrate("cpu", device_of(CPU), Calibration(fitted, 0.1, 0.05, 7))
    here = options_of(problem, CPU, Constraints(), 1, None)
    assert here.calibration and here.calibration.parameters == fitted and key_of(here) != key_of(plain)
    assert pickle.loads(pickle.dumps(here)) == here
    untuned = options_of(problem, CPU, Constraints(), 1, None, untuned=True)
    given = options_of(problem, CPU, Constraints(config="v2:direct"), 1, None)
    gpu = options_of(problem, target_of("gfx942"), Constraints(), 1, None)
    assert untuned.calibration == given.calibration == gpu.calibration is None
    assert key_of(untuned) == key_of(plain)
    monkeypatch.setenv("IMBREX_DB", "off")
    assert options_of(problem, CPU, Constraints(), 1, None) == plain


def test_a_calibrated_pick_is_built(path: Path) -> None:
    """Prices that forbid to read B in place."""
    text = "gemm -m 13 -n 64 -k 64"
    before = imbrex.compile(text, threads=1)
    fitted = (("prices.read_in_place", 3.0), ("prices.apart.l2", 0.03), ("prices.call", 48.0))
    with Database(path) as db:
        db.calibrate("cpu", device_of(CPU), Calibration(fitted, 0.1, 0.05, 7))
    after = imbrex.compile(text, threads=1)
    assert after.configuration != before.configuration and after.check().is_right
    assert imbrex.compile(text, threads=1, untuned=True).configuration == before.configuration


def test_a_configuration_has_one_source_whatever_chose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also how many threads its launches wake, which the row of the level decides."""
    (problem,) = parse_problem("gemm -m 256 -n 256 -k 64")
    plain = machine_on(host_machine(), "cpu", 8)
    other = calibrated(plain, (("prices.sum", 8.0), ("fma_per_cycle", 1.0), ("l3_bytes", float(1 << 20))))
    assert other != plain and calibrated(plain, ()) == plain
    config = configuration_of(Request(problem, other))
    sources = {lower(Request(problem, of, config=config)).bundle.digest for of in (plain, other)}
    assert len(sources) == 1
    level = CPU_ISAS[plain.name]
    monkeypatch.setitem(CPU_ISAS, plain.name, replace(level, prices=replace(level.prices, wake=1e12)))
    assert lower(Request(problem, plain, config=config)).bundle.digest not in sources


def test_what_was_fitted_to_another_model_is_passed_over_with_a_warning(path: Path) -> None:
    with Database(path) as db:
        db.calibrate("cpu", device_of(CPU), Calibration((("prices.gone", 1.0),), 0.1, 0.05, 7))
    with pytest.warns(DatabaseWarning, match=r"'prices.gone' is no parameter of the model of"):
        imbrex.compile("gemm -m 24 -n 24 -k 24", threads=1)


def test_samples_are_problems_of_some_hundredths_to_one_millisecond_and_a_large_one() -> None:
    *most, largest = sorted(parse_problem(text)[0].flops for text in problems_for(PLAIN))
    assert all(1e6 < count < 3e8 for count in most) and largest < 3e9


def test_configurations_that_are_timed_begin_with_the_pick_and_with_the_same_ones() -> None:
    from imbrex.config.candidates import candidates

    (problem,) = parse_problem(TEXTS[3])
    request = Request(problem, PLAIN)
    ranked = candidates(request).ranked
    few, more = (spread(ranked, request, count) for count in (8, 16))
    assert few[0] == 0 and more[:8] == few and len(set(more)) == 16


def test_samples_of_a_gpu_are_problems_with_a_model() -> None:
    from imbrex.chip import GPU_MACHINES

    gpu = GPU_MACHINES["sm_90a"]
    assert parameters(gpu) and all(math.log(parse_problem(t)[0].flops) > 20 for t in problems_for(gpu))
