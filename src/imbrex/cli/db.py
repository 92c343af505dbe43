"""imbrex db: what was tuned, on which device, and what won; to and from text; merged, compared, pruned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from imbrex.cli.guard import FAILED
from imbrex.cli.options import format_option
from imbrex.cli.report_file import file_name
from imbrex.cli.source import read_problems
from imbrex.cli.table import print_table
from imbrex.cli.text import json_text, seconds_text
from imbrex.database.location import OFF, user_path
from imbrex.database.prune import Prune
from imbrex.database.rows import Row
from imbrex.database.store import Database
from imbrex.database.text import text
from imbrex.database.view import Difference, Summary, differences, only_winners, rows_in, summaries
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.problem import problem_text
from imbrex.whole_file import write_text

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])


@click.group("db", short_help="the tuning database: list, compare, exchange")
def command() -> None:
    """What was tuned, on which device, and what won.  The database is that of IMBREX_DB, or this user's."""


def _filters(function: F) -> F:
    """--db, --target, --device."""
    for option in (
        click.option("--device", metavar="TEXT", help="Only devices whose name holds this."),
        click.option("--target", metavar="NAME", help="Only this target: cpu, sm_90a, ..."),
        click.option(
            "--db",
            "file",
            metavar="FILE",
            type=file_name,
            help="Another database than the user's, or its text.",
        ),
    ):
        function = option(function)
    return function


@command.command("list", short_help="what was tuned, and what it gained")
@_filters
@format_option
def list_(file: str | None, target: str | None, device: str | None, form: str) -> None:
    """What was tuned: a line for each problem on a device, with what was tried and what the winner gains."""
    found = summaries(_rows(file, target, device))
    if form == "json":
        click.echo(json_text([_json(one) for one in found]))
        return
    columns = ("problem", "target", "threads", "device", "tried", "right", "gain", "time", "when")
    print_table(columns, [_cells(one) for one in found])
    won = sum(one.winner is not None for one in found)
    click.echo(f"{len(found)} tuned, {won} with a winner, in {_path(file)}")


@command.command("best", short_help="the winners' configurations, as --config takes them")
@click.argument("sources", nargs=-1, metavar="[PROBLEM]...")
@_filters
@format_option
def best(
    sources: tuple[str, ...], file: str | None, target: str | None, device: str | None, form: str
) -> int:
    """The winners' configurations, as --config takes them; of the problems that are named, or of all.  Exit
    code 1 where one that is named has none.
    """
    wanted = {problem_text(entry.problem) for entry in read_problems(sources)} if sources else None
    found = [one for one in summaries(_rows(file, target, device)) if one.winner is not None]
    listed = [one for one in found if wanted is None or one.problem in wanted]
    if form == "json":
        click.echo(json_text([_json(one) for one in listed]))
    else:
        columns = ("problem", "target", "threads", "device", "gain", "configuration")
        print_table(columns, [(*_cells(one)[:4], _gain(one), _configuration(one)) for one in listed])
    missing = (wanted or set()) - {one.problem for one in listed}
    for problem in sorted(missing):
        click.echo(f"nothing won for {problem}", err=True)
    return FAILED if missing else 0


@command.command("export", short_help="the rows as text, for version control and import")
@_filters
@click.option("--winners", is_flag=True, help="Only the winners, with their verdicts.")
@click.option(
    "-o", "--output", metavar="FILE", type=file_name, help="Write the text there; by default it is printed."
)
def export(
    file: str | None, target: str | None, device: str | None, winners: bool, output: str | None
) -> None:
    """The rows as text: a line each, sorted, for version control and for `imbrex db import`."""
    found = _rows(file, target, device)
    lines = text(only_winners(found) if winners else found)
    if output is None:
        sys.stdout.write(lines)
    else:
        write_text(lines, Path(output))


@command.command("import", short_help="add the rows of texts that export wrote")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--db", "file", metavar="FILE", type=file_name, help="Another database than the user's.")
def import_(files: tuple[str, ...], file: str | None) -> None:
    """Add the rows of texts that `export` wrote.  All of them are read before one is added."""
    _merge(files, file)


@command.command("merge", short_help="add the rows of other databases")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--db", "file", metavar="FILE", type=file_name, help="Another database than the user's.")
def merge(files: tuple[str, ...], file: str | None) -> None:
    """Add the rows of other databases.  A row that is there already stays one; the later of two is kept."""
    _merge(files, file)


@command.command("diff", short_help="what two databases tell differently")
@click.argument("first", metavar="FIRST")
@click.argument("second", metavar="SECOND")
@format_option
def diff(first: str, second: str, form: str) -> None:
    """What two databases, or their texts, tell differently, and which of them is faster where."""
    found = differences(rows_in(Path(first)), rows_in(Path(second)))
    if form == "json":
        click.echo(json_text([_difference_json(one) for one in found]))
        return
    columns = ("problem", "target", "threads", "device", "first", "second", "first / second")
    print_table(columns, [_difference_cells(one) for one in found])
    faster = [sum(r is not None and sign * r < sign for r in (d.ratio for d in found)) for sign in (1, -1)]
    click.echo(f"{len(found)} differ; {first} is faster in {faster[0]}, {second} in {faster[1]}")


@command.command("prune", short_help="remove rows")
@_filters
@click.option("--version", metavar="VERSION", help="Trials that this version of Imbrex made.")
@click.option("--older-than", "days", type=click.IntRange(min=0), metavar="DAYS", help="Rows of before.")
@click.option("--dry-run", "is_rehearsal", is_flag=True, help="Only say how many rows would go.")
def prune(
    file: str | None,
    target: str | None,
    device: str | None,
    version: str | None,
    days: int | None,
    is_rehearsal: bool,
) -> None:
    """Remove rows: those of which all that is given holds."""
    before = None if days is None else (datetime.now(UTC) - timedelta(days=days)).isoformat()
    which = Prune(target, device, version, before)
    if which.is_everything:
        raise Diagnostic("nothing says which rows go", hint="--target, --device, --version or --older-than")
    path = _path(file)
    if not path.exists():
        raise Diagnostic(f"there is no database {path}")
    with Database(path) as db:
        gone = db.prune(which, is_rehearsal)
    click.echo(f"{counted(gone, 'row')} {'would go' if is_rehearsal else 'went'} from {path}")


def _path(file: str | None) -> Path:
    """The file that is named, or the user's."""
    path = user_path() if file is None else Path(file)
    if path is None:
        raise Diagnostic(f"IMBREX_DB is '{OFF}'", hint="name a database with --db")
    return path


def _rows(file: str | None, target: str | None, device: str | None) -> list[Row]:
    """Rows of what is asked for; none where the user's database is not there yet, or a file of nothing."""
    path = _path(file)
    if file is None and not (path.exists() and path.stat().st_size):
        return []
    wanted = (device or "").lower()
    return [
        (unit, record)
        for unit, record in rows_in(path)
        if target in (None, unit.target) and wanted in unit.device.name.lower()
    ]


def _merge(files: Sequence[str], file: str | None) -> None:
    found = [(name, rows_in(Path(name))) for name in files]
    with Database(_path(file)) as db:
        for name, rows in found:
            before = db.count()
            db.add(rows)
            click.echo(f"{name}: {counted(len(rows), 'row')}, {db.count() - before} of them new")


def _cells(one: Summary) -> Sequence[str]:
    winner = one.winner
    time = "" if winner is None or winner.median_ns is None else seconds_text(winner.median_ns / 1e9)
    when = "" if winner is None else winner.when[:10]
    threads = str(one.threads) if one.threads else ""
    counts = (str(one.tried), str(one.right))
    return one.problem, one.target, threads, one.device, *counts, _gain(one), time, when


def _gain(one: Summary) -> str:
    return "" if one.winner is None else f"{one.winner.gain:.2f}"


def _configuration(one: Summary | None) -> str:
    return "" if one is None or one.winner is None else one.winner.configuration


def _json(one: Summary) -> dict[str, Any]:
    winner = one.winner
    return {
        "problem": one.problem,
        "target": one.target,
        "threads": one.threads,
        "device": one.device,
        "hardware": one.hardware,
        "tried": one.tried,
        "right": one.right,
        "configuration": winner and winner.configuration,
        "gain": winner and winner.gain,
        "median_ns": winner and winner.median_ns,
        "when": winner and winner.when,
        "version": winner and winner.version,
    }


def _difference_cells(one: Difference) -> Sequence[str]:
    of = one.first or one.second
    assert of is not None
    times = (_cells(side)[7] if side else "" for side in (one.first, one.second))
    ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
    return *_cells(of)[:4], *times, ratio


def _difference_json(one: Difference) -> dict[str, Any]:
    first, second = (None if side is None else _json(side) for side in (one.first, one.second))
    return {"first": first, "second": second, "ratio": one.ratio}
