"""Prepare: kernels compiled into the cache beforehand, by several processes, so that a GPU waits for none.

Law: every problem gets an answer: None where its kernel now lies in the cache, or what was said against it.
No GPU is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import compile
from imbrex.problem import Problem
from imbrex.run.isolated import Failed, Isolated

__all__ = ["Wanted", "prepare"]

LIMIT_S = 180.0


@dataclass(frozen=True)
class Wanted:
    """What `compile` is asked."""

    problem: Problem
    target: str
    tuning: str | None = None
    schedule: str | None = None
    algorithm: str | None = None


def prepare(
    wanted: Iterable[Wanted], jobs: int, report: Callable[[Wanted, str | None], None] | None = None
) -> dict[Wanted, str | None]:
    """The answers.  report: hears each as it comes."""
    every = list(dict.fromkeys(wanted))
    here = threading.local()
    workers: list[Isolated] = []

    def answered(one: Wanted) -> str | None:
        if not hasattr(here, "worker"):
            here.worker = Isolated(compiled)
            workers.append(here.worker)
        found = here.worker(one, LIMIT_S)
        answer = f"{found.kind}: {found.message}" if isinstance(found, Failed) else found
        if report is not None:
            report(one, answer)
        return answer

    try:
        with ThreadPoolExecutor(max(1, min(jobs, len(every)))) as pool:
            return dict(zip(every, pool.map(answered, every), strict=True))
    finally:
        for worker in workers:
            worker.end()


def compiled(one: Wanted) -> str | None:
    """What a process of its own does."""
    try:
        compile(one.problem, one.target, one.tuning, schedule=one.schedule, algorithm=one.algorithm)
    except Diagnostic as error:
        return str(error)
    return None
