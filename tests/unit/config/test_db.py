"""TuningDb: what is kept, what is not trusted, and damage."""

import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from imbrex.config.db import Trial, TuningDb
from imbrex.config.general.plan import GeneralTuning
from imbrex.diagnostic import Diagnostic

A = GeneralTuning(256, 128, 128, 8, 4, 4)
B = GeneralTuning(64, 64, 64, 16, 4, 4)
C = GeneralTuning(64, 32, 32, 4, 2, 2)


def test_the_fastest_right_trial_is_best_and_survives_closing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tuning.db"
    with TuningDb(path, "1") as db:
        assert db.best("gemm", "gfx942") is None
        db.record("gemm", "gfx942", Trial(A, "ok", 20.0))
        db.record("gemm", "gfx942", Trial(B, "ok", 10.0))
        db.record("gemm", "gfx942", Trial(C, "wrong", None, "element (0, 0)"))
    with TuningDb(path, "1") as db:
        assert db.best("gemm", "gfx942") == Trial(B, "ok", 10.0)
        assert db.trials("gemm", "gfx942") == [
            Trial(B, "ok", 10.0),
            Trial(A, "ok", 20.0),
            Trial(C, "wrong", None, "element (0, 0)"),
        ]


def test_a_wrong_trial_is_never_best(tmp_path: Path) -> None:
    with TuningDb(tmp_path / "t.db", "1") as db:
        db.record("p", "t", Trial(A, "wrong", 1.0, "bad"))
        assert db.best("p", "t") is None


def test_problem_target_and_generator_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with TuningDb(path, "1") as db:
        db.record("p", "t", Trial(A, "ok", 1.0))
        assert db.best("q", "t") is None and db.best("p", "u") is None
    with TuningDb(path, "2") as db:
        assert db.best("p", "t") is None


def test_a_later_trial_replaces_an_earlier_one(tmp_path: Path) -> None:
    with TuningDb(tmp_path / "t.db", "1") as db:
        db.record("p", "t", Trial(A, "ok", 1.0))
        db.record("p", "t", Trial(A, "ok", 3.0))
        assert db.trials("p", "t") == [Trial(A, "ok", 3.0)]


@pytest.mark.parametrize(
    "damage", [b"not a database at all, but long enough to be read as a header" * 40, b"SQLite"]
)
def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(damage)
    with TuningDb(path, "1") as db:
        db.record("p", "t", Trial(A, "ok", 1.0))
    assert (tmp_path / "t.db.corrupt").read_bytes() == damage
    with TuningDb(path, "1") as db:
        assert db.best("p", "t") == Trial(A, "ok", 1.0)


def test_a_file_cut_short_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with TuningDb(path, "1") as db:
        for i in range(1, 400):
            db.record(f"problem {i}" * 20, "t", Trial(A, "ok", float(i)))
    path.write_bytes(path.read_bytes()[:4096])
    with TuningDb(path, "1") as db:
        db.record("p", "t", Trial(A, "ok", 1.0))
        assert db.best("p", "t") == Trial(A, "ok", 1.0)


def test_a_file_damaged_in_use_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with TuningDb(path, "1") as db:
        for i in range(1, 400):
            db.record(f"problem {i}" * 20, "t", Trial(A, "ok", float(i)))
    whole = path.read_bytes()
    with TuningDb(path, "1") as db:
        path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
        db.record("p", "t", Trial(A, "ok", 1.0))
        assert db.trials("p", "t") == [Trial(A, "ok", 1.0)]
    assert (tmp_path / "t.db.corrupt").exists()


def test_another_schema_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("create table trial (other text)")
    connection.commit()
    connection.close()
    with TuningDb(path, "1") as db:
        db.record("p", "t", Trial(A, "ok", 1.0))
        assert db.best("p", "t") is not None
    assert (tmp_path / "t.db.corrupt").exists()


def test_a_tuning_of_a_later_version_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with TuningDb(path, "1") as db:
        db.record("p", "t", Trial(A, "ok", 2.0))
    connection = sqlite3.connect(path)
    connection.execute("insert into trial values ('p', 't', '1', 'v9:general:1', 'ok', 1.0, '')")
    connection.commit()
    connection.close()
    with TuningDb(path, "1") as db:
        assert db.best("p", "t") == Trial(A, "ok", 2.0)


def test_a_path_that_cannot_be_made_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Diagnostic, match="cannot open the tuning database"):
        TuningDb(tmp_path / "file" / "t.db", "1")
    with pytest.raises(Diagnostic, match="cannot open the tuning database"):
        TuningDb(tmp_path, "1")


def _write(path: Path, worker: int) -> None:
    with TuningDb(path, "1") as db:
        for i in range(20):
            db.record("p", "t", Trial(GeneralTuning(64, 32, 32, 1 + i, 2, 1 + worker), "ok", float(i)))


def test_processes_may_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_write, args=(path, w)) for w in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    with TuningDb(path, "1") as db:
        assert len(db.trials("p", "t")) == 80
