"""`imbrex bench --target sm_90a` without a GPU: what is kept where, on a campaign that is played."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imbrex.cli import bench_gpu, main
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry
from imbrex.kernel import target_of
from imbrex.problem import Gemm

DOCUMENT: dict[str, Any] = {"gpu": {"name": "played"}, "rows": []}


class Played:
    """A campaign of no rows."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def run(self, keep: Callable[[dict[str, Any]], None], told: object) -> dict[str, Any]:
        keep(DOCUMENT)
        return DOCUMENT


@pytest.mark.parametrize("name", [None, "out.json"])
def test_a_document_is_kept_where_one_is_asked_for(
    name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_gpu, "require_gpu", lambda _: None)
    monkeypatch.setattr(bench_gpu, "Campaign", Played)
    output = None if name is None else str(tmp_path / name)
    entries = [ProblemEntry(Gemm(8, 8, 8))]
    words: dict[str, Any] = {"seconds": 0.1, "form": "json", "output": output}
    assert bench_gpu.bench_on_gpu(entries, target_of("sm_90a"), (), Skipped(), **words) == 0
    assert json.loads(capsys.readouterr().out) == {**DOCUMENT, "skipped": []}
    assert [json.loads(path.read_text()) for path in tmp_path.iterdir()] == ([DOCUMENT] if name else [])


def test_a_peer_that_is_named_and_not_installed_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit) as end:
        main(["bench", "gemm -m 8 -n 8 -k 8", "--target", "sm_90a", "--peers", "lt"])
    assert end.value.code == 1
    assert "the peer 'lt' needs nvmath-python, which is not installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "hint"), [("tritn", "did you mean 'triton'?"), ("xyz", "known: torch, lt, triton")]
)
def test_a_peer_that_there_is_not_is_an_error(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["bench", "gemm -m 8 -n 8 -k 8", "--target", "sm_90a", "--peers", name])
    assert end.value.code == 1
    assert capsys.readouterr().err == f"error: unknown peer '{name}'\nhint: {hint}\n"
