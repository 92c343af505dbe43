"""Flags: a line of words read by a table of flags, every error pointing at its word.

Law: a flag is known or an error; each takes one value (`-n 1`, `--batchsize=1`) unless the table says none;
a flag given twice is an error.  A `#` that begins a word begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["Flag", "Flags", "Line", "Token", "read_flags"]

T = TypeVar("T")
_TOKEN = re.compile(r"""(?:(?P<flag>--[\w-]+)=)?(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")|\S+""")


@dataclass(frozen=True)
class Token:
    """A word or quoted text of a line; col counts from 1.  is_quoted: a value, whatever it looks like."""

    text: str
    col: int
    is_quoted: bool = False

    @property
    def stem(self) -> str:
        """The last part of a path: `MIOpenDriver` of `./bin/MIOpenDriver`."""
        return self.text.replace("\\", "/").rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Line:
    """One line of text and where it stands."""

    text: str
    file: str | None = None
    number: int = 1

    def tokens(self) -> list[Token]:
        """The tokens before a comment, without the quotes around a quoted one; a flag and its quoted value,
        `--epilogue="x + 1"`, are two.
        """
        found: list[Token] = []
        for match in _TOKEN.finditer(self.text):
            if match[0].startswith("#"):
                break
            if match["flag"]:
                found.append(Token(match["flag"], match.start("flag") + 1))
            inner = match.lastgroup or 0
            found.append(Token(match[inner], match.start(inner) + 1, bool(inner)))
        return found

    def locate(self, error: Diagnostic, word: Token | None) -> Diagnostic:
        """The error with this line, the carets under `word`, or under the first one."""
        at = word or next(iter(self.tokens()), Token(" ", 1))
        return error.at(
            file=self.file, line=self.number, col=at.col, source=self.text, length=max(1, len(at.text))
        )

    def error(self, message: str, word: Token | None, hint: str | None = None) -> Diagnostic:
        return self.locate(Diagnostic(message, hint=hint), word)


@dataclass(frozen=True)
class Flag:
    """One flag of a tool.

    name: the field that it sets.  only: the values that Imbrex has; () is any.
    use: "ignored" flags change how the tool runs and not what it computes; "refused" ones ask for what Imbrex
    does not do.  takes_value: False is a switch.
    """

    name: str
    spellings: tuple[str, ...]
    use: Literal["read", "ignored", "refused"] = "read"
    only: tuple[str, ...] = ()
    takes_value: bool = True
    hint: str | None = None


@dataclass(frozen=True)
class Flags:
    """The flags of one line: by field the word of the value and the spelling, and what was ignored."""

    line: Line
    values: dict[str, Token]
    spelled: dict[str, str]
    ignored: tuple[str, ...]

    def get(self, name: str, default: T, read: Callable[[str, str], T]) -> T:
        """What `read(spelling, text)` makes of that field's word, or the default where the line has none."""
        if name not in self.values:
            return default
        try:
            return read(self.spelled[name], self.values[name].text)
        except Diagnostic as error:
            raise self.line.locate(error, self.values[name]) from None

    def locate(self, error: Diagnostic) -> Diagnostic:
        """An error of the whole problem, placed at the flag that it is about."""
        return self.line.locate(error, self.values.get(error.subject or ""))


def read_flags(line: Line, tokens: list[Token], table: tuple[Flag, ...]) -> Flags:
    """Read `tokens`, which begin with a flag, by `table`."""
    known = {spelling: flag for flag in table for spelling in flag.spellings}
    values: dict[str, Token] = {}
    spelled: dict[str, str] = {}
    ignored: list[str] = []
    rest = iter(tokens)
    for word in rest:
        spelling, equals, attached = (
            word.text.partition("=") if word.text.startswith("--") else (word.text, "", "")
        )
        flag = known.get(spelling)
        if flag is None:
            raise _unknown(line, word, spelling, known)
        if flag.name in spelled:
            raise line.error(f"'{spelling}' sets '{flag.name}' a second time", word)
        value = word
        if equals:
            value = Token(attached, word.col + len(spelling) + 1)
        elif flag.takes_value:
            value = _value(line, word, next(rest, None), known)
        if flag.use == "refused":
            raise line.error(f"'{spelling}' is not supported", word, flag.hint)
        if flag.only and value.text not in flag.only:
            wanted = " or ".join(flag.only)
            raise line.error(
                f"'{spelling} {value.text}' is not supported; it can be {wanted}", value, flag.hint
            )
        spelled[flag.name] = spelling
        values[flag.name] = value
        if flag.use == "ignored":
            ignored.append(spelling)
    return Flags(line, values, spelled, tuple(ignored))


def _value(line: Line, flag: Token, value: Token | None, known: dict[str, Flag]) -> Token:
    if value is None:
        raise line.error(f"'{flag.text}' needs a value", flag)
    if value.text in known and not value.is_quoted:
        raise line.error(f"'{flag.text}' needs a value", flag, f"'{value.text}' is a flag, unless in quotes")
    return value


def _unknown(line: Line, word: Token, spelling: str, known: dict[str, Flag]) -> Diagnostic:
    if not spelling.startswith("-"):
        return line.error(f"expected a flag, got '{spelling}'", word)
    near = did_you_mean(spelling, known) if len(spelling) > 2 else None
    read = dict.fromkeys(flag.spellings[0] for flag in known.values() if flag.use == "read")
    return line.error(f"unknown flag '{spelling}'", word, near or f"known flags are {' '.join(read)}")
