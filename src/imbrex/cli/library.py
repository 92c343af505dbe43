"""imbrex build --library: kernels of many problems in one shared library, with a table, a header, a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from imbrex.cli.options import Choices
from imbrex.cli.progress import progress
from imbrex.cli.replace import replaced
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry
from imbrex.cli.table import print_table
from imbrex.cli.text import json_text, seconds_text
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel
from imbrex.library.cuda import cuda_library
from imbrex.library.make import Source, library, sourced
from imbrex.numeral import counted
from imbrex.problem import problem_text

__all__ = ["build_library"]

OF_C = frozenset(
    (
        "assert complex ctype errno fenv float inttypes limits locale math setjmp signal stdalign stdarg"
        " stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads"
        " time uchar wchar wctype c dl m pthread rt"
    ).split()
)
"""Headers of C, and libraries beside them, that NAME.h and libNAME.so would stand before."""
COLUMNS = ("problem", "times", "time", "all of them", "GFLOP/s")
MOST_LETTERS = 60


def build_library(
    chosen: Choices, entries: Sequence[ProblemEntry], skipped: Skipped, name: str, output: str, form: str
) -> int:
    """The exit code; the folder has all files or stays as it was."""
    target = chosen.target
    if not (target.is_cuda or (target.kind == "cpu" and not target.is_executed)):
        message = f"a library is of a CPU or of an NVIDIA GPU, and '{target}' is neither"
        raise Diagnostic(message, hint="without --library, build writes the code object of each problem")
    if not name.isidentifier() or not name.isascii() or len(name) > MOST_LETTERS:
        raise Diagnostic(
            f"'{name}' cannot begin names of C; use letters, digits and _, {MOST_LETTERS} at most"
        )
    if name in OF_C:
        raise Diagnostic(f"{name}.h or lib{name}.so is C's own", hint="another name leaves it to be found")
    sources: list[Source] = []
    kernels: list[tuple[Kernel, int]] = []
    for entry in _once(entries):
        title = f"{len(sources) + len(kernels) + 1}/{len(entries)} {problem_text(entry.problem)}"
        with entry.unless_served(skipped), progress(title):
            if target.is_cuda:
                kernels.append((chosen.kernel(entry), entry.count))
            else:
                sources.append(sourced(chosen.options(entry), entry.count, name, len(sources)))
    if sources or kernels:
        with replaced(Path(output)) as staging, progress(f"building {name}"):
            built = (
                cuda_library(name, kernels, staging, target)
                if target.is_cuda
                else library(name, sources, staging, target, chosen.threads)
            )
            (staging / f"{name}.json").write_text(f"{json_text(built.report)}\n", encoding="utf-8")
        _show(built.report, output, form)
    skipped.show(on_errors=form == "json")
    return skipped.code(len(sources) + len(kernels))


def _once(entries: Sequence[ProblemEntry]) -> list[ProblemEntry]:
    """Each problem once, by whatever name it is asked for."""
    found: dict[Any, ProblemEntry] = {}
    for entry in entries:
        before = found.get(entry.problem)
        found[entry.problem] = replace(entry, count=entry.count + (before.count if before else 0))
    return list(found.values())


def _show(report: dict[str, Any], output: str, form: str) -> None:
    if form == "json":
        click.echo(json_text({**report, "folder": output}))
        return
    print_table(COLUMNS, [_row(row) for row in report["problems"]])
    name = report["name"]
    where = Path(output)
    files = (
        f"lib{name}.so, {name}.h, {name}Config.cmake, {name}_test.c, {name}.json with configurations, source/"
    )
    click.echo(f"{where}: {files}")
    if report["total_ns"] is not None:
        total, calls = seconds_text(report["total_ns"] / 1e9), counted(report["calls"], "call")
        click.echo(f"all {calls}, as often as asked for, take {total} on {_threads(report)}")


def _threads(report: dict[str, Any]) -> str:
    return counted(report["threads"], "thread")


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    ns, times = row["median_ns"], row["times"]
    times_text = ("", "", "")
    if ns:
        times_text = (seconds_text(ns / 1e9), seconds_text(ns * times / 1e9), f"{row['flops'] / ns:.1f}")
    return row["problem"], str(times), *times_text
