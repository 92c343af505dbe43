"""imbrex bench: problems timed beside their peers, one thread and all of them, in one run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from imbrex.bench.apart import Apart
from imbrex.bench.peer import PEERS, Peer, expect_installed, peers
from imbrex.bench.report import Row, measured, report
from imbrex.cli.bench_gpu import GPU_PEERS, bench_on_gpu, is_measured_there
from imbrex.cli.guard import FAILED
from imbrex.cli.options import (
    config_option,
    emulate_option,
    format_option,
    keep_going_option,
    sources,
    target_option,
    untuned_option,
)
from imbrex.cli.options import seconds as in_seconds
from imbrex.cli.progress import progress
from imbrex.cli.report_file import file_name, write_report
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry, problems_of
from imbrex.cli.table import print_table
from imbrex.cli.text import bytes_text, json_text, seconds_text
from imbrex.database.location import switch_off
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Emulate, Kernel, compile, target_of
from imbrex.kernel.constraints import Constraints
from imbrex.numeral import counted, whole
from imbrex.problem import Problem, problem_text
from imbrex.problem.run_time import expect_fixed
from imbrex.run.cpu import MOST_THREADS
from imbrex.run.host_machine import host_machine, usable_cores

__all__ = ["command", "counts", "show", "write_report"]

NO_WAY = "no way"
"""What stands in the column of a peer that does not compute the problem; the report says why."""


@click.command("bench", short_help="time problems beside NumPy and PyTorch")
@sources
@format_option
@target_option
@emulate_option
@click.option(
    "--threads",
    default="1,all",
    metavar="LIST",
    help="Numbers of threads, such as 1,2,all; 1,all by default.",
)
@click.option(
    "--peers",
    "names",
    metavar="LIST",
    help="Peers, such as numpy,torch,lt,triton; those installed by default.",
)
@click.option(
    "--layout",
    metavar="ORDER",
    help="Order of the images' dimensions, such as NHWC; filter and result follow.",
)
@click.option("--tuning", metavar="TEXT", help="A tuning instead of the chosen one.")
@config_option
@untuned_option
@click.option(
    "--seconds", type=float, callback=in_seconds, default=0.3, help="Time for each contender and problem."
)
@keep_going_option
@click.option("-o", "--output", metavar="FILE", type=file_name, help="Write the report there as JSON, too.")
def command(
    sources: tuple[str, ...],
    form: str,
    target: str | None,
    emulate: Emulate,
    threads: str,
    names: str | None,
    layout: str | None,
    tuning: str | None,
    config: str | None,
    untuned: bool,
    seconds: float,
    skipped: Skipped,
    output: str | None,
) -> int:
    """Time each problem beside NumPy and PyTorch, on an NVIDIA GPU beside PyTorch's libraries and Triton:
    contenders take turns, medians are compared.  The result is checked first.  Exit code 1 when one is wrong.
    """
    said = Constraints(tuning, config=config)
    if untuned:
        switch_off()  # of the processes that measure, too
    wanted = target_of(target or ("emulate" if emulate else "cpu"), emulate)
    if wanted.is_executed:
        raise Diagnostic("an emulator of instructions tells no time", hint="'run' checks what it computes")
    on_gpu = is_measured_there(wanted)
    entries = problems_of(sources, layout, {wanted.chip}, skipped)
    known = GPU_PEERS if on_gpu else PEERS
    peer_names = known if names is None else tuple(name for name in names.split(",") if name)
    if names is not None:
        expect_installed([name for name in peer_names if name in known])
    if on_gpu:
        how: dict[str, Any] = {**said.said, "seconds": seconds, "form": form, "output": output}
        return bench_on_gpu(entries, wanted, peer_names, skipped, **how)
    rivals = peers(peer_names)
    rows = _measured(
        entries, skipped, rivals, counts(threads), seconds, partial(compile, target=wanted, **said.said)
    )
    document = {**report(rows, rivals), "skipped": skipped.lines}
    if output is not None:
        write_report(document, Path(output))
    if form == "json":
        click.echo(json_text(document))
    else:
        show(rows, document, rivals)
        skipped.show()
    return skipped.code(len(rows)) if all(row.is_right for row in rows) else FAILED


def _measured(
    entries: Sequence[ProblemEntry],
    skipped: Skipped,
    rivals: Sequence[Peer],
    threads: Sequence[int],
    seconds: float,
    compiled: Callable[..., Kernel],
) -> list[Row]:
    """Rows of all problems.  seconds: of each row.  compiled: the kernel of a problem and some threads."""
    rows: list[Row] = []
    with Apart() as apart:
        for number, entry in enumerate(entries, 1):
            title = f"{number}/{len(entries)} {problem_text(entry.problem)}"
            with entry.unless_served(skipped), progress(title):
                expect_fixed(entry.problem.run_time, "bench")
                rows += [
                    measured(
                        compiled(entry.problem, threads=count),
                        rivals,
                        count,
                        apart,
                        budget_s=seconds,
                        times=entry.count,
                    )
                    for count in threads
                ]
    return rows


def show(rows: Sequence[Row], document: dict[str, Any], rivals: Sequence[Peer]) -> None:
    """The rows as a table, and what they come to."""
    names = [peer.name for peer in rivals]
    has_times = any(row.times > 1 for row in rows)
    columns = [
        "problem",
        *(["times"] if has_times else []),
        "threads",
        "time",
        "GFLOP/s",
        "of ceiling",
        *(f"x {n}" for n in names),
        "extra memory",
    ]
    click.echo(click.style(str(host_machine()), bold=True))
    print_table(columns, (_cells(row, names, has_times) for row in rows))
    for section in document["summary"]:
        means = ", ".join(f"{ratio:.2f} x {name}" for name, ratio in section["speedups"].items())
        share = "".join(
            f"; {section[key]:.0%} of {what}"
            for key, what in (("ceiling_share", "the ceiling"), ("copy_share", "a copy"))
            if section[key] is not None
        )
        threads = counted(section["threads"], "thread")
        right = f"{section['right']} of {section['rows']} right"
        calls = f"; {section['bound_by_call']} bound by the call" if section["bound_by_call"] else ""
        click.echo(f"geometric means on {threads}: {means or 'no peers'}{share}{calls}; {right}")
        if has_times:
            every = seconds_text(section["calls_ns"] / 1e9)
            click.echo(
                f"all {counted(section['calls'], 'call')}, as often as asked for, on {threads}: {every}"
            )
        for unit, most in section["ceilings"].items():
            click.echo(f"ceiling of {unit} on {threads}: {most:.1f} GFLOP/s")


def _cells(row: Row, names: Iterable[str], has_times: bool) -> list[str]:
    share = "" if row.ceiling_share is None else f"{row.ceiling_share:.0%}"
    if row.is_bound_by_memory:
        share = f"{row.copy_share:.0%} of copy"
    if row.is_bound_by_call:
        share = f"{row.call_share:.0%} is the call"
    ratios = (f"{row.speedups[name]:.2f}" if name in row.speedups else NO_WAY for name in names)
    title = _short(row.problem) if row.is_right else f"WRONG {_short(row.problem)}"
    time = seconds_text(row.timings["imbrex"].median_ns / 1e9)
    return [
        title,
        *([str(row.times)] if has_times else []),
        str(row.threads),
        time,
        f"{row.gigaflops:.1f}",
        share,
        *ratios,
        bytes_text(row.extra_bytes),
    ]


def _short(problem: Problem) -> str:
    """The line without the flags that say what is usual."""
    words = shlex.split(problem_text(problem))
    usual = {
        "-u": "1",
        "-v": "1",
        "-l": "1",
        "-j": "1",
        "-g": "1",
        "-p": "0",
        "-q": "0",
        "-transA": "0",
        "-transB": "0",
    }
    pairs = zip(words[1::2], words[2::2], strict=True)
    options = (shlex.join(pair) for pair in pairs if usual.get(pair[0]) != pair[1])
    return " ".join([words[0], *options])


def counts(text: str) -> list[int]:
    """Numbers of threads in a text such as `1,2,all`."""
    found: list[int] = []
    for word in text.split(","):
        count = usable_cores() if word == "all" else whole(word, 1, MOST_THREADS)
        if count is None:
            raise Diagnostic(f"--threads takes numbers and 'all', such as 1,all; got '{word}'")
        found.append(count)
    return list(dict.fromkeys(found))
