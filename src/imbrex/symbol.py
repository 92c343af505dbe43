"""Symbol: the name under which C finds a kernel, from the one that a user gives it.

Law: all that a kernel's source declares outside of a namespace begins with `imbrex_`, and no name of C, C++,
POSIX or of a macro does: so whatever word a user chooses, `free` or `NULL`, nothing else is called that.
"""

from __future__ import annotations

from typing import Final

__all__ = ["name_of", "symbol_of"]

PREFIX: Final = "imbrex_"


def symbol_of(name: str) -> str:
    """The entry point of a kernel of that name; what else the kernel declares begins with it."""
    return f"{PREFIX}{name}"


def name_of(symbol: str) -> str:
    """The inverse of `symbol_of`."""
    assert symbol.startswith(PREFIX), symbol
    return symbol.removeprefix(PREFIX)
