"""imbrex explore: a page on which a kernel can be seen, or one of its drawings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from imbrex.cli.explore_server import served, study_of
from imbrex.cli.guard import Misused
from imbrex.cli.options import Choices, choices
from imbrex.cli.report_file import file_path
from imbrex.cli.text import json_text
from imbrex.diagnostic import Diagnostic
from imbrex.explore import PANELS, Study
from imbrex.explore.page import page
from imbrex.explore.svg import document
from imbrex.kernel.constraints import Constraints
from imbrex.whole_file import write_text

__all__ = ["command"]


@click.command("explore", short_help="draw a kernel: maps, lanes, banks, schedules, source, on one page")
@click.argument("sources", nargs=-1, metavar="[PROBLEM]")
@choices
@click.option("--panel", "panel", metavar="NAME", help=f"One drawing as SVG: {', '.join(PANELS)}.")
@click.option("--beside", metavar="TEXT", help="A second configuration, side by side with the first.")
@click.option("--json", "as_json", is_flag=True, help="The data of the page.")
@click.option("-o", "--output", metavar="FILE", type=file_path, help="Where to; standard output by default.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Without PROBLEM: the server's; a free one by default.",
)
@click.option("--no-browser", is_flag=True, help="Without PROBLEM: open no browser.")
def command(
    chosen: Choices,
    sources: tuple[str, ...],
    panel: str | None,
    beside: str | None,
    as_json: bool,
    output: Path | None,
    port: int | None,
    no_browser: bool,
) -> None:
    """Write one HTML file, which needs no network, that shows how a problem becomes a kernel: maps, tiles,
    lanes, shared memory, loads, schedules, models and source, linked.

    --panel writes one of its drawings as SVG.  --target also takes a GPU or an instruction set by name.

    Without PROBLEM, open the page in the browser, where problem, target and configuration are edited.  A
    server on this machine, which nobody else can reach, answers until Ctrl-C.
    """
    if not sources:
        if panel is not None or as_json or output is not None:
            raise Misused("missing argument 'PROBLEM'", None)
        served(chosen, beside, port or 0, not no_browser)
        return
    if port is not None or no_browser:
        raise Misused("--port and --no-browser are of the server, which takes no problem", None)
    others = [] if beside is None else [replace(chosen, said=Constraints(config=beside))]
    (first, *more) = chosen.problems(sources)
    if more:
        raise Diagnostic(f"a page shows one problem, got {1 + len(more)}")
    studies = [study_of(each, first) for each in (chosen, *others)]
    if panel is not None:
        _put(_drawn(studies[0], panel), output)
    elif as_json:
        _put(json_text([one.to_json() for one in studies]) + "\n", output)
    else:
        _put(page(studies), output)


def _drawn(of: Study, name: str) -> str:
    """One drawing as a document of its own."""
    found = of.panel(name)
    if found.svg is None:
        raise Diagnostic(f"panel '{name}' has no drawing: {found.absent or 'it is a table'}")
    return document(found.svg)


def _put(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(text, output)
