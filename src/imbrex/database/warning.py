"""What is said, once, of a database, or of a row of one, that could not be used."""

from __future__ import annotations

import warnings

__all__ = ["DatabaseWarning", "warn"]


class DatabaseWarning(UserWarning):
    """Something of the tuning database could not be used; the work went on without it."""


def warn(text: str) -> None:
    """A DatabaseWarning, once in a process for each text."""
    if text not in _given:
        warnings.warn(text, DatabaseWarning, stacklevel=2)
        _given.add(text)


_given: set[str] = set()
