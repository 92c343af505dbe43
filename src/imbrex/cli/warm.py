"""imbrex warm: the kernels of many problems, compiled side by side into the cache."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import click

from imbrex.cli.guard import FAILED
from imbrex.cli.options import (
    Choices,
    emulate_option,
    format_option,
    keep_going_option,
    sources,
    target_option,
)
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import problems_of, weighted
from imbrex.cli.text import json_text, seconds_text
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.warm import CompileJob, Warmed, warmed
from imbrex.numeral import counted
from imbrex.problem import problem_text
from imbrex.run.cpu import MOST_THREADS, thread_count

__all__ = ["command"]


@click.command("warm", short_help="compile the kernels of many problems into the cache")
@sources
@target_option
@emulate_option
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes that compile.")
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Threads of CPU kernels.")
@click.option("--layout", metavar="ORDER", help="Order of the images' dimensions, such as NHWC.")
@keep_going_option
@format_option
def command(
    sources: tuple[str, ...],
    target: str | None,
    emulate: Any,
    jobs: int | None,
    threads: int | None,
    layout: str | None,
    skipped: Skipped,
    form: str,
) -> int:
    """Compile the kernel of each problem into the cache, where every later call finds it, in this process or
    another.

    Problems that stand several times are compiled once.
    """
    chosen = Choices(target, emulate, thread_count(threads), layout, Constraints())
    began = time.monotonic()
    times = weighted(problems_of(sources, layout, {chosen.target.chip}, skipped))
    compile_jobs = [CompileJob(problem, chosen.target, chosen.threads) for problem in times]
    found = [replace(one, times=times[one.problem]) for one in warmed(compile_jobs, jobs)]
    if form == "json":
        click.echo(json_text({"results": [_json(one) for one in found], "skipped": skipped.lines}))
    else:
        _summary(found, skipped, time.monotonic() - began)
    is_all = all(one.error is None for one in found)
    return 0 if is_all or skipped.keeps_going else FAILED


def _summary(found: list[Warmed], skipped: Skipped, seconds: float) -> None:
    failed = [one for one in found if one.error is not None]
    fresh = [one for one in found if one.seconds]
    there = len(found) - len(fresh) - len(failed)
    work = seconds_text(sum(one.seconds for one in fresh))
    took = f"compiled in {seconds_text(seconds)} ({work} of work)"
    counts = [f"{counted(len(fresh), 'kernel')} {took}"] if fresh else []
    counts += [f"{there} {'was' if there == 1 else 'were'} there"] if there else []
    counts += [f"{len(failed)} {'has' if len(failed) == 1 else 'have'} none"] if failed else []
    lines = [f"no kernel of {problem_text(one.problem)}: {one.error}" for one in failed]
    click.echo("\n".join([", ".join(counts) or "there is no problem to compile", *lines]))
    skipped.show()


def _json(one: Warmed) -> dict[str, Any]:
    problem = problem_text(one.problem)
    return {"problem": problem, "seconds": one.seconds, "error": one.error, "times": one.times}
