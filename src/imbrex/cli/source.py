"""Sources: the problems that a command is given, by a file, a quoted line or `-`.

Law: a `.mlir` file, or a text that begins as IR does, is read as IR; any other text line by line.  What is
no line and no file is said to be neither.  A benchmark's line has the 8-bit floats of the machine that it ran
on: gfx942's are the FNUZ ones, and its tools call them f8_r and convfp8 as others' do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import click

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, DType
from imbrex.function.layout import following
from imbrex.limit import read_bounded
from imbrex.problem import Conv2d, Problem
from imbrex.problem.text import parse_problems, problem_text
from imbrex.view.mma.instruction import FORMATS

__all__ = ["EXAMPLE", "ProblemEntry", "as_meant", "meant_on", "read_kept", "read_problems", "stated"]

EXAMPLE = "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"

IR_WORDS = ("builtin.module", "module", "func.func", "miopen.", "linalg.", "//", '"builtin.module"')


@dataclass(frozen=True)
class ProblemEntry:
    """A problem; the function that states it in IR, and the algorithm that it asks for there.

    tool: the benchmark whose line it was.
    """

    problem: Problem
    name: str | None = None
    algorithm: str | None = None
    ignored: tuple[str, ...] = ()
    tool: str | None = None


def read_problems(sources: Sequence[str], layout: str | None = None) -> list[ProblemEntry]:
    """The problems of all sources, in order.  layout: of every convolution's images, which filter and result
    follow.
    """
    found = [entry for source in sources for entry in _read(source)]
    return [replace(entry, problem=_laid_out(entry.problem, layout)) for entry in found] if layout else found


def read_kept(
    sources: Sequence[str], layout: str | None, keep_going: bool, chip: str | None
) -> tuple[list[Problem], list[str]]:
    """The problems of all sources, as that chip has them, and, where it is to be kept going, what cannot be
    read, each line with the reason; else a Diagnostic of the first one.
    """
    found: list[ProblemEntry] = []
    skipped: list[str] = []
    for line in [line for source in sources for line in _lines(source)] if keep_going else ():
        try:
            found += read_problems([line], layout)
        except Diagnostic as reason:
            skipped.append(f"{line}: {reason.message}")
    if not keep_going:
        found = read_problems(sources, layout)
    return [entry.problem for entry in as_meant(found, {chip})], skipped


def as_meant(entries: Sequence[ProblemEntry], chips: Collection[str | None]) -> list[ProblemEntry]:
    """What all of them mean on these chips, with a note where that is not what a line names."""
    meant = [meant_on(entry, chips) for entry in entries]
    types = {(a.problem.dtype, b.problem.dtype) for a, b in zip(entries, meant, strict=True)}
    for named, own in sorted((str(a), str(b)) for a, b in types if a != b):
        where = " and ".join(sorted(str(chip) for chip in chips))
        click.echo(f"note: {named} of a benchmark is {own} on {where}", err=True)
    return meant


def meant_on(entry: ProblemEntry, chips: Collection[str | None]) -> ProblemEntry:
    """What a benchmark's line means on the chips that it is for, which have to agree."""
    if entry.tool is None:
        return entry
    found = {_of_chip(entry.problem, chip) for chip in chips}
    if len(found) > 1:
        line = problem_text(entry.problem)
        message = f"the chips disagree on which 8-bit floats a line of {entry.tool} has: '{line}'"
        raise Diagnostic(message, hint="give each chip its own command, or a line that names the type")
    return replace(entry, problem=next(iter(found), entry.problem))


def _of_chip(problem: Problem, chip: str | None) -> Problem:
    """The problem with the 8-bit floats that the chip multiplies, where it has those of the same sizes."""
    formats = set(FORMATS.get(chip or "", {}).values())

    def own(dtype: DType | None) -> DType | None:
        twin = DTYPES.get(f"{str(dtype).removesuffix('fn')}fnuz")
        return twin if twin is not None and twin.name in formats else dtype

    after = problem.epilogue and replace(problem.epilogue, result=own(problem.epilogue.result))
    return replace(problem, dtype=own(problem.dtype), epilogue=after)


def _lines(source: str) -> list[str]:
    """The problems of a text of one a line, each by itself; other sources as they are."""
    if source == "-":
        text = read_bounded(sys.stdin.buffer, "<stdin>")
    elif os.path.isfile(source) and not source.endswith(".mlir"):
        with open(source, "rb") as file:
            text = read_bounded(file, source)
    else:
        return [source]
    if text.lstrip().startswith(("[", *IR_WORDS)):
        return [source]
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _read(source: str) -> list[ProblemEntry]:
    if source == "-":
        return _parsed(read_bounded(sys.stdin.buffer, "<stdin>"), "<stdin>")
    if os.path.isdir(source):
        raise Diagnostic(f"cannot read '{source}': it is a directory")
    if os.path.exists(source):  # a file, a pipe, what the shell makes of <(...)
        try:
            with open(source, "rb") as file:
                return _parsed(read_bounded(file, source), source)
        except OSError as error:
            raise Diagnostic(f"cannot read '{source}': {_reason(error)}") from None
    if len(source.split()) == 1 and not source.lstrip().startswith(("{", "[")):
        raise Diagnostic(f"'{source}' is no file, and no problem", hint=_example())
    return stated(source)


def stated(text: str) -> list[ProblemEntry]:
    """The problems that a text states; it names no file."""
    if not text.strip():
        raise Diagnostic("the problem is empty", hint=_example())
    return _parsed(text, None)


def _parsed(text: str, file: str | None) -> list[ProblemEntry]:
    if (file or "").endswith(".mlir") or text.lstrip().startswith(IR_WORDS):
        from imbrex.ir.to_problem import problems_of

        return [ProblemEntry(s.problem, s.name, s.algorithm) for s in problems_of(text, file or "<text>")]
    return [
        ProblemEntry(p, ignored=parsed.ignored, tool=parsed.tool)
        for parsed in parse_problems(text, file)
        for p in parsed.problems
    ]


def _laid_out(problem: Problem, layout: str) -> Problem:
    if not isinstance(problem, Conv2d):
        return problem
    filters, images, results = following(layout)
    return replace(problem, filter_layout=filters, input_layout=images, output_layout=results)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _example() -> str:
    return f'give a file, -, or a quoted line such as "{EXAMPLE}"'
