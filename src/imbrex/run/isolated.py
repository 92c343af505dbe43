"""Isolated: a function called in a process of its own, again and again, whose hang or crash is an answer.

Law: every task gets exactly one answer, its result or a `Failed`; after a crash, a hang, or an answer that
says so, the next task meets a new process.  A GPU's context does not outlive an illegal access, and a kernel
that waits for ever cannot be stopped from within.  The process and what it starts, such as a compiler, are a
group of their own, which ends with the program that asks, however that ends.  The process never runs this
program, whose main module need not be guarded by its name.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final

from imbrex.diagnostic import Diagnostic

__all__ = ["Failed", "Isolated", "answered", "serve"]

STARTING_S = 90.0
"""Imports and a first context, on top of the first task's time."""


@dataclass(frozen=True)
class Failed:
    """A task that gave no result.  kind: "error", "crash" or "hang"."""

    kind: str
    message: str


class Isolated:
    """`with Isolated(function) as calls: calls(argument, limit_s=60)`.

    function: of a module's top level, as pickle needs it.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Any = None
        self._lock = threading.Lock()
        self._is_called = False

    def __enter__(self) -> Isolated:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def __call__(self, argument: object, limit_s: float = 60.0) -> Any:
        """The function's result, or `Failed`."""
        limit = limit_s
        with self._lock:
            self._is_called = True
            if self._process is None:
                limit += STARTING_S
                self._start()
        found = self._answer(argument, limit)
        with self._lock:
            self._is_called = False
            if found is None:
                return Failed("crash", f"the process ended with exit code {self._ended()}")
            is_result, is_usable, answer = found
            if not is_usable:
                self._kill()
        if is_result:
            return answer
        return answer if isinstance(answer, Failed) else Failed("error", answer)

    def end(self) -> None:
        """No process from now on, until the next task; who waits for an answer is told of a crash."""
        with self._lock:
            if self._process is None:
                return
            if self._is_called:  # who calls takes the process away
                _kill(self._process)
            else:
                self._kill()

    def _answer(self, argument: object, limit_s: float) -> tuple[bool, bool, Any] | None:
        """Is it a result, may the process go on, and the answer; None where the process has ended."""
        try:
            self._pipe.send(argument)
            if self._pipe.poll(limit_s):
                return self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return None
        return False, False, Failed("hang", f"no answer in {limit_s:.0f} s")

    def _kill(self) -> None:
        assert self._process is not None
        _kill(self._process)
        self._ended()

    def _start(self) -> None:
        self._pipe, other = Pipe()
        number = other.fileno()
        words = [sys.executable, "-c", PROGRAM, str(number)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, pass_fds=[number], start_new_session=True
        )
        weakref.finalize(self, _kill, self._process)  # at the latest when this process ends
        other.close()
        self._pipe.send(sys.path)
        self._pipe.send(self._function)

    def _ended(self) -> int | None:
        assert self._process is not None
        try:
            code = self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            code = None
        self._pipe.close()
        self._process = self._pipe = None
        return code


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends it, and what it has started; nothing where it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def serve(pipe: Connection) -> None:
    """What the process does: takes a function, then answers task after task, until nobody asks."""
    threading.Thread(target=_end_with, args=(pipe.fileno(),), daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        function: Callable[[Any], Any] = pipe.recv()
        while True:
            pipe.send(answered(function, pipe.recv()))
    _end_group()


PROGRAM: Final = f"""
import sys
from multiprocessing.connection import Connection
pipe = Connection(int(sys.argv[1]))
try:
    sys.path[:] = pipe.recv()
except EOFError:
    sys.exit()
from {serve.__module__} import {serve.__name__}
{serve.__name__}(pipe)
"""
"""What the process runs: where modules lie is told first."""


def _end_with(number: int) -> None:
    """Ends this process and what it has started once nobody holds the pipe's other end: a task that hangs
    would outlive whoever asked.
    """
    other = select.poll()
    other.register(number, 0)  # a hang-up is told anyway
    other.poll()
    _end_group()


def _end_group() -> None:
    os.killpg(0, signal.SIGKILL)


def answered(function: Callable[[Any], Any], argument: object) -> tuple[bool, bool, Any]:
    """Is it a result, may the process go on, and the result or what went wrong."""
    try:
        return True, True, function(argument)
    except Exception as error:
        message = error.message if isinstance(error, Diagnostic) else f"{type(error).__name__}: {error}"
        return False, not _breaks_context(error), message


def _breaks_context(error: Exception) -> bool:
    """Is it one after which every call to CUDA fails, or waits?"""
    if isinstance(error, TimeoutError):
        return True
    message = str(error)
    words = (
        "illegal",
        "misaligned",
        "launch failure",
        "unspecified",
        "ILLEGAL",
        "MISALIGNED",
        "LAUNCH_FAILED",
    )
    return any(word in message for word in words) or (
        "assert" in message.lower() and "device" in message.lower()
    )
