"""imbrex verify: a kit of kernels for a machine with the GPU and without Imbrex, and what it sends back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from imbrex.cli.guard import FAILED
from imbrex.cli.options import Choices, choices, format_option, keep_going_option
from imbrex.cli.progress import progress
from imbrex.cli.report_file import file_name, file_path
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry
from imbrex.cli.table import print_table
from imbrex.cli.text import bytes_text, facts, json_text, seconds_text
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target
from imbrex.kernel.warm import CompileJob, warmed
from imbrex.kit.cases import Case, cases_of
from imbrex.kit.make import archive, press_of
from imbrex.kit.report import Found, Report, read
from imbrex.limit import expect_path
from imbrex.numeral import counted
from imbrex.whole_file import write_bytes

__all__ = ["command"]

COLUMNS = ("problem", "time", "TFLOP/s", "predicted", "measured / predicted")


@click.command("verify", short_help="make a kit that checks kernels on a GPU elsewhere, or read its report")
@click.argument("sources", nargs=-1, metavar="[PROBLEM]...")
@choices
@format_option
@keep_going_option
@click.option("-o", "--output", metavar="FILE", type=file_name, help="The kit: a .tar, .tar.gz or .tar.xz.")
@click.option(
    "--read", "report", metavar="FILE", type=file_path, help="Show what a kit's program has written."
)
def command(
    chosen: Choices,
    sources: tuple[str, ...],
    form: str,
    skipped: Skipped,
    output: str | None,
    report: Path | None,
) -> int:
    """Write a kit for an AMD GPU that is not here, which --target names: code objects, a program that checks
    and times them (Python, NumPy and the HIP runtime; no Imbrex), and what has to come out.

    Without a PROBLEM: small ones of every family, type and direction, and some large ones.  With --read: the
    program's report, times beside the model's predictions.
    """
    if report is not None:
        if sources or output is not None or chosen.target_names is not None:
            raise Diagnostic("--read shows a report; leave out problems, --target and -o")
        return _show(read(report), form)
    if output is None:
        raise Diagnostic("where should the kit go?", hint="-o kit.tar, or --read report.json")
    expect_path(output)
    press, target = press_of(output), _target(chosen)
    cases = _cases(chosen, chosen.problems(sources, skipped), target) if sources else cases_of(str(target))
    if not cases:
        skipped.show(on_errors=form == "json")
        return skipped.code(0)
    if not sources:
        warmed([CompileJob(case.problem, target, chosen.threads) for case in cases if case.is_open])
    with progress(f"making {output}"):
        data = press(archive(cases, target, untuned=chosen.untuned))
    write_bytes(data, Path(output))
    timed = sum(case.is_timed for case in cases)
    facts = {"kit": output, "target": str(target), "kernels": len(cases), "timed": timed, "bytes": len(data)}
    if form == "json":
        click.echo(json_text(facts))
    else:
        size = bytes_text(len(data))
        click.echo(f"{output}: {counted(len(cases), 'kernel')} for {target}, {timed} of them timed, {size}")
        click.echo(f"there: tar xf {Path(output).name} && python3 kit/verify.py")
        click.echo("here again: imbrex verify --read report.json")
    skipped.show(on_errors=form == "json")
    return 0


def _target(chosen: Choices) -> Target:
    target = chosen.target
    if target.kind == "cpu" or target.is_emulated or target.is_cuda:
        message = f"a kit is for an AMD GPU, and the target is '{target}'"
        hint = (
            "--target gfx942, for example; for sm_90a, build --library writes a program that checks it, too"
        )
        raise Diagnostic(message, hint=hint)
    return target


def _cases(chosen: Choices, entries: list[ProblemEntry], target: Target) -> list[Case]:
    """Each problem that is named, timed."""
    found: list[Case] = []
    for entry in entries:
        said = chosen.constraints(entry).said
        if entry.problem.run_time is not None:
            raise Diagnostic("a kit has problems of fixed sizes", hint="give m a number")
        found.append(Case(entry.problem, **said, is_timed=True))
    return found


def _show(report: Report, form: str) -> int:
    if form == "json":
        click.echo(json_text(_document(report)))
        return FAILED if report.wrong else 0
    rows = [
        ("GPU", report.device),
        ("kit", f"{report.kit}, for {report.target}, by Imbrex {report.version}"),
        ("when", report.when),
        ("right", f"{len(report.cases) - len(report.wrong)} of {counted(len(report.cases), 'kernel')}"),
    ]
    if report.mean_ratio is not None:
        rows.append(("measured / predicted", f"{report.mean_ratio:.2f} in the geometric mean"))
    if report.order is not None:
        rows.append(("order", f"Kendall's tau of measured and predicted speed {report.order:.2f}"))
    click.echo(facts("report", rows))
    timed = [one for one in report.cases if one.time_s is not None]
    if timed:
        print_table(COLUMNS, [_row(one) for one in timed])
    for one in report.wrong:
        click.echo(f"wrong {one.problem} [{one.configuration}]: {one.said}")
    return FAILED if report.wrong else 0


def _row(one: Found) -> tuple[str, ...]:
    assert one.time_s is not None
    speed = f"{one.flops / one.time_s / 1e12:.1f}"
    if one.predicted_s is None or one.ratio is None:
        return one.problem, seconds_text(one.time_s), speed, "", ""
    return one.problem, seconds_text(one.time_s), speed, seconds_text(one.predicted_s), f"{one.ratio:.2f}"


def _document(report: Report) -> dict[str, Any]:
    return {
        "kit": report.kit, "imbrex": report.version, "target": report.target, "device": report.device,
        "when": report.when, "right": len(report.cases) - len(report.wrong), "kernels": len(report.cases),
        "mean_ratio": report.mean_ratio, "order": report.order,
        "cases": [
            {
                "problem": one.problem, "configuration": one.configuration, "right": one.is_right,
                "said": one.said, "time_s": one.time_s, "predicted_s": one.predicted_s, "ratio": one.ratio,
            }
            for one in report.cases
        ],
    }  # fmt: skip
