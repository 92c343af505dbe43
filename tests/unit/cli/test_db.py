"""imbrex db: what people see of the tuning database, and its ways in and out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imbrex.database import Database, Device, Trial, Unit, Verdict

Command = Callable[..., Any]
DEVICE = Device("A CPU", (("isa", "avx2"),))
PROBLEM = "gemm -t f32 -m 8 -n 8 -k 8 -transA 0 -transB 0 -g 1"
A, PICK = "v2:direct+product=a", "v2:direct+product=pick"


def fill(path: Path, median_ns: float = 10.0, target: str = "cpu") -> None:
    with Database(path) as db:
        unit = Unit(PROBLEM, target, DEVICE, 1)
        db.record(unit, Trial(A, "ok", median_ns, session="s"))
        db.record(unit, Trial(PICK, "wrong", session="s"))
        db.conclude(unit, Verdict(A, PICK, 1.25, 1.2, 1.3, 20, "s"))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "mine.db"))
    return tmp_path / "mine.db"


def test_list_and_best(imbrex: Command, path: Path) -> None:
    assert "0 tuned, 0 with a winner" in imbrex("db", "list").out
    path.touch()  # as mktemp leaves it
    assert "0 tuned, 0 with a winner" in imbrex("db", "list").out
    fill(path)
    fill(path, target="gfx942")
    said = imbrex("db", "list")
    assert (
        said.code == 0
        and "2 tuned, 2 with a winner" in said.out
        and "A CPU" in said.out
        and "1.25" in said.out
    )
    (only,) = json.loads(imbrex("db", "list", "--target", "gfx942", "--format", "json").out)
    assert (only["tried"], only["right"], only["configuration"], only["gain"]) == (2, 1, A, 1.25)
    said = imbrex("db", "best", "gemm -m 8 -n 8 -k 8", "--target", "cpu")
    assert said.code == 0 and A in said.out
    said = imbrex("db", "best", "gemm -m 9 -n 8 -k 8")
    assert said.code == 1 and "nothing won for gemm -t f32 -m 9" in said.errors


def test_export_import_and_merge(imbrex: Command, path: Path, tmp_path: Path) -> None:
    fill(path)
    printed = imbrex("db", "export").out
    text, other = tmp_path / "t.txt", tmp_path / "other.db"
    assert imbrex("db", "export", "-o", str(text)).code == 0 and text.read_text() == printed
    assert len(imbrex("db", "export", "--winners").out.splitlines()) == 4
    said = imbrex("db", "import", "--db", str(other), str(text))
    assert said.out == f"{text}: 3 rows, 3 of them new\n"
    assert imbrex("db", "export", "--db", str(other)).out == printed
    said = imbrex("db", "merge", str(other))
    assert said.out == f"{other}: 3 rows, 0 of them new\n"


def test_diff(imbrex: Command, path: Path, tmp_path: Path) -> None:
    fill(path)
    other = tmp_path / "other.db"
    fill(other, 20.0)
    said = imbrex("db", "diff", str(path), str(other))
    assert (
        said.code == 0 and f"1 differ; {path} is faster in 1, {other} in 0" in said.out and "0.50" in said.out
    )
    assert json.loads(imbrex("db", "diff", str(path), str(other), "--format", "json").out)[0]["ratio"] == 0.5


def test_prune(imbrex: Command, path: Path) -> None:
    assert "there is no database" in imbrex("db", "prune", "--target", "cpu").errors
    fill(path)
    assert "nothing says which rows go" in imbrex("db", "prune").errors
    assert imbrex("db", "prune", "--target", "cpu", "--dry-run").out == f"3 rows would go from {path}\n"
    assert imbrex("db", "prune", "--older-than", "1").out.startswith("0 rows went")
    assert imbrex("db", "prune", "--older-than", "0").out.startswith("3 rows went")
    assert imbrex("db", "export").out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("db", "export", "--db", "no-such"), "cannot read 'no-such': no such file or directory"),
        (("db", "import", __file__), "test_db.py:1:1: error: this is no text of a tuning database"),
        (("db", "diff", "a", "b"), "cannot read 'a'"),
        (("db", "lst"), "No such command 'lst'"),
    ],
)
def test_mistakes_are_one_message(imbrex: Command, path: Path, words: tuple[str, ...], message: str) -> None:
    said = imbrex(*words)
    assert said.code in (1, 2) and message.lower() in said.errors.lower() and "Traceback" not in said.errors
    assert not path.exists()


def test_off_is_said(imbrex: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_DB", "off")
    assert imbrex("db", "list").errors == "error: IMBREX_DB is 'off'\nhint: name a database with --db\n"
