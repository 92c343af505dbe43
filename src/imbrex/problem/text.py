"""Text: a problem from any of its text forms, and back.

Law: parse_problem(problem_text(p)) == [p], and problem_text of a canonical text's problem is that text.  A
text holds one problem or more: one line each (MIOpenDriver, hipblaslt-bench, rocblas-bench, `gemm`), or JSON
objects and lists of any shape.  Blank lines and lines that begin with # are skipped.  Every error carries
file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.limit import LINE_CHARACTERS
from imbrex.problem.conv import Conv2d
from imbrex.problem.flags import Line, Token
from imbrex.problem.gemm import Gemm
from imbrex.problem.gemm_line import gemm_line, read_gemm_line
from imbrex.problem.hipblaslt import read_hipblaslt
from imbrex.problem.json_text import read_json
from imbrex.problem.miopen import MIOPEN_KINDS, miopen_line, read_miopen
from imbrex.problem.rocblas import read_rocblas

__all__ = ["Parsed", "parse_problem", "parse_problems", "problem_text"]

_BLANK = re.compile(r"\s*(?:\n|\Z)")
_BLAS = {"hipblaslt-bench": read_hipblaslt, "rocblas-bench": read_rocblas}
_TOOLS = ("MIOpenDriver", *_BLAS)


@dataclass(frozen=True)
class Parsed:
    """One line, or one JSON value: its problems, the flags that change nothing here, and where it began.

    tool: the benchmark whose name the line gives.
    """

    problems: tuple[Conv2d | Gemm, ...]
    ignored: tuple[str, ...]
    line: int
    tool: str | None = None


def parse_problem(text: str, file: str | None = None) -> list[Conv2d | Gemm]:
    """All problems of a text, in order; at least one, or a `Diagnostic`."""
    return [problem for parsed in parse_problems(text, file) for problem in parsed.problems]


def parse_problems(text: str, file: str | None = None) -> list[Parsed]:
    """As `parse_problem`, line by line, with the flags that were ignored."""
    found = list(_parse(text, file))
    if not any(parsed.problems for parsed in found):
        hint = 'for example "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"'
        raise Diagnostic("no problem in the text", file=file, hint=hint)
    return found


def problem_text(problem: Conv2d | Gemm) -> str:
    """The canonical line of a problem: a MIOpenDriver line, or a `gemm` line."""
    match problem:
        case Conv2d():
            return miopen_line(problem)
        case Gemm():
            return gemm_line(problem)


def _parse(text: str, file: str | None) -> Iterator[Parsed]:
    position, number = 0, 1
    while position < len(text):
        if blank := _BLANK.match(text, position):
            number += text.count("\n", position, blank.end())
            position = blank.end()
            continue
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = Line(text[position:end].rstrip(), file, number)
        first = len(line.text) - len(line.text.lstrip())
        if line.text.startswith(("{", "["), first):
            problems, end = read_json(text, position + first, file)
            yield Parsed(tuple(problems), (), number)
        elif not line.text.startswith("#", first):
            read, ignored, tool = _read_line(line)
            yield Parsed(tuple(read), ignored, number, tool)
        number += text.count("\n", position, end + 1)
        position = end + 1


def _read_line(line: Line) -> tuple[list[Conv2d] | list[Gemm], tuple[str, ...], str | None]:
    """One line by its form, which the tool's name or the first word tells; a log's prefix is skipped."""
    if len(line.text) > LINE_CHARACTERS:
        long = f"a line of {len(line.text)} characters is longer than {LINE_CHARACTERS}"
        raise line.locate(Diagnostic(long), Token(" ", 1))
    tokens = line.tokens()
    tools = [i for i, word in enumerate(tokens) if word.stem.removesuffix(".exe") in _TOOLS]
    rest = tokens[tools[-1] + 1 :] if tools else tokens
    tool = tokens[tools[-1]].stem.removesuffix(".exe") if tools else None
    if tool in _BLAS:
        return *_BLAS[tool](line, rest), tool
    first = rest[0] if rest else tokens[-1]
    if first.text.startswith("conv"):
        return *read_miopen(line, rest), tool
    if first.text == "gemm" and not tools:
        return *read_gemm_line(line, rest), None
    known = [*MIOPEN_KINDS, *([] if tools else ["gemm", *_TOOLS])]
    hint = did_you_mean(first.text, known) or f"a line begins with one of {', '.join(known)}"
    raise line.error(f"unknown problem form '{first.text}'", first, hint)
