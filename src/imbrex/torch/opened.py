"""Opened: the kernels for any number of images or of rows that a model's layers have, compiled side by side.

Law: where calls wait for compilers, the first layer that meets another number waits for the kernels of all
layers, since the others will meet theirs in the same run; what is not needed then is in the cache.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from imbrex.function.batches import open_problem, refuse, tell_once
from imbrex.kernel.warm import CompileJob, warmed
from imbrex.numeral import counted

__all__ = ["Opened"]


class Opened:
    """compile_jobs: kernels of the numbers that the example has, to be opened.  jobs: processes."""

    def __init__(self, compile_jobs: Iterable[CompileJob], jobs: int | None = None) -> None:
        self._lock = threading.Lock()
        self._compile_jobs, self._jobs = tuple(dict.fromkeys(compile_jobs)), jobs

    def compile(self) -> None:
        """Compiles them, once; where a number cannot be left open, each has its own kernel."""
        with self._lock:
            compile_jobs, self._compile_jobs = self._compile_jobs, ()
            opened = [(open_problem(job.problem), job) for job in compile_jobs]
            made = (CompileJob(of, job.target, job.threads) for of, job in opened if of is not None)
            if not (jobs := list(dict.fromkeys(made))):
                return
            are = "is" if len(jobs) == 1 else "are"
            of = f"{counted(len(jobs), 'kernel')} {are} compiled for all further numbers, as 'batches' says"
            tell_once("any", f"another number of images or rows than the example's: {of}")
            for job, came in zip(jobs, warmed(jobs, self._jobs), strict=True):
                if came.error is not None:
                    refuse(job.problem, job.target, job.threads, came.error)
