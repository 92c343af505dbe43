"""Isolated: a function called in a process of its own, again and again, whose hang or crash is an answer.

Law: every task gets exactly one answer, its result or a `Failed`; after a crash, a hang, or an answer that
says so, the next task meets a new process.  A GPU's context does not outlive an illegal access, and a kernel
that waits for ever cannot be stopped from within.  The process never runs the program that asks, whose main
module need not be guarded by its name.
"""

from __future__ import annotations

import signal
import subprocess
import sys
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

    def __enter__(self) -> Isolated:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def __call__(self, argument: object, limit_s: float = 60.0) -> Any:
        """The function's result, or `Failed`."""
        limit = limit_s
        try:
            if self._process is None:
                self._start()
                limit += STARTING_S
            self._pipe.send(argument)
            if not self._pipe.poll(limit):
                self.end()
                return Failed("hang", f"no answer in {limit:.0f} s")
            is_result, is_usable, answer = self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            code = self._ended()
            return Failed("crash", f"the process ended with exit code {code}")
        if not is_usable:
            self.end()
        return answer if is_result else Failed("error", answer)

    def end(self) -> None:
        """No process from now on, until the next task."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def _start(self) -> None:
        self._pipe, other = Pipe()
        number = other.fileno()
        words = [sys.executable, "-c", PROGRAM, str(number)]
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[number])
        weakref.finalize(self, self._process.kill)  # at the latest when this process ends
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


def serve(pipe: Connection) -> None:
    """What the process does: takes a function, then answers task after task, until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, which ends this one
    with suppress(EOFError, BrokenPipeError):
        function: Callable[[Any], Any] = pipe.recv()
        while True:
            pipe.send(answered(function, pipe.recv()))


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
