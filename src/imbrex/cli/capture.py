"""imbrex capture: the problems of a model or of a log with counts, as every command reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from imbrex.capture import aten, graph
from imbrex.capture.open_size import OpenSize
from imbrex.capture.tally import Tally
from imbrex.cli.guard import FAILED
from imbrex.cli.report_file import file_path
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import problems_of, weighted
from imbrex.diagnostic import Diagnostic, printable
from imbrex.numeral import MOST, counted, whole
from imbrex.problem.run_time import MOST_IMAGES, sized
from imbrex.whole_file import write_text

__all__ = ["command"]


@dataclass(frozen=True)
class Sizes:
    """Sizes that a graph leaves open: those that have a number, and the one that problems leave open, too."""

    numbers: Mapping[str, int]
    left_open: OpenSize | None = None


def _sizes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Sizes:
    numbers: dict[str, int] = {}
    left_open: OpenSize | None = None
    for text in value:
        name, equals, given = text.partition("=")
        try:
            extent, least = sized(name, given, MOST_IMAGES)
        except Diagnostic as error:
            raise click.BadParameter(error.message, ctx, param) from None
        size = extent if isinstance(extent, int) else whole(given, 1, MOST)
        if not equals or size is None:
            raise click.BadParameter(f"'{text}' is no size, such as batch=8 or 'batch=?'", ctx, param)
        if least is None or least == size:
            numbers[name] = size
        elif left_open is not None:
            message = f"one size may be left open, and these are '{left_open.name}' and '{name}'"
            raise click.BadParameter(message, ctx, param)
        else:
            left_open = OpenSize(name, least, size)
    return Sizes(numbers, left_open)


@click.command("capture", short_help="list the problems of a model or a log")
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", metavar="FILE", type=file_path, help="Where to; standard output by default.")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    callback=_sizes,
    metavar="NAME=N",
    help="An open size; '?' leaves it open.",
)
@click.option("--training", is_flag=True, help="Forward and backward, of a function that gives a model.")
def command(model: str, output: Path | None, sizes: Sizes, training: bool) -> int:
    """List the convolutions and products of MODEL, one a line, with counts.

    MODEL is FILE.py:FUNCTION, which is executed: the function gives a model of PyTorch and its inputs, or
    calls it itself; or FILE.onnx, whose open sizes --size gives; or problems, as every command takes them, a
    log's, say.  What is left out is listed, too.
    """
    tally = _captured(model, sizes, training)
    text = tally.text(f"imbrex capture {model}")
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(text, output)
        calls = sum(tally.problems.values())
        of = counted(len(tally.problems), "problem")
        click.echo(f"{of}, {counted(calls, 'call')}, in {output}")
    for line in tally.left_lines:
        click.echo(f"left out: {line}", err=True)
    if not tally.problems:
        click.echo(f"{model} computes no convolution and no product that a problem states", err=True)
    return 0 if tally.problems else FAILED


def _captured(model: str, sizes: Sizes, training: bool) -> Tally:
    if model.endswith(".onnx"):
        if training:
            raise Diagnostic("a graph of ONNX has no way back", hint="--training is of functions")
        return graph.captured(Path(model), sizes.numbers, sizes.left_open)
    if sizes.numbers or sizes.left_open:
        raise Diagnostic("--size is of a graph of ONNX; functions and problems have their sizes")
    file, colon, name = model.rpartition(":")
    if colon and file.endswith(".py") and name.isidentifier():
        return aten.captured(aten.function_of(Path(file), name), name, training)
    is_file = os.path.exists(model) and not model.endswith(".py")
    if not is_file and model != "-" and len(model.split()) < 2:
        hint = "give FILE.py:FUNCTION, FILE.onnx, a file of problems, or - for standard input"
        raise Diagnostic(f"'{model}' is no model, and no file of problems", hint=hint)
    if training:
        raise Diagnostic("--training is of functions; problems name their directions")
    return _read(model, is_file or model == "-")


def _read(source: str, keeps_going: bool) -> Tally:
    """The problems of a text, each once.  keeps_going: lines that cannot be read are left out."""
    skipped = Skipped(keeps_going)
    tally = Tally(weighted(problems_of((source,), None, {None}, skipped)))
    for (line, reason), (_, count) in skipped.found.items():
        tally.left[printable(line), reason] = count
    return tally
