"""Fallback: torch's own op answers while a kernel is compiled in the background.

Law: a call never waits for a compiler, and its result lies as the kernel's would.  A kernel is compiled once;
one that cannot be is told of once, and torch's op goes on answering.  A CUDA graph that is captured meanwhile
keeps torch's op for good, which is told, too.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, cast

from imbrex.database.news import look_again
from imbrex.function.batches import refuse, tell_once
from imbrex.kernel.make import OFFERED, NotBuilt
from imbrex.kernel.warm import COMPILE_S, CompileJob, builders_of, compiled
from imbrex.problem import problem_text
from imbrex.run.isolated import Failed
from imbrex.run.workers import Workers

__all__ = ["answered", "collected", "wait"]

torch: Any = import_module("torch")
_CAPTURED: Final = (
    "a CUDA graph is captured while the kernel is being compiled, so that every replay computes torch's own "
    "op; capture it after 'imbrex.torch.wait()', or say 'fallback=False' and call it once before"
)


def answered(ours: Callable[[], Any], theirs: Callable[[], Any], out: Any) -> Any:
    """`ours()`, which writes into `out`, where its kernel is built; else `theirs()`, as `out` lies.

    Of an op with several results `out` and what both give are tuples.
    """
    token = OFFERED.set("built" if _collector is None else "none")
    try:
        return ours()
    except NotBuilt as missing:
        options = missing.options
    finally:
        OFFERED.reset(token)
    _ask(CompileJob(options.problem, options.target, options.threads))
    result = theirs()
    if isinstance(out, tuple):
        return tuple(map(_lying, result, cast("tuple[Any, ...]", out)))
    return _lying(result, out)


def _lying(result: Any, out: Any) -> Any:
    """The result, copied into `out` where it lies otherwise."""
    if result.dtype == out.dtype and result.stride() == out.stride():
        return result
    return out.copy_(result)


class Background:
    """Kernels that this process has asked for.  The processes that compile end when nothing is left."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requested: set[CompileJob] = set()
        self._open = 0
        self._workers: Workers[CompileJob, float] | None = None

    def ask(self, job: CompileJob) -> None:
        """Has it compiled, if that was not asked before."""
        with self._changed:
            if job in self._requested:
                return
            self._requested.add(job)
            self._open += 1
            if self._workers is None:
                self._workers = Workers(compiled, builders_of(job.target), COMPILE_S)
            future = self._workers.submit(job)
        future.add_done_callback(lambda done: self._done(job, done))

    def wait(self) -> None:
        """Waits until all that was asked for is compiled."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open)

    def _done(self, job: CompileJob, future: Future[float | Failed]) -> None:
        error = future.exception()
        answer = Failed("error", str(error)) if error is not None else future.result()
        if isinstance(answer, Failed) and threading.main_thread().is_alive():  # else all processes end
            _tell(job, answer.message)
        with self._changed:
            self._open -= 1
            if not self._open and self._workers is not None:
                self._workers.end()
                self._workers = None
            self._changed.notify_all()


def _tell(job: CompileJob, message: str) -> None:
    """What a kernel that cannot be compiled means: where it was to serve all numbers, each has its own."""
    if job.problem.run_time is not None:
        refuse(job.problem, job.target, job.threads, message)
        return
    refused = f"no kernel of {problem_text(job.problem)}: {message}"
    warnings.warn(f"{refused}; torch's own op answers instead", stacklevel=2)


_background = Background()
_collector: list[CompileJob] | None = None


def _ask(job: CompileJob) -> None:
    if _collector is not None:
        _collector.append(job)
        return
    _background.ask(job)
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        tell_once("captured", f"{problem_text(job.problem)}: {_CAPTURED}")


@contextmanager
def collected() -> Generator[list[CompileJob]]:
    """The kernels of all calls within, whether they are there or not; torch's own op answers."""
    global _collector
    look_again()
    before, _collector = _collector, list[CompileJob]()
    try:
        yield _collector
    finally:
        _collector = before


def wait() -> None:
    """Waits until every kernel that was asked for in the background is compiled."""
    _background.wait()


def _forget() -> None:
    """A child of `fork` has none of the threads."""
    global _background
    _background = Background()


os.register_at_fork(after_in_child=_forget)
