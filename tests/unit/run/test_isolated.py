"""What happens in a process of its own stays there: errors, crashes, hangs, and everything after them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from tests.patience import HANG_S

from imbrex.run import isolated
from imbrex.run.isolated import Failed, Isolated


def behaviour(word: str) -> object:
    match word:
        case "hang":
            time.sleep(2 * HANG_S)
        case "crash":
            os._exit(3)
        case "error":
            raise ValueError("no such thing")
        case "broken":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
    return os.getpid()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Isolated]:
    monkeypatch.setattr(isolated, "STARTING_S", float(HANG_S))
    with Isolated(behaviour) as made:
        yield made


def test_an_error_keeps_the_process(calls: Isolated) -> None:
    first = calls("fine")
    assert first != os.getpid()
    assert calls("error") == Failed("error", "ValueError: no such thing")
    assert calls("fine") == first


def test_what_breaks_the_gpu_ends_the_process(calls: Isolated) -> None:
    first = calls("fine")
    assert calls("broken").kind == "error"
    assert calls("fine") != first


def test_a_crash(calls: Isolated) -> None:
    assert calls("crash") == Failed("crash", "the process ended with exit code 3")
    assert isinstance(calls("fine"), int)


def test_a_hang(calls: Isolated) -> None:
    first = calls("fine")
    assert calls("hang", 0.2) == Failed("hang", "no answer in 0 s")
    assert calls("fine") != first
