"""Builders and a timer: processes of a tuning, each of which may hang or crash without ending it.

Law: a device times for one tuning at a time: whoever comes second waits for its turn, trial by trial.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias

from filelock import FileLock, Timeout

from imbrex.run.isolated import Failed, Isolated
from imbrex.tuner.task import Build, Built, Contest, Contested, Probe, Probed, Proof, Task
from imbrex.tuner.worker import answer

__all__ = ["Builders", "Calls", "Timer"]

BUILD_S: Final = 120.0


class Calls(Protocol):
    """A function in a process of its own, on this host or another."""

    def __call__(self, argument: object, limit_s: float = 60.0) -> Any: ...
    def end(self) -> None: ...


Start: TypeAlias = Callable[[Callable[[Any], Any]], Calls]
"""What makes a process for a function: `Isolated`, or `tuner.cluster`'s."""


class Builders:
    """`count` processes that compile side by side."""

    def __init__(self, count: int, start: Start = Isolated) -> None:
        self.count = count
        self._idle: queue.SimpleQueue[Calls] = queue.SimpleQueue()
        self._every = [start(answer) for _ in range(count)]
        for calls in self._every:
            self._idle.put(calls)
        self._threads = ThreadPoolExecutor(count, "builder")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for calls in self._every:
            calls.end()

    def submit(self, task: Build) -> Future[Built | Failed]:
        """To be built as soon as a process is idle."""
        return self._threads.submit(self._built, task)

    def _built(self, task: Build) -> Built | Failed:
        calls = self._idle.get()
        try:
            found: Built | Failed = calls(task, BUILD_S)
            return found
        finally:
            self._idle.put(calls)


class Timer:
    """A process that times on one device.  lock: the file that whoever times there holds meanwhile.

    waiting: called when another one has it.
    """

    def __init__(self, lock: Path, waiting: Callable[[], None], start: Start = Isolated) -> None:
        self._lock, self._waiting, self._calls = FileLock(lock), waiting, start(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.end()

    def probe(self, task: Probe, limit_s: float) -> Probed | Failed:
        """Checked and timed."""
        return self._turn(task, limit_s)

    def prove(self, task: Proof, limit_s: float) -> Probed | Failed:
        """Checked in every way."""
        return self._turn(task, limit_s)

    def contest(self, task: Contest, limit_s: float) -> Contested | Failed:
        """Timed in turn."""
        return self._turn(task, limit_s)

    def _turn(self, task: Task, limit_s: float) -> Any:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            self._waiting()
            self._lock.acquire()
        try:
            return self._calls(task, limit_s)
        finally:
            self._lock.release()
