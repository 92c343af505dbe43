"""Opened: the kernels for any number of images or of rows that a model's layers have, compiled side by side.

Law: where calls wait for compilers, the first layer that meets another number waits for the kernels of all
layers, since the others will meet theirs in the same run; what is not needed then is in the cache.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from imbrex.function.batches import open_problem, refuse, tell_once
from imbrex.kernel.warm import CompileJob, warmed

__all__ = ["Opened"]


class Opened:
    """orders: kernels of the numbers that the example has, whose problems are opened.  jobs: processes."""

    def __init__(self, orders: Iterable[CompileJob], jobs: int | None = None) -> None:
        self._lock = threading.Lock()
        self._orders, self._jobs = tuple(dict.fromkeys(orders)), jobs

    def compile(self) -> None:
        """Compiles them, once; where a number cannot be left open, each has its own kernel."""
        with self._lock:
            orders, self._orders = self._orders, ()
            opened = [(open_problem(order.problem), order) for order in orders]
            made = (CompileJob(of, order.target, order.threads) for of, order in opened if of is not None)
            if not (jobs := list(dict.fromkeys(made))):
                return
            of = f"{len(jobs)} kernels are compiled for all further numbers, as 'batches' says"
            tell_once("any", f"another number of images or rows than the example's: {of}")
            for job, came in zip(jobs, warmed(jobs, self._jobs), strict=True):
                if came.error is not None:
                    refuse(job.problem, job.target, job.threads, came.error)
