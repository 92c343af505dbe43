"""Builders and a timer: processes of a tuning, each of which may hang or crash without ending it.

Law: a device times for one tuning at a time: whoever comes second waits for its turn, trial by trial.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from filelock import FileLock, Timeout

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target
from imbrex.run.isolated import Failed, Isolated
from imbrex.run.workers import Start, Workers
from imbrex.tuner.task import Build, Built, Contest, Contested, Here, Identify, Probe, Probed, Proof, Task
from imbrex.tuner.worker import answer

__all__ = ["Builders", "Host", "Lost", "Timer"]

BUILD_S: Final = 120.0


class Lost(Exception):
    """A host is gone, or has no room for a process: what it was asked is to be asked of another one."""


@dataclass(frozen=True)
class Host:
    """A machine that builds and times.  jobs: processes that compile.

    devices: a lane each: a GPU's number; None for the first one, or for the one that its process is given.
    builder, timer: what makes processes there.  here: what a timer of this host times on; None to ask it.
    """

    jobs: int
    devices: tuple[int | None, ...]
    builder: Start = Isolated
    timer: Start = Isolated
    here: Here | None = None


class Builders(Workers[Build, Built]):
    """`count` processes that compile side by side."""

    def __init__(self, count: int, start: Start | None = None) -> None:
        super().__init__(_built, count, BUILD_S, start)


def _built(task: Build) -> Built:
    found = answer(task)
    assert isinstance(found, Built), found
    return found


class Timer:
    """A process that times on one device.  lock: the file that whoever times there holds meanwhile; None
    where the process has the device to itself.  waiting: called when another one has it.
    """

    def __init__(self, lock: Path | None, waiting: Callable[[], None], start: Start = Isolated) -> None:
        self._lock = None if lock is None else FileLock(lock)
        self._waiting, self._calls = waiting, start(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.end()

    def identify(self, target: Target) -> Here:
        """What it times on; a Diagnostic where that is not what the target needs."""
        found: Here | Failed = self._calls(Identify(target))
        if isinstance(found, Failed):
            raise Diagnostic(found.message)
        return found

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
        with self._alone():
            return self._calls(task, limit_s)

    def _alone(self) -> AbstractContextManager[object]:
        """Holds the device."""
        if self._lock is None:
            return nullcontext()
        try:
            return self._lock.acquire(timeout=0)
        except Timeout:
            self._waiting()
            return self._lock.acquire()
