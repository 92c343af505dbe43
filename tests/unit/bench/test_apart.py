"""Contenders apart: each in its process, at rest between its turns, and alone in what goes wrong."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from imbrex.bench import apart as module
from imbrex.bench.apart import Apart, at_rest
from imbrex.diagnostic import Diagnostic
from imbrex.run.isolated import Failed
from imbrex.run.time import Timing


@dataclass(frozen=True)
class Fake:
    """Writes which process it is called in, and ends as it is told at its second call, in its first turn."""

    log: Path
    end: str = ""

    def ready(self) -> Callable[[], object]:
        if self.end == "refuse":
            raise Diagnostic("has no way to compute it")
        calls: list[int] = []

        def call() -> None:
            with self.log.open("a") as log:
                log.write(f"{os.getpid()}\n")
            calls.append(0)
            time.sleep(0.001)
            if len(calls) > 1:
                self.goes_wrong()

        return call

    def goes_wrong(self) -> None:
        match self.end:
            case "crash":
                os._exit(3)
            case "error":
                raise ValueError("not\nso")
            case _:
                pass


@pytest.fixture
def apart() -> Iterator[Apart]:
    with Apart() as made:
        yield made


def test_each_has_a_process_which_stays(apart: Apart, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        found = apart.timed({"a": Fake(log), "b": Fake(log)}, budget_s=0.0, least=2)
        assert all(isinstance(found[name], Timing) for name in "ab")
    pids = log.read_text().split()
    assert len(set(pids)) == 2 and str(os.getpid()) not in pids
    turns = [pid for pid, before in zip(pids, ["", *pids], strict=False) if pid != before]
    assert turns == turns[:2] * (len(turns) // 2)


def test_who_goes_wrong_loses_its_own_place_only(apart: Apart, tmp_path: Path) -> None:
    ends = ("", "refuse", "crash", "error")
    found = apart.timed({end: Fake(tmp_path / f"log{end}", end) for end in ends}, budget_s=0.0, least=2)
    assert isinstance(found[""], Timing)
    assert found["refuse"] == Failed("error", "has no way to compute it")
    assert found["crash"] == Failed("crash", "the process ended with exit code 3")
    assert found["error"] == Failed("error", "ValueError: not\nso")
    again = apart.timed({"crash": Fake(tmp_path / "log")}, budget_s=0.0, least=1)
    assert isinstance(again["crash"], Timing)


def test_a_turn_ends_when_threads_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    at_rest()
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    done = threading.Event()
    busy = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(done.is_set, True)])
    busy.start()
    try:
        with pytest.raises(Diagnostic, match="threads are still busy"):
            at_rest()
    finally:
        done.set()
        busy.join()
