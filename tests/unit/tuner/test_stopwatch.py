"""The stopwatch: which blocks it says were disturbed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count, islice
from types import SimpleNamespace
from typing import Any

import pytest
from tests.patience import HANG_S

from imbrex.kernel import CPU
from imbrex.problem import Gemm
from imbrex.tuner import stopwatch, worker
from imbrex.tuner.stopwatch import blocks


@contextmanager
def sampled(kernel: Any) -> Generator[Callable[[], float]]:
    """A kernel that takes a millisecond of sleep."""

    def sample() -> float:
        time.sleep(0.001)
        return 1e6

    yield sample


@pytest.mark.parametrize(("waited_ns", "is_disturbed"), [(0, False), (HANG_S * 10**9, True)])
def test_a_block_in_which_threads_waited_for_a_processor_is_disturbed(
    waited_ns: int, is_disturbed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = count(0, waited_ns) if waited_ns else iter([7] * 6)
    monkeypatch.setattr(stopwatch, "_sampled", sampled)
    monkeypatch.setattr(stopwatch, "_stolen", lambda: 0)
    monkeypatch.setattr(stopwatch, "_waited_ns", lambda: next(waits))
    kernels: Any = [SimpleNamespace(threads=2)] * 2
    assert list(islice(blocks(kernels), 3)) == [((1e6, 1e6), is_disturbed)] * 3


def test_what_one_thread_does_is_timed_by_its_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of which most of the time is others' takes what it computes; and no block is disturbed."""
    assert all(ns < 2e6 for (ns,), _ in islice(blocks([_kernel(threads=1)]), 3))
    assert all(ns > 5e6 for (ns,), _ in islice(blocks([_kernel(threads=2)]), 3))
    monkeypatch.setattr(stopwatch, "_stolen", lambda: 0)
    monkeypatch.setattr(stopwatch, "_waited_ns", count(0, HANG_S * 10**9).__next__)
    assert not any(is_disturbed for _, is_disturbed in islice(blocks([_kernel(threads=1)]), 3))


def _kernel(threads: int) -> Any:
    """A kernel that waits."""

    @contextmanager
    def resident(*arrays: Any, threads: int) -> Generator[Callable[[], None]]:
        yield lambda: time.sleep(0.005)

    loaded = SimpleNamespace(resident=resident)
    return SimpleNamespace(target=CPU, problem=Gemm(2, 2, 2), threads=threads, loaded=loaded)


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="this system does not tell")
def test_who_shares_a_processor_waits_for_it() -> None:
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])  # on the same one
    try:
        before, until = stopwatch._waited_ns(), time.monotonic() + HANG_S
        while stopwatch._waited_ns() - before < 10**7 and time.monotonic() < until:
            pass
        assert stopwatch._waited_ns() - before >= 10**7
    finally:
        other.kill()
        other.wait()
        os.sched_setaffinity(0, cpus)


@pytest.mark.parametrize(
    ("disturbed", "found"),
    [
        ((), [0.0, 1.0, 2.0]),
        ((0, 2), [1.0, 3.0, 4.0]),
        (range(1, 100), [0.0, 0.0, 1.0]),  # too few: whatever came first fills up
    ],
)
def test_samples_of_a_trial_are_those_that_nobody_disturbed(disturbed: Any, found: list[float]) -> None:
    timed = (((float(i),), i in disturbed) for i in count())
    assert worker._samples(timed, 3) == found
