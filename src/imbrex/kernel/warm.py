"""warm: kernels of many problems, compiled side by side into the cache, from which every later call has them.

Law: what a call would compile is what is compiled here, under the key by which the call looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from imbrex.argument import each, instance, whole
from imbrex.diagnostic import Diagnostic
from imbrex.kernel.make import OFFERED, NotBuilt, compile
from imbrex.kernel.target import Emulate, Target, target_or_named
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Gemm, Problem, parse_problem, problem_text
from imbrex.run.cpu import thread_count
from imbrex.run.host_machine import host_machine
from imbrex.run.isolated import Failed
from imbrex.run.workers import Workers

__all__ = [
    "COMPILE_S", "CompileJob", "Warmed", "builders_of", "compiled", "expect_warmed", "problems_of",
    "warm", "warmed",
]  # fmt: skip

COMPILE_S: Final = 300.0
"""Seconds after which a compiler is taken to hang."""


@dataclass(frozen=True)
class CompileJob:
    """A kernel that is wanted, as another process is told.  threads: of a CPU's."""

    problem: Problem
    target: Target
    threads: int


@dataclass(frozen=True)
class Warmed:
    """What came of a problem.  seconds: of compiling, 0 where the kernel was there; error: why there is none.

    times: how often the problem was given.
    """

    problem: Problem
    seconds: float
    error: str | None = None
    times: int = 1


def warm(
    problems: Problem | str | Iterable[Problem | str],
    target: str | Target = "cpu",
    *,
    emulate: Emulate = False,
    threads: int | None = None,
    jobs: int | None = None,
) -> list[Warmed]:
    """The kernels of all problems in the cache, compiled by processes side by side, with progress on a
    terminal; later calls of `compile`, `conv2d`, `gemm` and the ops of PyTorch find them there.

    problems: one or several, or texts of some; those that stand several times are compiled once.  target,
    emulate, threads: as `compile` takes them.  jobs: processes; all usable cores by default.  One `Warmed` a
    problem, with the seconds of compiling, 0 where the kernel was there.  A Diagnostic where one of the
    problems has no kernel, after the others were compiled.
    """
    where, count = target_or_named(target, emulate), thread_count(threads)
    processes = None if jobs is None else whole("jobs", jobs, 1)
    found = warmed([CompileJob(problem, where, count) for problem in problems_of(problems)], processes)
    expect_warmed(found)
    return found


def problems_of(given: object) -> list[Problem]:
    """The problems of one or several problems or texts; TypeError for what is none."""
    of = "a problem, the text of one, or several of them"
    several = [given] if isinstance(given, str | Conv2d | Gemm) else each("problems", given, of)
    for one in several:
        instance("problems", one, (str, Conv2d, Gemm), of)
    return [found for one in several for found in (parse_problem(one) if isinstance(one, str) else [one])]


def warmed(
    compile_jobs: Sequence[CompileJob],
    jobs: int | None = None,
    report: Callable[[Warmed], None] | None = None,
) -> list[Warmed]:
    """What came of each job, in their order, each once.  report: called with each as it is done."""
    times: dict[CompileJob, int] = {}
    for job in compile_jobs:
        times[job] = times.get(job, 0) + 1
    found: dict[CompileJob, Warmed] = {}

    def done(job: CompileJob, seconds: float, error: str | None = None) -> None:
        found[job] = Warmed(job.problem, seconds, error, times[job])
        if report is not None:
            report(found[job])

    missing: list[CompileJob] = []
    for job in times:
        if _is_built(job):
            done(job, 0.0)
        else:
            missing.append(job)
    if missing:
        count = min(len(missing), jobs or builders_of(missing[0].target))
        with _progress(len(missing), count) as advance, Workers(compiled, count, COMPILE_S) as workers:
            waiting = {workers.submit(job): job for job in missing}
            for future in as_completed(waiting):
                answer = future.result()
                is_lost = isinstance(answer, Failed)
                done(waiting[future], 0.0 if is_lost else answer, answer.message if is_lost else None)
                advance()
    return [found[job] for job in times]


def compiled(job: CompileJob) -> float:
    """Compiles into the cache, in this process; seconds, 0 where it was there."""
    return compile(job.problem, job.target, threads=job.threads).compile_s


def expect_warmed(found: Sequence[Warmed]) -> None:
    """A Diagnostic of the first problem that has no kernel."""
    failed = [one for one in found if one.error is not None]
    if failed:
        many = len(failed) - 1
        others = f"; {counted(many, 'other')} {'has' if many == 1 else 'have'} none, either" if many else ""
        raise Diagnostic(f"no kernel of {problem_text(failed[0].problem)}: {failed[0].error}{others}")


def builders_of(target: Target) -> int:
    """Processes that compile, where nobody says how many: one is left for the GPU's host."""
    cores = host_machine().cores
    return max(1, min(16, cores if target.is_native else cores - 1))


def _is_built(job: CompileJob) -> bool:
    """Is it in the cache?  What cannot be asked for is not: its compiler says why."""
    token = OFFERED.set("built")
    try:
        compiled(job)
    except (NotBuilt, Diagnostic):
        return False
    finally:
        OFFERED.reset(token)
    return True


@contextmanager
def _progress(count: int, jobs: int) -> Generator[Callable[[], object]]:
    """A bar on a terminal's stderr, gone when it is done; gives what tells it that a kernel is there."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    title = f"compiling kernels in {counted(jobs, 'process')}" if jobs > 1 else "compiling kernels"
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=count)
        yield lambda: bar.advance(task)
