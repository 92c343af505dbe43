"""Assembly text without what may differ between equal code: names, numbers of labels, comments, metadata.

Law: texts that differ in names alone become equal; any other instruction, operand, order or constant gives
another text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = ["instructions", "nameless"]

_COMMENT = {"amdgcn": ";", "x86_64": "#", "aarch64": "//"}
_CONSTANTS = ("byte", "short", "hword", "long", "word", "quad", "xword", "zero", "ascii", "asciz", "comm")
_CONSTANT = re.compile(rf"\.({'|'.join(_CONSTANTS)})\b")
_LABEL = re.compile(r"^([\w.$]+):")
_DEFINED = re.compile(r"^(?:\s*\.(?:type|comm|local|globl|weak|set)\s+)?([\w.$]+)(?=:|,|$)")
_SYMBOL = re.compile(r"[A-Za-z_.$][\w.$]*")


def nameless(text: str, architecture: str) -> Iterator[str]:
    """Its labels, instructions and constants, one a line; what the text defines is numbered as it is met.

    architecture: `amdgcn`, `x86_64` or `aarch64`.
    """
    mark = _COMMENT[architecture]
    lines = [line.partition(mark)[0].rstrip() for line in text.splitlines()]
    defined = {found[1] for line in lines if (found := _DEFINED.match(line)) is not None}
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        name = found[0]
        return f"@{numbers.setdefault(name, len(numbers))}" if name in defined else name

    for line in lines:
        told = line.strip()
        if told and (not told.startswith(".") or _LABEL.match(told) or _CONSTANT.match(told)):
            yield " ".join(_SYMBOL.sub(numbered, told).split())


def instructions(lines: Iterable[str]) -> int:
    """How many of the lines of `nameless` are instructions."""
    return sum(not line.startswith((".", "@")) for line in lines)
