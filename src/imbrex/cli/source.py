"""Sources: the problems that a command is given, by a file, a quoted line or `-`.

Law: a `.mlir` file, or a text that begins as IR does, is read as IR; any other text line by line.  What is
no line and no file is said to be neither.  A problem that is asked for several times is served once.  A
benchmark's line has the 8-bit floats of the machine that it ran on: gfx942's are the FNUZ ones, and its tools
call them f8_r and convfp8 as others' do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import click

from imbrex.cli.skipped import Skipped
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, DType, product_of
from imbrex.function.layout import following
from imbrex.limit import read_bounded
from imbrex.problem import Conv2d, Problem
from imbrex.problem.text import parse_problems, problem_text
from imbrex.view.mma.instruction import FORMATS

__all__ = ["EXAMPLE", "ProblemEntry", "meant_on", "problems_of", "read_problems", "stated", "weighted"]

EXAMPLE = "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"

IR_WORDS = ("builtin.module", "module", "func.func", "miopen.", "linalg.", "//", '"builtin.module"')


@dataclass(frozen=True)
class ProblemEntry:
    """A problem; the function that states it in IR, and the algorithm that it asks for there.

    tool: the benchmark whose line it was.  count: how often it is asked for.  location: of the first time.
    """

    problem: Problem
    name: str | None = None
    algorithm: str | None = None
    ignored: tuple[str, ...] = ()
    tool: str | None = None
    count: int = 1
    location: str = ""

    def unless_served(self, skipped: Skipped) -> AbstractContextManager[None]:
        """The block serves this problem."""
        return skipped.unless_served(problem_text(self.problem), self.location, self.count)


def read_problems(
    sources: Sequence[str], layout: str | None = None, skipped: Skipped | None = None
) -> list[ProblemEntry]:
    """The problems of all sources, in order.  layout: of every convolution's images, which filter and result
    follow.  skipped: takes the lines that cannot be read.
    """
    found = [entry for source in sources for entry in _read(source, skipped or Skipped())]
    if layout is None:
        return found
    following(layout)  # refused where there is none, also of products, which have no images
    return [replace(entry, problem=_laid_out(entry.problem, layout)) for entry in found]


def problems_of(
    sources: Sequence[str], layout: str | None, chips: Collection[str | None], skipped: Skipped
) -> list[ProblemEntry]:
    """The problems of all sources as these chips have them, each once, with how often it is asked for."""
    found: dict[tuple[Problem, str | None, str | None], ProblemEntry] = {}
    for entry in _meant(read_problems(sources, layout, skipped), chips, skipped):
        key = entry.problem, entry.name, entry.algorithm
        before = found.get(key)
        found[key] = entry if before is None else replace(before, count=before.count + entry.count)
    return list(found.values())


def weighted(entries: Sequence[ProblemEntry]) -> dict[Problem, int]:
    """Each problem, by whatever name it is asked for, with how often."""
    found: dict[Problem, int] = {}
    for entry in entries:
        found[entry.problem] = found.get(entry.problem, 0) + entry.count
    return found


def _meant(
    entries: Sequence[ProblemEntry], chips: Collection[str | None], skipped: Skipped
) -> list[ProblemEntry]:
    """What all of them mean on these chips, with a note where that is not what a line names."""
    meant: list[ProblemEntry] = []
    types: set[tuple[str, str]] = set()
    for entry in entries:
        with entry.unless_served(skipped):
            meant.append(meant_on(entry, chips))
            types.add((entry.problem.dtype.name, meant[-1].problem.dtype.name))
    for named, own in sorted(pair for pair in types if pair[0] != pair[1]):
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
        if dtype is not None and dtype.pair is not None and not dtype.is_microscaled:
            one, other = (own(of) or of for of in dtype.operands)
            return product_of(one, other)
        twin = DTYPES.get(f"{str(dtype).removesuffix('fn')}fnuz")
        return twin if twin is not None and twin.name in formats else dtype

    after = problem.epilogue and replace(problem.epilogue, result=own(problem.epilogue.result))
    return replace(problem, dtype=own(problem.dtype), epilogue=after)


def _read(source: str, skipped: Skipped) -> list[ProblemEntry]:
    if source == "-":
        return _parsed(read_bounded(sys.stdin.buffer, "<stdin>"), "<stdin>", skipped)
    if os.path.isdir(source):
        raise Diagnostic(f"cannot read '{source}': it is a directory")
    if os.path.exists(source):  # a file, a pipe, what the shell makes of <(...)
        try:
            with open(source, "rb") as file:
                return _parsed(read_bounded(file, source), source, skipped)
        except OSError as error:
            raise Diagnostic(f"cannot read '{source}': {_reason(error)}") from None
    if _names_a_file(source):
        raise Diagnostic(f"'{source}' is no file, and no problem", hint=_example())
    return stated(source, skipped)


def _names_a_file(source: str) -> bool:
    """Is what is no file one word, or words that end as files' names do and have no flag among them?"""
    words = source.split()
    if source.lstrip().startswith(("{", "[", *IR_WORDS)) or "\n" in source:
        return False
    is_path = os.path.splitext(source)[1] != "" or os.sep in source
    return len(words) == 1 or (len(words) > 1 and is_path and not any(w.startswith("-") for w in words))


def stated(text: str, skipped: Skipped | None = None) -> list[ProblemEntry]:
    """The problems that a text states; it names no file.  skipped: takes the lines that cannot be read."""
    if not text.strip():
        raise Diagnostic("the problem is empty", hint=_example())
    return _parsed(text, None, skipped or Skipped())


def _parsed(text: str, file: str | None, skipped: Skipped) -> list[ProblemEntry]:
    if (file or "").endswith(".mlir") or text.lstrip().startswith(IR_WORDS):
        from imbrex.ir.to_problem import problems_of

        stated = problems_of(text, file or "<text>")
        return [ProblemEntry(s.problem, s.name, s.algorithm, location=file or "") for s in stated]
    found: list[ProblemEntry] = []
    for parsed in parse_problems(text, file, skipped.unread if skipped.keeps_going else None):
        location = "" if file is None else f"{file}:{parsed.line}"
        found += [
            ProblemEntry(p, None, None, parsed.ignored, parsed.tool, parsed.count, location)
            for p in parsed.problems
        ]
    return found


def _laid_out(problem: Problem, layout: str) -> Problem:
    if not isinstance(problem, Conv2d):
        return problem
    filters, images, results = following(layout)
    return replace(problem, filter_layout=filters, input_layout=images, output_layout=results)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _example() -> str:
    return f'give a file, -, or a quoted line such as "{EXAMPLE}"'
