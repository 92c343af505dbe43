"""News: how often this process has kept a verdict or was told to look again, and which database it looks
into, so that whoever keeps kernels knows when to do so.
"""

from __future__ import annotations

import os

from imbrex.database.location import VARIABLE

__all__ = ["News", "look_again", "news", "tell", "verdicts"]

News = tuple[int, str | None]

_count = 0


def verdicts() -> int:
    """Verdicts that were kept so far, and the times that kernels were to be looked for again."""
    return _count


def news() -> News:
    """What changes where a kernel that was chosen might be chosen otherwise."""
    return _count, os.environ.get(VARIABLE)


def tell() -> None:
    """Another one was kept."""
    look_again()


def look_again() -> None:
    """Kernels and plans that are kept hold no longer: the next call of each asks `compile`."""
    global _count
    _count += 1
