"""The tuner: problems by weight, shares of the time, what cannot be tuned; and the whole, on this CPU."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from imbrex.config.candidates import candidates
from imbrex.config.configuration import Configuration, parse
from imbrex.config.cpu.plan import CpuTuning
from imbrex.database import Database, Trial, Unit, Verdict, device_of
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU, target_of
from imbrex.problem import Gemm, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.tuner.campaign import Plan, Refused, Tuner, here_of, request_of, weighted
from imbrex.tuner.outcome import Tuned
from imbrex.tuner.pool import Host

SMALL = Gemm(48, 40, 32)


def test_problems_are_tuned_once_with_their_count() -> None:
    other = Gemm(8, 8, 8)
    assert weighted([SMALL, other, SMALL]) == {SMALL: 2, other: 1}


def test_an_effort_is_a_number_of_trials() -> None:
    assert [Plan({}, target_of(), 1, effort).wanted for effort in ("quick", "normal", "full")] == [
        8,
        50,
        None,
    ]
    assert Plan({}, target_of(), 1, "full", trials=3).wanted == 3


def test_a_cpu_is_no_list_of_gpus() -> None:
    """Lanes side by side would time on the same cores."""
    with pytest.raises(
        Diagnostic, match="'devices' are GPUs by number, and kernels of cpu are timed on none"
    ):
        Plan({SMALL: 1}, CPU, 1, devices=(0, 1))


def test_an_emulator_of_instructions_has_no_times() -> None:
    with pytest.raises(Diagnostic, match="no times"):
        Tuner(Plan({SMALL: 1}, target_of("gfx942", "isa"), 1), _never, lambda *_: None, lambda *_: None).run()


def test_a_problem_is_tuned_on_this_cpu_and_one_that_cannot_be_is_told(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    no = Gemm(8, 8, 8, dtype="tf32")
    ended: list[tuple[Tuned | Refused, int]] = []
    plan = Plan({SMALL: 3, no: 1}, target_of(), 1, trials=3)
    Tuner(
        plan, lambda: Database(path), lambda *_: None, lambda one, times: ended.append((one, times))
    ).run()  # fmt: skip
    found = {type(one): (one, times) for one, times in ended}
    tuned, times = found[Tuned]
    assert isinstance(tuned, Tuned) and times == 3 and tuned.counts == {"ok": 3} and tuned.is_done
    assert tuned.pick_ns is not None and tuned.build_s > 0
    refused, _ = found[Refused]
    assert isinstance(refused, Refused) and "tf32" in refused.reason.message
    with Database(path) as database:
        trials = database.trials(tuned.unit)
    assert len(trials) == 3 and all(trial.source and trial.compiler and trial.samples for trial in trials)
    assert tuned.unit.problem == problem_text(SMALL)


def test_what_won_nearby_is_tried_after_the_models_pick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tile that the model ranks last is the second trial of a problem whose neighbour it serves best."""
    path, near, asked = tmp_path / "db.sqlite", Gemm(96, 96, 96), Gemm(96, 96, 128)
    monkeypatch.setenv("IMBREX_DB", str(path))
    ranked = candidates(request_of(near, CPU, 1, host_machine())).ranked
    pick, winner = str(ranked[0].configuration), str(ranked[-1].configuration)
    with Database(path) as database:
        unit = Unit(problem_text(near), "cpu", device_of(CPU), 1)
        database.record(unit, Trial(winner, "ok", 10.0))
        database.conclude(unit, Verdict(winner, pick, 1.5, 1.4, 1.6, 20))
    Tuner(Plan({asked: 1}, CPU, 1, trials=2), lambda: Database(path), lambda *_: None, lambda *_: None).run()
    with Database(path) as database:
        tried = database.trials(Unit(problem_text(asked), "cpu", device_of(CPU), 1))
    tiles = [_tile(parse(trial.configuration)) for trial in tried]
    assert len(tiles) == 2 and _tile(parse(winner)) in tiles and _tile(parse(winner)) != _tile(parse(pick))


def test_an_interrupt_waits_until_every_device_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    works, ended, join = threading.Event(), list[str](), threading.Thread.join
    turns = iter((lambda: None, works.wait))  # one device ends at once, the other one while it is waited for

    def opened() -> Database:
        next(turns)()
        ended.append(threading.current_thread().name)
        raise Diagnostic("no database")

    def interrupted(*_: object) -> None:
        monkeypatch.setattr(threading.Thread, "join", join)
        while not tuner._over:
            threading.Event().wait(0.01)
        monkeypatch.setattr("imbrex.tuner.campaign.time.sleep", lambda _: works.set())
        raise KeyboardInterrupt

    hosts = (Host(1, (None, None), here=here_of(CPU)),)
    tuner = Tuner(Plan({SMALL: 1}, CPU, 1), opened, lambda *_: None, lambda *_: None, hosts=hosts)
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            tuner.run()
        assert len(ended) == 2
    finally:
        works.set()


def _tile(of: Configuration) -> tuple[int, int]:
    tuning = of.products[0].tuning
    assert isinstance(tuning, CpuTuning)
    return tuning.m_per_thread, tuning.n_per_thread


def _never() -> Database:
    raise AssertionError("nothing is opened")
