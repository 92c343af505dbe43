"""Diagnostic: one error of the user's own making, said once, with its place in the text where there is one.

Law: `str()` of a located Diagnostic is `file:line:col: error: message`, then the source line, then carets
under the span; of an unlocated one `error: message`.  A hint is one more line.  Lines and columns count
from 1.  Whatever a user's text holds, what is shown of it is printable: control characters stand as escapes,
so none reaches a terminal, and long lines are cut, a source line around the span.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

__all__ = ["Diagnostic", "Severity", "did_you_mean", "printable"]

Severity = Literal["error", "warning", "note"]

_WORD, _LINE = 300, 1000
"""Characters of a message's word, and of its line."""
_BEFORE, _SPAN, _AFTER = 60, 100, 40
"""Characters of a source line before a span, of the span, and behind it."""
_CUT = "..."
_LONG_WORD = re.compile(rf"[^\s'\",]{{{_WORD},}}")
_NEAREST = 100
"""Characters of the longest word that is compared with known ones."""


@dataclass(eq=False)
class Diagnostic(Exception):
    """A user-facing error.  `length` is the number of characters that the carets cover.

    message: lower-case, no final period.  col and line: from 1; a column needs a line.
    subject: the field that the error is about (`groups`), by which a reader of text finds the place.
    """

    message: str
    file: str | None = None
    line: int | None = None
    col: int | None = None
    source: str | None = None
    length: int = 1
    hint: str | None = None
    severity: Severity = "error"
    subject: str | None = None

    def __post_init__(self) -> None:
        Exception.__init__(self, self.message)

    def at(
        self,
        *,
        file: str | None = None,
        line: int | None = None,
        col: int | None = None,
        source: str | None = None,
        length: int | None = None,
    ) -> Diagnostic:
        """The same error, with those parts of its place filled in that it does not know yet."""
        return dataclasses.replace(
            self,
            file=self.file if self.file is not None else file,
            line=self.line if self.line is not None else line,
            col=self.col if self.col is not None else col,
            source=self.source if self.source is not None else source,
            length=length if length is not None and self.col is None else self.length,
        )

    @property
    def location(self) -> str:
        """`file:line:col`, as much of it as is known; empty when nothing is."""
        if self.file is None and self.line is None:
            return ""
        parts: list[str | int | None] = [self.file or "<text>", self.line]
        if self.line is not None:
            parts.append(self.col)
        return ":".join(str(part) for part in parts if part is not None)

    def __str__(self) -> str:
        head = f"{self.location}: " if self.location else ""
        message = self.message if self.col is None else self.message.replace("\n", "\\n")  # it is one line
        lines = [printable(f"{head}{self.severity}: {message}")]
        if self.source is not None and self.col is not None:
            lines += _marked(self.source, self.col - 1, self.length)
        if self.hint is not None:
            lines.append(printable(f"hint: {self.hint}"))
        return "\n".join(lines)


def printable(text: str) -> str:
    """A text whose lines may be shown: what is not printable stands as an escape, long lines are cut."""
    return "\n".join(_escaped(_short(line)) for line in text.split("\n"))


def _short(line: str) -> str:
    line = _LONG_WORD.sub(lambda word: f"{word[0][: _WORD // 4]}{_CUT} ({len(word[0])} characters)", line)
    if len(line) <= _LINE:
        return line
    rest = _LINE * 3 // 4
    return f"{line[:rest]} {_CUT} {line[rest - _LINE :]}"


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else repr(c)[1:-1] for c in text)


def _marked(source: str, start: int, length: int) -> list[str]:
    """The part of a line around `length` characters from `start`, and carets under these; tabs before them
    are kept, so that a terminal lines them up.
    """
    end = min(start + max(1, min(length, len(source) - start)), start + _SPAN)
    first = start - _BEFORE if start > 2 * _BEFORE else 0
    last = end + _AFTER if len(source) > end + 2 * _AFTER else len(source)
    lead, trail = _CUT if first else "", _CUT if last < len(source) else ""
    before, marked = _escaped(source[first:start]), _escaped(source[start:end])
    shown = f"{lead}{before}{marked}{_escaped(source[end:last])}{trail}"
    under = "".join("\t" if c == "\t" else " " * _columns(c) for c in lead + before)
    behind = " " * max(0, start - len(source))  # a place behind the line's end
    return [shown, under + behind + "^" * max(1, sum(map(_columns, marked)))]


def _columns(character: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """`did you mean 'strides'?` for the known word nearest to `word`, in any case; None when none is near."""
    if len(word) > _NEAREST:  # difflib takes quadratic time
        return None
    words = {k.lower(): k for k in known}
    near = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return f"did you mean '{words[near[0]]}'?" if near else None
