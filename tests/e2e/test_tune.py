"""imbrex tune as a user runs it: what it says, Ctrl-C and a kill, which take nothing away, and bad input.

What is asked of a database after that, and what is refused, is asked in this process.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.patience import HANG_S

from imbrex.cli import main

COMMAND = (sys.executable, "-m", "imbrex", "tune")
LINE = "gemm -m 72 -n 56 -k 40"
Ended: TypeAlias = "subprocess.CompletedProcess[str]"


def run(path: Path, *words: str) -> Ended:
    return subprocess.run(
        [*COMMAND, *words], env={**os.environ, "IMBREX_DB": str(path)}, capture_output=True, text=True,
        timeout=HANG_S, check=False,
    )  # fmt: skip


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """As `run`, without a process."""

    def ended(path: Path | str, *words: str) -> Ended:
        monkeypatch.setenv("IMBREX_DB", str(path))
        with pytest.raises(SystemExit) as end:
            main(["tune", *words])
        captured = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return subprocess.CompletedProcess(words, end.value.code, captured.out, captured.err)

    return ended


def trials(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, timeout=HANG_S)) as connection:
        try:
            return int(connection.execute("select count(*) from trial").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def test_a_log_is_tuned_once_and_then_there_is_nothing_to_do(
    tmp_path: Path, here: Callable[..., Ended]
) -> None:
    db, log = tmp_path / "db.sqlite", tmp_path / "log.txt"
    log.write_text(f"{LINE}\nno problem at all\n{LINE}\n{'gemm -t tf32 -m 8 -n 8 -k 8'}\n")
    words = (str(log), "--trials", "2", "--threads", "1", "--keep-going")
    first = run(db, *words, "--report", str(tmp_path / "out.html"))
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2 and "rank by the model" in page and "<script" not in page
    assert first.returncode == 0, first.stderr
    assert "skipped no problem at all" in first.stdout and "2 trials in" in first.stdout
    assert f"skipped gemm -t tf32 -m 8 -n 8 -k 8 -transA 0 -transB 0 -g 1 ({log}:4): " in first.stdout
    assert "tf32" not in first.stderr
    assert trials(db) == 2
    again = here(db, *words)
    assert "nothing to do" in again.stdout and trials(db) == 2
    document: Any = json.loads(here(db, *words, "--format", "json").stdout)
    result, refused = sorted(document["results"], key=len, reverse=True)
    assert "tf32" in refused["refused"] and len(document["skipped"]) == 2 and result["is_judged"]
    assert (result["times"], result["fresh_trials"], result["trials"]) == (2, 0, {"ok": 2})


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_ends_a_tuning_takes_nothing_away(
    tmp_path: Path, number: signal.Signals, here: Callable[..., Ended]
) -> None:
    db = tmp_path / "db.sqlite"
    words = (LINE, "--effort", "full", "--threads", "1")
    started = subprocess.Popen(
        [*COMMAND, *words], env={**os.environ, "IMBREX_DB": str(db)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    end = time.monotonic() + HANG_S
    while trials(db) < 2 and time.monotonic() < end and started.poll() is None:
        time.sleep(0.1)
    os.killpg(started.pid, number)
    out, err = started.communicate(timeout=HANG_S)
    if number == signal.SIGINT:
        assert started.returncode == 130, (out, err)
        assert "kept in" in out and "not judged yet; the same command goes on" in out
    kept = trials(db)
    assert kept >= 2
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("select distinct status from trial").fetchall() == [("ok",)]
    document: Any = json.loads(here(db, LINE, "--trials", "3", "--threads", "1", "--format", "json").stdout)
    assert document["results"][0]["fresh_trials"] <= 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--budget", "0m"), "is no time to spend"),
        (("--trials", "0"), "0 is not in the range"),
        (("--devices", "0,0"), "is no list of GPUs"),
        (("--devices", "0"), "kernels of cpu are timed on none"),
        (("--target", "gfx942", "--emulate=isa"), "no times that a tuning could compare"),
    ],
)
def test_what_cannot_be_is_one_message(
    tmp_path: Path, words: tuple[str, ...], told: str, here: Callable[..., Ended]
) -> None:
    ended = here(tmp_path / "db.sqlite", LINE, *words)
    assert ended.returncode in (1, 2) and told in ended.stderr and "Traceback" not in ended.stderr


def test_who_watches_is_told_what_is_best_the_gain_the_rate_and_the_time_left(tmp_path: Path) -> None:
    """On a terminal, from the first compiler on."""
    import pty

    ours, terminal = pty.openpty()
    started = subprocess.Popen(
        [*COMMAND, LINE, "--trials", "3", "--threads", "1", "--jobs", "1"],
        env={**os.environ, "IMBREX_DB": str(tmp_path / "db.sqlite"), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=terminal,
    )  # fmt: skip
    os.close(terminal)
    told = b""
    with suppress(OSError):  # the terminal's end, where nobody holds it
        while some := os.read(ours, 1 << 16):
            told += some
    os.close(ours)
    assert started.wait(HANG_S) == 0
    lines = [line for line in re.split(r"[\r\n]|\x1b\[2K", told.decode()) if "/3 " in line]
    assert "0/3 compiling 1" in lines[0], lines
    shown = r"0/1 gemm .*: [123]/3 .*; best [\d.]+ us, [\d.]+x the pick; [\d.]+/s; about [\d.]+ \w+ left"
    assert any(re.fullmatch(shown, line) for line in lines), lines


def test_a_problem_that_no_kernel_serves_is_told(tmp_path: Path, here: Callable[..., Ended]) -> None:
    ended = here(tmp_path / "db.sqlite", "gemm -t tf32 -m 8 -n 8 -k 8")
    assert ended.returncode == 1 and "skipped gemm -t tf32" in ended.stderr and "tf32" in ended.stderr


def test_no_database_is_an_error(here: Callable[..., Ended]) -> None:
    ended = here("off", LINE)
    assert ended.returncode == 1 and "IMBREX_DB" in ended.stderr
