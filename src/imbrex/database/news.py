"""News: how many verdicts this process has kept, so that whoever keeps kernels knows when to look again."""

from __future__ import annotations

__all__ = ["tell", "verdicts"]

_count = 0


def verdicts() -> int:
    """Verdicts that were kept so far."""
    return _count


def tell() -> None:
    """Another one was."""
    global _count
    _count += 1
