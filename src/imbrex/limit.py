"""Limit: how long and how deep what a user gives may be.

Law: whatever is longer or deeper is a `Diagnostic` that states the number, before time is spent on it.  The
numbers are far above what people write, and low enough that every stage behind them, of Python's recursion as
of the C++ compiler's brackets, has room.
"""

from __future__ import annotations

import re
from typing import IO, Final

from imbrex.diagnostic import Diagnostic

__all__ = [
    "EPILOGUE_CHARACTERS", "EPILOGUE_DEPTH", "IR_BYTES", "JSON_DEPTH", "LINE_CHARACTERS", "PATH_PARTS",
    "TEXT_BYTES", "expect_path", "read_bounded", "too_deep",
]  # fmt: skip

TEXT_BYTES: Final = 64 << 20
"""Most bytes of a file of problems."""

IR_BYTES: Final = 1 << 20
"""Most bytes of a text of IR, whose parser reads 100 kB a second; the module of a problem has a few kB."""

LINE_CHARACTERS: Final = 1 << 16
"""Most characters of a line that states a problem in flags; the longest that tools print are about 600."""

JSON_DEPTH: Final = 32
"""Lists and objects around one problem, and inside it."""

EPILOGUE_CHARACTERS: Final = 10_000
EPILOGUE_DEPTH: Final = 100
"""Operators and functions inside each other; a sum of n terms is n - 1 of them.  Compilers of C++ are only
bound to take 256 brackets inside each other, and each of these prints two at the most.
"""

PATH_PARTS: Final = 256
"""Folders of a path that is written to."""

_BRACKET: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\[{]|[\]}]')


def read_bounded(stream: IO[bytes], name: str, most: int = TEXT_BYTES) -> str:
    """All of a stream as text; a Diagnostic where it is no UTF-8, or holds more than `most` bytes."""
    data = stream.read(most + 1)
    if len(data) > most:
        raise Diagnostic(f"'{name}' is longer than {most} bytes", hint="give it in several pieces")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Diagnostic(f"'{name}' is not UTF-8 text: {error.reason} at byte {error.start}") from None


def too_deep(text: str, start: int = 0) -> int | None:
    """Where JSON nests deeper than JSON_DEPTH; None where it does not."""
    depth = 0
    for found in _BRACKET.finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > JSON_DEPTH:
            return found.start()
        if depth <= 0:
            return None
    return None


def expect_path(path: str) -> None:
    """A Diagnostic for a path with more folders than PATH_PARTS."""
    if (parts := path.count("/") + 1) > PATH_PARTS:
        raise Diagnostic(f"a path of {parts} parts is deeper than {PATH_PARTS}")
