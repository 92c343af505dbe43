"""Words of an attribute that must be one of a few."""

from __future__ import annotations

from imbrex.ir.attrs import Keyword
from imbrex.ir.literal import suggest
from imbrex.ir.source import expect

__all__ = ["expect_known"]


def expect_known(word: Keyword | None, known: tuple[str, ...], key: str) -> None:
    """A word that is given must be one of the known ones."""
    if word is not None:
        expect(word.data in known, f"unknown {key} '{word.data}'{suggest(word.data, known)}", key)
