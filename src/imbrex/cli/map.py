"""imbrex map: which workgroup computes which tile, as a table coloured by XCD, or as a picture."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from imbrex.cli.report_file import file_name
from imbrex.diagnostic import Diagnostic
from imbrex.emit.graph import FORMATS
from imbrex.explore.svg import document
from imbrex.explore.tile_grid import tile_grid
from imbrex.index.expr import param
from imbrex.numeral import MOST, counted, whole
from imbrex.view.graph import graph_of
from imbrex.view.work.workgroup import raster_order
from imbrex.whole_file import write_text

__all__ = ["command"]

STYLES = ("cyan", "yellow", "magenta", "red", "blue", "green", "bright_yellow", "bright_magenta")
LARGEST = 1 << 20
COUNT = click.IntRange(max=MOST)
WGM = "wgm"


@click.command("map", short_help="show which workgroup computes which tile")
@click.argument("grid", metavar="MxN")
@click.option("--group", type=COUNT, help="Tiles along the parallel dimension before the next line (WGM).")
@click.option(
    "--runtime", is_flag=True, help="Leave WGM symbolic in the map; --group is its value in tables."
)
@click.option("--along", type=click.Choice(["m", "n"]), default="m", help="The parallel dimension; m.")
@click.option("--xcds", type=COUNT, default=1, help="Dies to which hardware deals workgroups in turn; 1.")
@click.option(
    "--remap/--no-remap",
    default=True,
    help="Give neighbouring tiles to one die; on unless --no-remap.",
)
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", *FORMATS]), default="table",
    help="A table, its picture (svg), or the map as a graph (mermaid, dot, json).",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=file_name, help="Write to a file instead.")
def command(
    grid: str,
    group: int | None,
    runtime: bool,
    along: str,
    xcds: int,
    remap: bool,
    form: str,
    output: str | None,
) -> None:
    """Print, for a grid of M x N tiles such as 6x8, the hardware number of the workgroup that computes each.

    A row is an m tile, a column an n tile; workgroup w runs on XCD w % xcds.
    """
    m, n = _sizes(grid)
    for name, value in (("--group", group), ("--xcds", xcds)):
        if value is not None and value < 1:
            raise Diagnostic(f"{name} should be at least 1, got {value}")
    if runtime and group is None:
        raise Diagnostic("--runtime needs a value for its tables", hint="--group N gives one")
    rows = param(WGM, 1, max(m, n)) if runtime else group
    map = raster_order(m, n, rows, "m" if along == "m" else "n", xcds if remap else 1)
    if form in FORMATS and form != "svg":
        _put(FORMATS[form](graph_of(map, {"workgroup": "Workgroup"}, "MacroTileNumber")), output)
        return
    numbers = np.arange(m * n)
    env = {"workgroup": numbers, WGM: min(group or 1, max(m, n))}
    at = tuple(np.broadcast_to(c.eval(env), m * n) for c in map.symbolic.coords)
    table = np.empty((m, n), np.int64)
    table[at] = numbers
    cells: list[list[int]] = table.tolist()
    if form == "svg":
        title = f"the workgroup of each of {m} x {n} tiles"
        _put(document(tile_grid(title, cells, lambda number: number % xcds)), output)
    elif form == "csv":
        _put(
            "".join(",".join(map_row) + "\n" for map_row in ([str(x) for x in row] for row in cells)), output
        )
    else:
        _put(_table(cells, xcds), output)


def _sizes(grid: str) -> tuple[int, int]:
    match [whole(word, 1) for word in grid.split("x", 2)]:
        case [int(m), int(n)]:
            pass
        case _:
            raise Diagnostic(f"a grid of tiles looks like 6x8, got '{grid}'")
    if m * n > LARGEST:
        raise Diagnostic(f"a table of {counted(m * n, 'tile')} is too long to print; at most {LARGEST}")
    return m, n


def _table(cells: list[list[int]], xcds: int) -> str:
    """Numbers in columns of one width, a colour for each XCD."""
    wide = len(str(len(cells) * len(cells[0]))) + 2
    head = " " * 6 + "".join(f"n{column}".rjust(wide) for column in range(len(cells[0])))
    lines = [click.style(head, dim=True)]
    for row, numbers in enumerate(cells):
        shown = "".join(_cell(number, xcds, wide) for number in numbers)
        lines.append(click.style(f"m{row}".rjust(6), dim=True) + shown)
    return "\n".join(lines) + "\n"


def _cell(number: int, xcds: int, wide: int) -> str:
    text = str(number).rjust(wide)
    return click.style(text, fg=STYLES[number % xcds % len(STYLES)]) if xcds > 1 else text


def _put(text: str, output: str | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(text, Path(output))
