"""Text: a problem from any of its text forms, and back.

Law: parse_problem(problem_text(p)) == [p], and problem_text of a canonical text's problem is that text.  A
text holds one problem or more: one line each (MIOpenDriver, hipblaslt-bench, rocblas-bench or a profile of
rocBLAS, `gemm`), or JSON objects and lists of any shape.  A number before a line says how often its problems
are asked for, as `uniq -c` writes it.  Blank lines and lines that begin with # are skipped.  Every error
carries file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from imbrex.argument import instance
from imbrex.argument import text as expect_text
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.limit import LINE_CHARACTERS
from imbrex.numeral import MOST, whole
from imbrex.problem.conv import Conv2d
from imbrex.problem.flags import Line, Token
from imbrex.problem.gemm import Gemm
from imbrex.problem.gemm_line import gemm_line, read_gemm_line
from imbrex.problem.hipblaslt import read_hipblaslt
from imbrex.problem.json_text import json_end, read_json
from imbrex.problem.miopen import MIOPEN_KINDS, miopen_line, read_miopen
from imbrex.problem.rocblas import read_rocblas
from imbrex.problem.rocblas_profile import is_profile, profile_tokens

__all__ = ["Parsed", "parse_problem", "parse_problems", "problem_text"]

_BLANK = re.compile(r"\s*(?:\n|\Z)")
_BLAS = {"hipblaslt-bench": read_hipblaslt, "rocblas-bench": read_rocblas}
_TOOLS = ("MIOpenDriver", *_BLAS)
_LINE_OF_TOOL = re.compile(rf"(?:^|[\s/\\])(?:{'|'.join(_TOOLS)})(?:\.exe)?\s")
"""What a log's line has, whatever stands before it."""


@dataclass(frozen=True)
class Parsed:
    """One line, or one JSON value: its problems, the flags that change nothing here, and where it began.

    tool: the benchmark whose name the line gives.  count: how often the problems are asked for.
    """

    problems: tuple[Conv2d | Gemm, ...]
    ignored: tuple[str, ...]
    line: int
    tool: str | None = None
    count: int = 1


def parse_problem(text: str, file: str | None = None) -> list[Conv2d | Gemm]:
    """All problems of a text, in order; at least one, or a `Diagnostic` with its line and column.

    text: lines of MIOpenDriver, hipblaslt-bench or `gemm`, JSON, or IR, as every command reads them
    (docs/commands.md). file: the name by which errors call it. A MIOpenDriver line without -F is three.
    """
    expect_text("text", text)
    if file is not None:
        expect_text("file", file, "a name")
    return [problem for parsed in parse_problems(text, file) for problem in parsed.problems]


def parse_problems(
    text: str, file: str | None = None, skipped: Callable[[str, Diagnostic], None] | None = None
) -> list[Parsed]:
    """Does what `parse_problem` does, line by line, with the flags that were ignored.

    skipped: takes each line that cannot be read, with the reason; without it the first one is raised.
    """
    left = list[str]()

    def skip(line: str, reason: Diagnostic) -> None:
        if skipped is None:
            raise reason
        left.append(line)
        skipped(line, reason)

    found = list(_parse(text, file, skip))
    if not left and not any(parsed.problems for parsed in found):
        hint = 'for example "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"'
        raise Diagnostic("no problem in the text", file=file, hint=hint)
    return found


def problem_text(problem: Conv2d | Gemm) -> str:
    """The canonical line of a problem, of MIOpenDriver or a `gemm` line; `parse_problem` is the inverse."""
    instance("problem", problem, (Conv2d, Gemm), "a Conv2d or a Gemm")
    match problem:
        case Conv2d():
            return miopen_line(problem)
        case Gemm():
            return gemm_line(problem)


def _parse(text: str, file: str | None, skip: Callable[[str, Diagnostic], None]) -> Iterator[Parsed]:
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
        try:
            if is_profile(line.text):
                yield _read_profile(line)
            elif line.text.startswith(("{", "["), first) and not _LINE_OF_TOOL.search(line.text):
                end = json_end(text, position + first, end)
                yield Parsed(tuple(read_json(text, position + first, file)), (), number)
            elif not line.text.startswith("#", first):
                yield _read_line(line)
        except Diagnostic as reason:
            skip(line.text.strip(), reason)
        number += text.count("\n", position, end + 1)
        position = end + 1


def _expect_short(line: Line) -> None:
    if len(line.text) > LINE_CHARACTERS:
        long = f"a line of {len(line.text)} characters is longer than {LINE_CHARACTERS}"
        raise line.locate(Diagnostic(long), Token(" ", 1))


def _read_profile(line: Line) -> Parsed:
    _expect_short(line)
    tokens, count = profile_tokens(line)
    problems, ignored = read_rocblas(line, tokens)
    return Parsed(tuple(problems), ignored, line.number, "rocblas-bench", count)


def _read_line(line: Line) -> Parsed:
    """One line by its form, which the tool's name or the first word tells; a log's prefix is skipped."""
    _expect_short(line)
    tokens, count = _counted(line.tokens())
    tools = [i for i, word in enumerate(tokens) if word.stem.removesuffix(".exe") in _TOOLS]
    rest = tokens[tools[-1] + 1 :] if tools else tokens
    tool = tokens[tools[-1]].stem.removesuffix(".exe") if tools else None
    first = rest[0] if rest else tokens[-1]
    if tool in _BLAS:
        problems, ignored = _BLAS[tool](line, rest)
        return Parsed(tuple(problems), ignored, line.number, tool, count)
    if first.text.startswith("conv"):
        convolutions, ignored = read_miopen(line, rest)
        return Parsed(tuple(convolutions), ignored, line.number, tool, count)
    if first.text == "gemm" and not tools:
        products, ignored = read_gemm_line(line, rest)
        return Parsed(tuple(products), ignored, line.number, None, count)
    known = [*MIOPEN_KINDS, *([] if tools else ["gemm", *_TOOLS])]
    if first.text.startswith("rocblas_"):
        known_form = "ROCBLAS_LAYER=2 writes it as a line of rocblas-bench, ROCBLAS_LAYER=4 calls with counts"
        raise line.error("a trace of rocBLAS's calls is not read", first, known_form)
    hint = did_you_mean(first.text, known) or f"a line begins with one of {', '.join(known)}"
    raise line.error(f"unknown problem form '{first.text}'", first, hint)


def _counted(tokens: list[Token]) -> tuple[list[Token], int]:
    """The tokens behind a number that the line begins with, and that number."""
    count = whole(tokens[0].text, 1, MOST) if len(tokens) > 1 and not tokens[0].is_quoted else None
    return (tokens, 1) if count is None else (tokens[1:], count)
