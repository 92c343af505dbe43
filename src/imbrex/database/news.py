"""News: how many verdicts this process has kept, and which database it looks into, so that whoever keeps
kernels knows when to look again.
"""

from __future__ import annotations

import os

from imbrex.database.location import VARIABLE

__all__ = ["News", "news", "tell", "verdicts"]

News = tuple[int, str | None]

_count = 0


def verdicts() -> int:
    """Verdicts that were kept so far."""
    return _count


def news() -> News:
    """What changes where a kernel that was chosen might be chosen otherwise."""
    return _count, os.environ.get(VARIABLE)


def tell() -> None:
    """Another one was."""
    global _count
    _count += 1
