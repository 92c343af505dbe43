"""A trial gets another digest where its machine code is the one that was timed, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("elftools", reason="pyelftools is not installed")

from tests.hashes import rekey
from tests.hashes.rekey import Made, key, rekeyed, stale

from imbrex.database.record import Device, Trial, Unit, Verdict
from imbrex.database.rows import Row

UNIT = Unit("gemm -t f16 -m 64 -n 64 -k 64", "sm_90a", Device("a GPU", ()), 0)
TRIAL = Trial("v2:direct", "ok", median_ns=1.0, source="old", session="one")
OTHER = replace(TRIAL, configuration="v2:aligned")
VERDICT = Verdict("v2:direct", "v2:direct", 1.0, 1.0, 1.0, 1, session="one")
BEFORE = {key((UNIT, TRIAL)): {"source": "old", "code": "code"}}


@pytest.mark.parametrize(
    ("made", "source"),
    [(Made("new", "code"), "new"), (Made("new", "other code"), "old"), ("it is refused", "old")],
)
def test_equal_code_alone(made: Made | str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def known(row: Row) -> Made | str:
        assert row == (UNIT, TRIAL), "what was not compiled before is not compiled"
        return made

    monkeypatch.setattr(rekey, "made_of", known)
    rows: list[Row] = [(UNIT, TRIAL), (UNIT, OTHER), (UNIT, VERDICT)]
    assert rekeyed(rows, BEFORE) == [(UNIT, replace(TRIAL, source=source)), *rows[1:]]


def test_trials_of_other_sources_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rekey, "rows_in", lambda _: [(UNIT, TRIAL), (UNIT, VERDICT), (UNIT, OTHER)])
    monkeypatch.setattr(
        rekey,
        "lowered_of",
        lambda row: SimpleNamespace(bundle=SimpleNamespace(digest="old" if row[1] == TRIAL else "new")),
    )
    assert list(stale(Path())) == [f"{key((UNIT, OTHER))}: its source is another one"]


def test_another_source_than_was_compiled_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(row: Row) -> Made | str:
        raise AssertionError(f"{row} was not compiled before")

    monkeypatch.setattr(rekey, "made_of", never)
    rows: list[Row] = [(UNIT, replace(TRIAL, source="older"))]
    assert rekeyed(rows, BEFORE) == rows
