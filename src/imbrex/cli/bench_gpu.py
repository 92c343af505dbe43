"""imbrex bench --target sm_90a: problems on the GPU that is here, beside cuBLAS, cuDNN and Triton."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from imbrex.bench.gpu.campaign import Campaign
from imbrex.bench.gpu.row import Row
from imbrex.bench.gpu.sets import Entry
from imbrex.bench.gpu.summary import cells
from imbrex.cli.guard import FAILED
from imbrex.cli.report_file import write_report
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry
from imbrex.cli.table import print_table
from imbrex.cli.text import json_text
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.kernel import Target
from imbrex.problem import problem_text
from imbrex.run.cuda.driver import require_gpu

__all__ = ["GPU_PEERS", "bench_on_gpu", "is_measured_there"]

GPU_PEERS = ("torch", "lt", "triton")
"""`lt`: the fastest of the algorithms that cuBLASLt's heuristics name, where nvmath-python is installed."""
COLUMNS = ("problem", "time", "TFLOP/s", "x peers", "refused")


def is_measured_there(target: Target) -> bool:
    """NVIDIA's GPUs: their peers are PyTorch's libraries, timed on the device."""
    return target.is_cuda


def bench_on_gpu(
    problems: Sequence[ProblemEntry],
    target: Target,
    names: Sequence[str],
    skipped: Skipped,
    *,
    seconds: float,
    tuning: str | None = None,
    config: str | None = None,
    form: str,
    output: str | None,
) -> int:
    """The exit code; a Diagnostic where no such GPU is here.  seconds: for each contender and problem.

    skipped: what could not be read; a row that is refused says so itself.
    """
    peers = _peers(names)
    require_gpu(target.kind)
    entries = [
        Entry("given", problem_text(one.problem), one.problem, peers, times=one.count) for one in problems
    ]
    report = None if form == "json" else _print_row
    campaign = Campaign(entries, target.kind, seconds * (1 + len(peers)), tuning=tuning, config=config)
    keep = _unkept if output is None else _kept(Path(output))
    document: dict[str, Any] = {**campaign.run(keep, report), "skipped": skipped.lines}
    if form == "json":
        click.echo(json_text(document))
    else:
        gpu = document["gpu"]
        click.echo(click.style(f"{gpu.get('name') or gpu['error']}", bold=True))
        print_table(COLUMNS, (cells(row) for row in document["rows"]))
        skipped.show()
    return _code(document["rows"], skipped)


def _code(rows: Sequence[Row], skipped: Skipped) -> int:
    served = [row for row in rows if row["refused"] is None]
    if any(row["right"] is False for row in served):
        return FAILED
    return 0 if len(served) == len(rows) or (skipped.keeps_going and served) else FAILED


def _peers(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in GPU_PEERS:
            hint = did_you_mean(name, GPU_PEERS) or f"known: {', '.join(GPU_PEERS)}"
            raise Diagnostic(f"unknown peer '{name}'", hint=hint)
    return tuple(names)


def _print_row(number: int, row: Row) -> None:
    state = "refused" if row["refused"] is not None else "timed"
    click.echo(f"{number}: {state} {row['name']}", err=True)


def _unkept(document: dict[str, Any]) -> None:
    del document


def _kept(path: Path) -> Callable[[dict[str, Any]], None]:
    return partial(write_report, path=path)
