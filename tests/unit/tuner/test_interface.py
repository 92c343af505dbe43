"""`imbrex.tune`, and `imbrex.compile(..., tune=)`."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import imbrex
from imbrex.database import open_user
from imbrex.kernel import compile as compile_kernel
from imbrex.tuner import campaign

LINE = "gemm -m 40 -n 24 -k 56"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "db.sqlite"
    monkeypatch.setenv("IMBREX_DB", str(path))
    return path


def test_compile_takes_what_the_kernels_own_takes_and_tune() -> None:
    own, public = (inspect.signature(f).parameters for f in (compile_kernel, imbrex.compile))
    assert [name for name in public if name != "tune"] == list(own)
    assert all(public[name].default == own[name].default for name in own)


def test_problems_are_tuned_and_later_calls_use_what_won(kept: Path) -> None:
    (tuned,) = imbrex.tune([LINE, LINE], trials=2, threads=1)
    assert sum(tuned.counts.values()) == 2
    kernel = imbrex.compile(LINE, threads=1)
    assert kernel.configuration == tuned.winner
    (again,) = imbrex.tune(LINE, trials=2, threads=1)
    assert again.fresh == 0 and again.winner == tuned.winner


def test_a_call_tunes_itself(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "TRIALS", {**campaign.TRIALS, "quick": 2})
    kernel = imbrex.compile(LINE, threads=1, tune="quick")
    assert kernel.check().is_right
    with open_user() as database:
        assert database.path == kept
        found = imbrex.tune(LINE, threads=1, effort="quick")
        assert kernel.configuration == found[0].winner and found[0].fresh == 0


def test_what_is_chosen_cannot_be_tuned(kept: Path) -> None:
    with pytest.raises(imbrex.Diagnostic, match="'tune' chooses what 'algorithm' says"):
        imbrex.compile(LINE, algorithm="direct", tune="quick")


def test_a_problem_that_cannot_be_tuned_is_an_error(kept: Path) -> None:
    with pytest.raises(imbrex.Diagnostic, match="tf32"):
        imbrex.tune("gemm -t tf32 -m 8 -n 8 -k 8")


def test_tuning_needs_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_DB", "off")
    with pytest.raises(imbrex.Diagnostic, match="IMBREX_DB"):
        imbrex.tune(LINE)
