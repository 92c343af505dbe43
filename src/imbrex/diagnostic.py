"""Diagnostic: one error of the user's own making, said once, with its place in the text where there is one.

Law: `str()` of a located Diagnostic is `file:line:col: error: message`, then the source line, then carets
under the span; of an unlocated one `error: message`.  A hint is one more line.  Lines and columns count
from 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

__all__ = ["Diagnostic", "Severity", "did_you_mean"]

Severity = Literal["error", "warning", "note"]


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
        lines = [f"{head}{self.severity}: {self.message}"]
        if self.source is not None and self.col is not None:
            lines += [self.source, _carets(self.source, self.col, self.length)]
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def _carets(source: str, col: int, length: int) -> str:
    """Carets under `length` characters from column `col`; tabs are kept so that a terminal lines them up."""
    before = "".join("\t" if c == "\t" else " " for c in source[: col - 1]).ljust(col - 1)
    room = max(1, len(source) - (col - 1))
    return before + "^" * max(1, min(length, room))


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """`did you mean 'strides'?` for the known word nearest to `word`, in any case; None when none is near."""
    words = {k.lower(): k for k in known}
    near = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return f"did you mean '{words[near[0]]}'?" if near else None
