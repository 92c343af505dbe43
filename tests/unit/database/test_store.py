"""Database: what is kept, who wins, several writers, and what cannot be used."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from imbrex.database import Calibration, Database, Device, Trial, Unit, Verdict, open_user
from imbrex.database.connection import opened_to_read, telling
from imbrex.database.damage import salvaged
from imbrex.database.prune import Prune
from imbrex.database.text import read
from imbrex.database.view import rows_in
from imbrex.database.warning import DatabaseWarning
from imbrex.diagnostic import Diagnostic

DEVICE = Device("A CPU", (("isa", "avx2"), ("l2", "1048576")), (("usable_threads", "2"),))
UNIT = Unit("gemm -m 8 -n 8 -k 8", "cpu", DEVICE, 1)
DATA = Path(__file__).parent / "data"
FITTED = Calibration((("prices.copy", 4.25),), 0.06, 0.03, 99, "c")
A, B, PICK = "v2:direct+product=a", "v2:direct+product=b", "v2:direct+product=pick"


def test_trials_come_fastest_first_and_survive_closing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tuning.db"
    with Database(path) as db:
        assert db.trials(UNIT) == []
        db.record(UNIT, Trial(A, "ok", 20.0, 1.0, 5, "digest", "clang", "", "s"))
        db.record(UNIT, Trial(B, "ok", 10.0, 0.5, 5, session="s"))
        db.record(UNIT, Trial(PICK, "wrong", note="element (0, 0)", session="s", is_cold=False))
    with Database(path) as db:
        found = db.trials(UNIT)
    assert [(t.configuration, t.median_ns, t.status) for t in found] == [
        (B, 10.0, "ok"),
        (A, 20.0, "ok"),
        (PICK, None, "wrong"),
    ]
    assert found[1] == Trial(A, "ok", 20.0, 1.0, 5, "digest", "clang", "", "s", found[1].when)
    assert found[1].when > "2026"
    assert not found[2].is_cold


@pytest.mark.parametrize(
    "other",
    [
        replace(UNIT, problem="gemm -m 9 -n 8 -k 8"),
        replace(UNIT, target="emulate (gfx942)"),
        replace(UNIT, threads=2),
        replace(UNIT, device=replace(DEVICE, name="another CPU")),
        replace(UNIT, device=replace(DEVICE, hardware=(("isa", "avx512"),))),
    ],
)
def test_rows_are_of_their_unit_alone(other: Unit, tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db.record(UNIT, Trial(A, "ok", 20.0))
        db.conclude(UNIT, Verdict(A, PICK, 1.2, 1.1, 1.3, 20))
        assert db.trials(other) == [] and db.best(other) is None


def test_conditions_make_no_other_device(tmp_path: Path) -> None:
    updated = replace(UNIT, device=replace(DEVICE, conditions=(("usable_threads", "4"),)))
    with Database(tmp_path / "t.db") as db:
        db.record(UNIT, Trial(A, "ok", 20.0, session="s"))
        db.conclude(UNIT, Verdict(A, PICK, 1.2, 1.1, 1.3, 20, "s"))
        assert [t.configuration for t in db.trials(updated)] == [A]
        best = db.best(updated)
        assert best is not None and best.configuration == A


def test_a_configuration_of_a_session_is_one_row(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db.record(UNIT, Trial(A, "ok", 20.0, session="1"))
        db.record(UNIT, Trial(A, "ok", 19.0, session="1"))
        db.record(UNIT, Trial(A, "ok", 21.0, session="2"))
        assert [(t.median_ns, t.session) for t in db.trials(UNIT)] == [(19.0, "1"), (21.0, "2")]


def test_only_a_proven_verdict_wins(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db.record(UNIT, Trial(A, "ok", 10.0, source="digest", compiler="clang"))
        db.record(UNIT, Trial(PICK, "ok", 12.0))
        assert db.best(UNIT) is None, "the fastest of single trials proves nothing"
        db.conclude(UNIT, Verdict(A, PICK, 1.02, 0.99, 1.05, 60, "1"))
        best = db.best(UNIT)
        assert best is not None
        assert (best.configuration, best.gain, best.median_ns) == (PICK, 1.0, 12.0)
        db.conclude(UNIT, Verdict(A, PICK, 1.2, 1.1, 1.3, 20, "2"))
        best = db.best(UNIT)
        assert best is not None
        assert (best.configuration, best.gain, best.source, best.device) == (A, 1.2, "digest", "A CPU")
        db.conclude(UNIT, Verdict(PICK, PICK, 1.0, 1.0, 1.0, 0, "3"))
        best = db.best(UNIT)
        assert best is not None and best.configuration == PICK, "the latest verdict counts"


def test_a_winner_that_turns_out_wrong_is_none(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db.record(UNIT, Trial(A, "ok", 10.0, session="1"))
        db.conclude(UNIT, Verdict(A, PICK, 1.2, 1.1, 1.3, 20, "1"))
        db.record(UNIT, Trial(A, "wrong", note="element (3, 1)", session="2"))
        assert db.best(UNIT) is None


def test_a_clock_that_steps_back_makes_nothing_older(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db.conclude(UNIT, Verdict(A, PICK, 1.2, 1.1, 1.3, 20, "1", "2026-05-01T00:00:00.000000+00:00"))
        db.conclude(UNIT, Verdict(B, PICK, 1.3, 1.2, 1.4, 20, "2", "2026-04-01T00:00:00.000000+00:00"))
        best = db.best(UNIT)
        assert best is not None and best.configuration == B
        assert best.when == "2026-05-01T00:00:00.000001+00:00"


def test_adding_again_changes_nothing_and_the_later_row_stays(tmp_path: Path) -> None:
    early, late = (
        Trial(A, "ok", 20.0, session="s", when="2026-01"),
        Trial(A, "ok", 10.0, session="s", when="2026-02"),
    )
    with Database(tmp_path / "t.db") as db:
        for found in ([early], [late], [late], [early]):
            db.add([(UNIT, trial) for trial in found])
        assert db.trials(UNIT) == [late]


WRITER = """
import sys
from pathlib import Path
from imbrex.database import Calibration, Database, Trial
sys.path.insert(0, str(Path({here!r}).parent))
from test_store import UNIT
with Database(Path(sys.argv[1])) as db:
    for i in range(int(sys.argv[2])):
        db.record(UNIT, Trial(f"v2:{{sys.argv[3]}}{{i}}", "ok", float(i), session=sys.argv[3]))
        print(i, flush=True)
"""


def _writer(path: Path, rows: int, name: str) -> subprocess.Popen[str]:
    script = WRITER.format(here=__file__)
    command = [sys.executable, "-c", script, str(path), str(rows), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    writers = [_writer(path, 30, name) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    with Database(path) as db:
        assert len(db.trials(UNIT)) == 60


def test_a_killed_writer_loses_no_committed_row(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    writer = _writer(path, 1_000_000, "a")
    assert writer.stdout is not None
    for _ in range(50):
        writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    said = writer.stdout.read().split()
    writer.wait(60)
    with Database(path) as db:
        found = {trial.configuration for trial in db.trials(UNIT)}
    told = range(max(int(word) for word in said or ["49"]) + 1)
    assert {f"v2:a{i}" for i in told} <= found


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db.record(UNIT, Trial(A, "ok", 20.0))
        pages = db._connection.execute("pragma page_count").fetchone()[0]
        db._connection.execute(f"pragma max_page_count = {pages}")
        with pytest.raises(Diagnostic, match=r"the disk has no room for the database .*t\.db") as error:
            for i in range(1000):
                db.record(UNIT, Trial(f"v2:{i}", "ok", 20.0, note="x" * 500))
        assert error.value.hint is not None and "what was committed is kept" in error.value.hint
        found = len(db.trials(UNIT))
        assert found > 1
    with Database(tmp_path / "t.db") as db:
        assert len(db.trials(UNIT)) == found


def test_a_disk_too_full_for_the_logs_index_is_full(tmp_path: Path) -> None:
    """What SQLite calls an error of input or output."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    with pytest.raises(Diagnostic, match="the disk has no room"), telling(tmp_path / "t.db"):
        raise error
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    with pytest.raises(Diagnostic, match="cannot be used: disk I/O error"), telling(tmp_path / "t.db"):
        raise error


def test_a_folder_whose_name_is_no_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9 100%?" / "t.db"
    with Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 20.0))
    with closing(opened_to_read(path)) as found:
        assert found.execute("select count(*) from trial").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_others_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(Diagnostic, match="cannot be written: permission denied"):
            Database(tmp_path / "deep" / "t.db")
    finally:
        tmp_path.chmod(0o700)


def test_a_file_that_may_not_be_written_is_said(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db._connection.execute("pragma query_only = on")
        with pytest.raises(Diagnostic, match="may not be written"):
            db.record(UNIT, Trial(A, "ok", 20.0))


def test_a_file_where_a_folder_should_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(Diagnostic, match="cannot be written: "):
        Database(tmp_path / "f" / "t.db")


def test_a_file_that_stays_locked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imbrex.database.connection.BUSY_SECONDS", 0)
    with Database(tmp_path / "t.db") as db, closing(sqlite3.connect(tmp_path / "t.db")) as other:
        other.execute("begin immediate")
        with pytest.raises(Diagnostic, match="was locked by another process"):
            db.record(UNIT, Trial(A, "ok", 20.0))
        other.rollback()
        db.record(UNIT, Trial(A, "ok", 20.0))


def test_who_writes_keeps_nobody_from_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imbrex.database.connection.BUSY_SECONDS", 0)
    with Database(tmp_path / "t.db") as db:
        db.record(UNIT, Trial(A, "ok", 20.0))
    with closing(sqlite3.connect(tmp_path / "t.db")) as other:
        other.execute("begin immediate")
        with Database(tmp_path / "t.db") as db:
            assert db.count() == 1
        other.rollback()


def test_a_file_of_version_1_is_read_as_it_is_and_has_the_present_tables_when_it_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript((DATA / "version_1.sql").read_text())
    before = path.read_bytes()
    rows = set(rows_in(path))
    assert path.read_bytes() == before and rows == set(read((DATA / "version_1.txt").read_text()))
    with Database(path) as db:
        best = db.best(UNIT)
        assert best is not None and (best.configuration, best.median_ns) == (A, 10.0)
        db.calibrate("cpu", DEVICE, FITTED)
        assert set(rows_in(path)) > rows
    with Database(path) as db:
        assert db.count() == 6


def test_rows_of_a_damaged_file_of_version_1_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript((DATA / "version_1.sql").read_text())
    with closing(sqlite3.connect(path)) as file:
        assert {type(record) for _, record in salvaged(path)} == {Trial, Verdict}


@pytest.mark.parametrize("first", [True, False])
def test_verdicts_in_warm_caches_count_where_there_are_no_others(first: bool, tmp_path: Path) -> None:
    """Times are of the same kind; a failure counts of any."""
    rows = [
        (Trial(A, "ok", 10.0, session="c"), Verdict(A, PICK, 2.0, 1.9, 2.1, 20, "c")),
        (
            Trial(A, "ok", 4.0, session="w", is_cold=False),
            Verdict(B, PICK, 4.0, 3.9, 4.1, 20, "w", is_cold=False),
        ),
    ]
    with Database(tmp_path / "t.db") as db:
        for trial, verdict in rows if first else reversed(rows):
            db.record(UNIT, trial)
            db.conclude(UNIT, verdict)
        best = db.best(UNIT)
        assert best is not None and (best.configuration, best.gain, best.median_ns) == (A, 2.0, 10.0)
        db.record(UNIT, Trial(A, "crashed", session="w2", is_cold=False))
        assert db.best(UNIT) is None
    with Database(tmp_path / "warm.db") as db:
        db.conclude(UNIT, rows[1][1])
        best = db.best(UNIT)
        assert best is not None and best.configuration == B


def test_the_latest_calibration_of_a_device_counts(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        assert db.calibration("cpu", DEVICE) is None
        for copy in (4.0, 5.0):
            db.calibrate(
                "cpu", DEVICE, replace(FITTED, parameters=(("prices.copy", copy),), session=str(copy))
            )
        found = db.calibration("cpu", DEVICE)
        assert found is not None and found.parameters == (("prices.copy", 5.0),) and found.when > "2026"
        assert db.calibration("cpu", replace(DEVICE, name="another CPU")) is None
        assert db.calibration("sm_90a", DEVICE) is None
        assert db.prune(Prune(target="cpu")) == 2 and db.calibration("cpu", DEVICE) is None


def test_another_version_and_another_program_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    Database(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("pragma user_version = 99")
    with pytest.raises(Diagnostic, match="has version 99, and this Imbrex reads versions up to 2") as error:
        Database(path)
    assert error.value.hint is not None and "imbrex db export" in error.value.hint
    theirs = tmp_path / "theirs.db"
    with closing(sqlite3.connect(theirs)) as file:
        file.execute("create table trial (x)")
    with pytest.raises(Diagnostic, match="is another program's"):
        Database(theirs)
    notes = tmp_path / "notes.txt"
    notes.write_text("buy milk\n" * 100)
    with pytest.raises(Diagnostic, match="is a text, and no database"):
        Database(notes)
    assert notes.read_text().startswith("buy milk")


def test_rows_of_a_damaged_file_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Database(path) as db:
        for i in range(400):
            db.record(UNIT, Trial(f"v2:{i}", "ok", float(i), note="x" * 100, session="s"))
        db.conclude(UNIT, Verdict("v2:0", PICK, 1.2, 1.1, 1.3, 20, "s"))
    data = bytearray(path.read_bytes())
    row = next(m.start() for m in re.finditer(rb"v2:200", data) if b"x" * 100 in data[m.start() :][:200])
    place = row // 4096 * 4096
    data[place : place + 4096] = os.urandom(4096)
    path.write_bytes(data)
    with pytest.warns(DatabaseWarning, match=r"was damaged .*it is now t\.db\.corrupt, and \d+ of its rows"):
        db = Database(path)
    with db:
        assert 300 < len(db.trials(UNIT)) < 400
        best = db.best(UNIT)
        assert best is not None and best.configuration == "v2:0"
    assert (tmp_path / "t.db.corrupt").stat().st_size == len(data)


@pytest.mark.parametrize("content", [b"\0" * 5000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_of_nothing_is_set_aside(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    for n in ("", "1"):
        path.write_bytes(content)
        with pytest.warns(DatabaseWarning, match="0 of its rows were saved"), Database(path) as db:
            db.record(UNIT, Trial(A, "ok", 1.0))
        path.unlink()
        assert (tmp_path / f"t.db.corrupt{n}").read_bytes() == content


def test_damage_that_shows_later_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 1.0))
        db._connection.execute("pragma wal_checkpoint(truncate)")
        path.write_bytes(b"\0" * path.stat().st_size)
        db._connection.execute("pragma shrink_memory")
        with pytest.warns(DatabaseWarning):
            db.record(UNIT, Trial(B, "ok", 2.0))
            assert [t.configuration for t in db.trials(UNIT)] == [B]


def test_off_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IMBREX_DB", "off")
    with pytest.raises(Diagnostic, match="IMBREX_DB is 'off'"):
        open_user()
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "mine.db"))
    with open_user() as db:
        assert db.path == tmp_path / "mine.db"
