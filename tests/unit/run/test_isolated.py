"""What happens in a process of its own stays there: errors, crashes, hangs, and everything after them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.patience import HANG_S

from imbrex.run import isolated
from imbrex.run.isolated import Failed, Isolated


def behaviour(word: str) -> object:
    match word:
        case "family":
            return os.getpid(), subprocess.Popen(["sleep", str(4 * HANG_S)]).pid
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


def test_a_process_that_another_thread_ends_is_a_crash_to_whoever_waits(calls: Isolated) -> None:
    calls("fine")
    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(calls, "hang", 8 * HANG_S)
        until = time.monotonic() + HANG_S
        while not calls._is_called and time.monotonic() < until:
            time.sleep(0.01)
        calls.end()
        assert waits.result(HANG_S) == Failed("crash", "the process ended with exit code -9")
    assert isinstance(calls("fine"), int)


def test_what_a_process_started_ends_with_it(calls: Isolated) -> None:
    family = calls("family")
    calls.end()
    assert _gone(family)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("then", [f"calls('hang', {8 * HANG_S})", f"__import__('time').sleep({HANG_S})"])
def test_what_hangs_or_waits_for_a_task_does_not_outlive_whoever_is_killed(then: str) -> None:
    program = (
        f"from {__name__} import Isolated, behaviour\n"
        "calls = Isolated(behaviour)\n"
        "print(*calls('family'), flush=True)\n"
        f"{then}\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert asking.stdout is not None
    family = [int(word) for word in asking.stdout.readline().split()]
    asking.kill()
    asking.wait()
    asking.stdout.close()
    assert len(family) == 2 and _gone(family)


def _gone(numbers: Iterable[int]) -> bool:
    """Do these processes end, long before they would by themselves?"""
    until = time.monotonic() + HANG_S
    while any(map(_lives, numbers)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(_lives, numbers))


def _lives(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
