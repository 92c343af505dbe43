"""Slips that design notes are full of, and the message that names the repair of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken

from imbrex.ir.literal import suggest

RENAMED: Final = {
    "loop.for": "'loop.for' is written 'scf.for %i = %from to %to step %step { ... }'",
    "loop.if": "'loop.if' is written 'scf.if %condition { ... } else { ... }'",
}

BETTER: Final = {
    "operation name expected": (
        "expected an operation after '='; arithmetic on SSA values is written with operations such as"
        " arith.muli and arith.divui"
    ),
    "End of file reached before closing string literal.": "this string is not closed on its line",
    "Could not parse entire input!": "expected an operation",
    "Expected suffix identifier after {first_char}": "expected a name after this sign",
    " in block definition": "expected an operation, or '}' after the last one",
}


class SlipLexer(MLIRLexer):
    """MLIR's lexer with a message for `# comment`, and a string that is not closed costs linear time only."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')

    def lex(self) -> MLIRToken:
        self._consume_whitespace()
        start = self.pos
        if self.input.at(start) == "#" and (self.input.at(start + 1) or "\n").isspace():
            raise ParseError(
                Span(start, start + 1, self.input), "a comment starts with '//', not with '#'; write '//'"
            )
        return super().lex()


def unknown_operation(name: str, known: Iterable[str]) -> str:
    """What to write instead of an operation that does not exist."""
    if name in RENAMED:
        return RENAMED[name]
    dialect = name.split(".")[0]
    same = [k for k in known if k.split(".")[0] == dialect]
    return f"unknown operation '{name}'{suggest(name, same) if same else ''}"


def better(message: str) -> str:
    """A message of xDSL's in this project's form: lower case, no full stop, naming the repair if known."""
    if message in BETTER:
        return BETTER[message]
    first = message.split("\n")[0].rstrip(".!")
    return first[:1].lower() + first[1:] if not first[1:2].isupper() else first
