"""Digests: the keys of the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

__all__ = ["digest", "source_parts"]


def source_parts(sources: Mapping[str, str]) -> list[str]:
    """What a digest of sources by file name is of."""
    return [part for name in sorted(sources) for part in (name, sources[name])]


def digest(parts: Iterable[str]) -> str:
    """sha256 of the parts, each with its length before it, so that no two lists of parts read the same."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogateescape")  # of a folder whose name is no UTF-8
        total.update(b"%d:" % len(data))
        total.update(data)
    return total.hexdigest()
