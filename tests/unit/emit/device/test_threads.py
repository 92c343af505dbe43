"""Threads of kernels: each workgroup runs once, whoever calls, from how many threads, and after a fork."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers
from imbrex.run.cpu import short_way

HERE = Path(__file__).parent
COUNT, MANY_LOOKS = 64, 20_000


@pytest.fixture(scope="module")
def path() -> Path:
    return build_shared({"threads.cpp": (HERE / "threads.cpp").read_text(), **device_headers("cpu")}).path


@pytest.fixture
def library(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def told(library: ctypes.CDLL, name: str, count: int, threads: int, looks: int = 0) -> np.ndarray:
    found = np.zeros(count, np.int32)
    pointer = ctypes.c_void_p(found.ctypes.data)
    assert library[name](pointer, ctypes.c_int64(count), threads, ctypes.c_int64(looks)) == 0
    return found


@pytest.mark.parametrize("threads", [-1, 0, 1, 2, 5, 300])
@pytest.mark.parametrize("count", [1, 2, COUNT])
def test_each_workgroup_runs_once(library: ctypes.CDLL, count: int, threads: int) -> None:
    for _ in range(20):
        assert set(told(library, "spread", count, threads)) == {1}


def test_callers_have_jobs_side_by_side(library: ctypes.CDLL) -> None:
    """More of them than the pool has places for."""
    rounds, wrong = 40, list[int]()

    def call() -> None:
        for _ in range(rounds):
            if set(told(library, "spread", COUNT, 3, 10)) != {1}:
                wrong.append(1)

    callers = [threading.Thread(target=call) for _ in range(20)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(120)
    assert not any(caller.is_alive() for caller in callers), "one of them waits for ever"
    assert not wrong


def test_a_forked_child_starts_threads_of_its_own(library: ctypes.CDLL) -> None:
    told(library, "spread", COUNT, 3, 100)
    child = os.fork()
    if child == 0:
        own = all(set(told(library, "spread", COUNT, 3, 100)) == {1} for _ in range(20))
        os._exit(0 if own else 1)
    assert os.waitpid(child, 0)[1] == 0


def threads_of(library: ctypes.CDLL) -> set[int]:
    """Threads that took part in one of some jobs, but for this one."""
    found: set[int] = set()
    for _ in range(50):
        found |= set(told(library, "by", COUNT, 2, MANY_LOOKS).tolist())
        if len(found) > 1:
            break
    return found - {threading.get_native_id()}


def sleeps(thread: int) -> int:
    """How often a thread of this process went to sleep by itself."""
    status = Path(f"/proc/self/task/{thread}/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("voluntary_ctxt_switches"))
    return int(line.split()[1])


def test_who_has_done_its_share_is_there_for_the_next_call(library: ctypes.CDLL) -> None:
    """It had gone to sleep beside the longest workgroup, and was late again, and again."""
    calls, looks, threads = 40, 5 * MANY_LOOKS, {threading.get_native_id(), *threads_of(library)}
    before = sum(map(sleeps, threads))
    for _ in range(calls):
        told(library, "uneven", 2, 2, looks)
    assert sum(map(sleeps, threads)) - before < calls / 2


def test_libraries_share_the_threads_of_the_process(library: ctypes.CDLL, tmp_path: Path, path: Path) -> None:
    other_path = tmp_path / "other.so"
    other_path.write_bytes(path.read_bytes())
    other, short = ctypes.CDLL(str(other_path)), short_way()
    assert short is not None
    assert threads_of(library).isdisjoint(threads_of(other)), "each has its own"
    short.lend(library)
    short.lend(other)
    assert threads_of(library) & threads_of(other)


def test_threads_stay_on_a_cpu_of_their_own_where_asked(path: Path) -> None:
    """In a process that asks before it has threads.  The caller is left where it is."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU has no other")
    program = (
        "import ctypes, numpy\n"
        f"library, found = ctypes.CDLL({str(path)!r}), set()\n"
        "for _ in range(50):\n"
        f"    where = numpy.zeros({COUNT}, numpy.int32)\n"
        "    at = ctypes.c_void_p(where.ctypes.data)\n"
        f"    library.pinned(at, ctypes.c_int64({COUNT}), 2, ctypes.c_int64({MANY_LOOKS}))\n"
        "    found |= set(where.tolist())\n"
        "print(len(found), -1 in found)\n"
    )
    for wanted, says in (("1", "2 True"), ("0", "1 True")):
        env = {**os.environ, "IMBREX_PIN": wanted}
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == says


def faults(library: ctypes.CDLL, name: str) -> int:
    """New pages in 20 calls on one thread."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(1 << 17, np.uint8) for _ in range(20) if set(told(library, name, 1, 1)) == {1}]
    assert len(held) == 20
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.parametrize("name", ["small", "large"])
def test_memory_is_kept_for_the_next_call(library: ctypes.CDLL, name: str) -> None:
    """Of 128 or 500 pages, which else are new in each call, if the allocator gives them back."""
    told(library, name, 1, 1)
    assert faults(library, name) < 20 * (32 + 64)


def test_libraries_share_the_memory_of_the_process(tmp_path: Path, path: Path) -> None:
    """What one kernel put back the next takes, of whichever library: 500 pages are touched once."""
    short = short_way()
    assert short is not None
    found: list[int] = []
    for number in range(8):
        copy = tmp_path / f"{number}.so"
        copy.write_bytes(path.read_bytes())
        library = ctypes.CDLL(str(copy))
        short.lend(library)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        assert set(told(library, "large", 1, 1)) == {1}
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    assert sorted(found)[len(found) // 2] < 250


@pytest.mark.parametrize("name", ["small", "large"])
def test_kept_memory_belongs_to_one_at_a_time(library: ctypes.CDLL, name: str) -> None:
    wrong = list[int]()
    names = ("small", "large") if name == "large" else ("small",)

    def call() -> None:
        wrong.extend(1 for _ in range(30) for one in names if set(told(library, one, 8, 3, 200)) != {1})

    callers = [threading.Thread(target=call) for _ in range(12)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(120)
    assert not wrong
