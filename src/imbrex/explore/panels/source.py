"""Every level of the IR and the generated source, each line with the operand whose Map it implements.

A line is an operand's where it names its array, or a value that is named after the array; all lines of an
operation are.  The comments of the source that spell a Map are that Map's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from imbrex.explore.panel import Listing, Panel, Table, rows
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, drawing, label, line
from imbrex.numeral import counted

__all__ = ["source"]

TITLE: Final = "Levels of the IR, and the source"
MOST: Final = 1600
"""Lines of a text that are shown."""
HELD: Final = ("matrix_block", "block", "thread", "fragment", "panel", "panels", "window", "tile")
"""What kernels call an operand's tiles and registers."""


def source(subject: Subject) -> Panel:
    """Texts by lines; the drawing has the levels, one below another, with the lines of each operand."""
    names = {ladder.array: name for name, ladder in subject.ladders.items() if ladder.array}
    rows_, columns = subject.sides
    words = _words(names, {rows_: "a", columns: "b", "C": "c"})
    listings = [
        _listing(f"{number}. {name}", "mlir", text, names, words)
        for number, (name, text) in enumerate(subject.texts)
    ]
    bundle = subject.source.bundle
    for file in bundle.units:
        listings.append(_listing(file, "c++", bundle.files[file], names, words))
    unseen = counted(
        len(bundle.files) - len(bundle.units),
        "device header, written by hand, is",
        "device headers, written by hand, are",
    )
    cut = [one.name for one in listings if len(one.lines) == MOST]
    said = (
        "The problem becomes a kernel level by level; every level has a meaning, and gives the same numbers.",
        f"{unseen} not shown.",
    )
    table_rows = [
        (
            one.name,
            len(one.lines),
            *(sum(name in _named(tokens) for _, tokens in one.lines) for name in "ABC"),
        )
        for one in listings
    ]
    table = Table(("text", "lines", "of A", "of B", "of C"), rows(*table_rows))
    sampled = f"only the first {MOST} lines are shown of {', '.join(cut)}" if cut else None
    return Panel("source", TITLE, said, _drawn(listings), table, (), tuple(listings), sampled=sampled)


def _words(arrays: Mapping[str, str], sides: Mapping[str, str]) -> Mapping[str, re.Pattern[str]]:
    """What a line names of each operand: its array, or its tiles and registers, called a, b or c."""
    found: dict[str, re.Pattern[str]] = {}
    for array, name in arrays.items():
        held = rf"(?:{'|'.join(HELD)})_{sides[name]}(?:_|\b)"
        found[name] = re.compile(rf"%{re.escape(array)}(?:_|\b)|\b{re.escape(array)}\b|{held}")
    return found


def _listing(
    name: str,
    language: str,
    text: str,
    arrays: Mapping[str, str],
    words: Mapping[str, re.Pattern[str]],
) -> Listing:
    given = text.rstrip("\n").split("\n")[:MOST]
    marked = _of_ir(given, words) if language == "mlir" else _of_source(given, arrays, words)
    lines = zip(given, marked, strict=True)
    return Listing(name, language, tuple((text, _tokens(named)) for text, named in lines))


def _tokens(named: Sequence[str]) -> str:
    """Any of the maps that a line implements."""
    return f"map:{','.join(named)}" if named else ""


def _of_ir(lines: Sequence[str], words: Mapping[str, re.Pattern[str]]) -> Iterator[list[str]]:
    """Operands that a line names; of a transform those of its first line, for all of it."""
    inside: tuple[int, list[str]] | None = None
    for text in lines:
        indent = len(text) - len(text.lstrip())
        found = [name for name, word in words.items() if word.search(text)]
        if inside is not None and indent > inside[0]:
            yield inside[1]
            continue
        yield found
        if inside is None and "miopen.transform" in text and text.endswith("{"):
            inside = indent, found
        elif inside is not None:
            inside = None


def _of_source(
    lines: Sequence[str], arrays: Mapping[str, str], words: Mapping[str, re.Pattern[str]]
) -> Iterator[list[str]]:
    """Operands that a line names; in comments, the operand whose Map is being spelt."""
    spelt: list[str] = []
    for text in lines:
        comment = text.strip().removeprefix("//").strip() if text.strip().startswith("//") else None
        if comment is None or not comment:
            spelt = []
        elif comment.endswith(":") and comment[:-1] in arrays:
            spelt = [arrays[comment[:-1]]]
        yield spelt or ([] if comment else [n for n, word in words.items() if word.search(text)])


def _named(tokens: str) -> list[str]:
    """The maps of a line's tokens."""
    return tokens.removeprefix("map:").split(",") if tokens else []


def _drawn(listings: Sequence[Listing]) -> str:
    """A row for each text: its length, and where its lines are an operand's."""
    most = max(len(one.lines) for one in listings)
    parts = [label(8, 20, "texts from the problem down to source; colours: lines of A, B, C", "head")]
    width, left, row = 440.0, 200.0, 26
    for at, one in enumerate(listings):
        y, long = 34 + at * row, max(6.0, width * len(one.lines) / most)
        parts.append(label(left - 8, y + 14, one.name, "end"))
        parts.append(
            box(left, y, long, row - 8, "plain", "", f"{one.name}: {counted(len(one.lines), 'line')}")
        )
        parts += _stripes(one, left, y, long, row - 8)
        parts.append(label(left + long + 6, y + 14, len(one.lines), "soft"))
        if at:
            parts.append(line(left + 3, y - 8, left + 3, y))
    return drawing(TITLE, parts, left + width + 60, 40 + len(listings) * row)


def _stripes(one: Listing, left: float, y: float, long: float, high: float) -> Iterator[str]:
    """Stretches of lines of one operand."""
    step = long / len(one.lines)
    start, current = 0, ""
    for at, (_, tokens) in enumerate((*one.lines, ("", ""))):
        found = next(iter(_named(tokens)), "")
        if found != current or at == len(one.lines):
            if current and (at - start) * step > 0.4:
                colour = "ABC".find(current) % 8
                tooltip = f"{one.name}, lines {start + 1} to {at}: of {current}"
                yield box(
                    left + start * step,
                    y,
                    (at - start) * step,
                    high,
                    f"g{colour}",
                    f"map:{current}",
                    tooltip,
                )
            start, current = at, found
