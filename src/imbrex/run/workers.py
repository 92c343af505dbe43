"""Workers: processes that answer tasks side by side, each of which may hang or crash without ending another.

Law: every task gets one answer.  A process begins with its first task, and nobody waits for it when the
program ends.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

from imbrex.run.isolated import Failed, Isolated

__all__ = ["Calls", "Start", "Workers"]

T = TypeVar("T")
R = TypeVar("R")


class Calls(Protocol):
    """A function in a process of its own, on this host or another."""

    def __call__(self, argument: object, limit_s: float = 60.0) -> Any: ...
    def end(self) -> None: ...


Start: TypeAlias = Callable[[Callable[[Any], Any]], Calls]
"""What makes a process for a function."""


class Workers(Generic[T, R]):
    """`count` processes of a function.  limit_s: of one task.  start: what makes them; None: `Isolated`."""

    def __init__(
        self, function: Callable[[T], R], count: int, limit_s: float, start: Start | None = None
    ) -> None:
        self.count = count
        self._limit_s = limit_s
        self._tasks: queue.SimpleQueue[tuple[T, Future[R | Failed]] | None] = queue.SimpleQueue()
        self._every = [(start or Isolated)(function) for _ in range(count)]
        for calls in self._every:  # threads that a program's end does not wait for
            threading.Thread(target=self._serve, args=(calls,), name="worker", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def submit(self, task: T) -> Future[R | Failed]:
        """What is answered as soon as a process is idle."""
        future: Future[R | Failed] = Future()
        self._tasks.put((task, future))
        return future

    def end(self) -> None:
        """Ends the processes; what has not begun is cancelled."""
        while not self._tasks.empty():
            if (left := self._tasks.get()) is not None:
                left[1].cancel()
        for _ in self._every:
            self._tasks.put(None)
        for calls in self._every:
            calls.end()

    def _serve(self, calls: Calls) -> None:
        while (item := self._tasks.get()) is not None:
            task, future = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(calls(task, self._limit_s))
            except BaseException as error:
                future.set_exception(error)
