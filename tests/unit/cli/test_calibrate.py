"""imbrex tune --calibrate: what is shown of a calibration, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imbrex.chip import CPU_ISAS, parameters
from imbrex.cli import calibrate as module
from imbrex.database import Calibration, Database, device_of
from imbrex.kernel import CPU
from imbrex.tuner.calibrate import Calibrated, Judged

Command = Callable[..., Any]
KNOWN = parameters(CPU_ISAS["avx2"])
SIZES = (("l2_bytes", 1 << 20, 1 << 20), ("l3_bytes", 480 << 20, 16 << 20))
JUDGED = (Judged("gemm -m 8 -n 8 -k 8", 0.349, 0.008), Judged("gemm -m 9 -n 9 -k 9", 0.0, 0.01))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "mine.db"))
    return tmp_path / "mine.db"


def outcome(monkeypatch: pytest.MonkeyPatch, is_kept: bool) -> None:
    values = tuple((p, 2 * p.default if p.name == "prices.copy" else p.default) for p in KNOWN)
    found = Calibrated("A CPU", values, SIZES, JUDGED, 48, is_kept)
    monkeypatch.setattr(module, "calibrate", lambda *_: found)


def test_a_table_of_what_differs_and_of_what_it_gains(
    imbrex: Command, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome(monkeypatch, True)
    said = imbrex("tune", "--calibrate")
    assert said.code == 0 and "34.9%" in said.out and "prices.copy" in said.out and str(path) in said.out
    assert "prices.gather" not in said.out and "L3: 16 MiB, 480 MiB by default" in said.out
    assert "picks are 17.4% slower than the best by default, 0.9% with" in said.out.replace("17.5", "17.4")
    told = json.loads(imbrex("tune", "--calibrate", "--format", "json").out)
    assert told["is_kept"] and told["caches"][1]["measured"] == 16 << 20
    assert len(told["parameters"]) == len(KNOWN) and told["problems"][0]["before"] == 0.349


def test_what_is_not_better_is_said(imbrex: Command, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome(monkeypatch, False)
    assert "not better than what there was, so nothing is changed" in imbrex("tune", "--calibrate").out


def test_ctrl_c_is_said(imbrex: Command, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> Calibrated:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "calibrate", stopped)
    said = imbrex("tune", "--calibrate")
    assert said.code == 130 and "parameters are what they were" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--calibrate", "gemm -m 8 -n 8 -k 8"), "'PROBLEM' is about those that are tuned"),
        (("--calibrate", "--trials", "3"), "'--trials' is about those that are tuned"),
        (("--calibrate", "--ray", "local"), "'--ray' is about those that are tuned"),
        (("--calibrate", "--budget", "0m"), "no time to spend"),
        (("--calibrate", "--target", "gfx942", "--emulate"), "no parameters that could be fitted"),
        ((), "missing argument 'PROBLEM...'"),
    ],
)
def test_bad_words(words: tuple[str, ...], message: str, imbrex: Command, path: Path) -> None:
    said = imbrex("tune", *words)
    assert said.code in (1, 2) and message in said.errors


def test_without_a_database_nothing_is_measured(imbrex: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_DB", "off")
    assert "IMBREX_DB is 'off'" in imbrex("tune", "--calibrate").errors


def test_explain_says_what_chooses(imbrex: Command, path: Path) -> None:
    problem = ("explain", "gemm -m 32 -n 32 -k 32", "--threads", "1")
    assert "calibrated" not in imbrex(*problem).out
    with Database(path) as db:
        db.calibrate("cpu", device_of(CPU), Calibration((("prices.call", 48.0),), 0.064, 0.032, 99))
    said = imbrex(*problem).out
    assert "picks are 3.2 % slower than the best, 6.4 % by default" in said and "calibrated 20" in said
    assert "calibrated" not in imbrex(*problem, "--untuned").out
    assert "calibrated" not in imbrex(*problem, "--target", "avx2").out
