"""Where caches lie, and what is said, once, of one that cannot be used."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from imbrex.diagnostic import Diagnostic

__all__ = ["CacheWarning", "absolute", "cache_directory", "reason", "shared_cache_directory", "warn"]

SHARED = "IMBREX_SHARED_CACHE"


class CacheWarning(UserWarning):
    """The cache could not be used; the work was done without it."""


def cache_directory() -> Path:
    """IMBREX_CACHE_DIR, else where this system keeps caches of users; a Diagnostic where there is no such
    place.
    """
    if given := os.environ.get("IMBREX_CACHE_DIR"):
        return absolute(Path(given))
    import platformdirs  # here: where the directory is named nobody waits for it

    try:
        return platformdirs.user_cache_path("imbrex", appauthor=False)
    except RuntimeError:
        raise Diagnostic("this user has no home", hint="set IMBREX_CACHE_DIR") from None


def shared_cache_directory() -> Path | None:
    """IMBREX_SHARED_CACHE: another's, which is read and never written."""
    given = os.environ.get(SHARED)
    return absolute(Path(given)) if given else None


def absolute(path: Path) -> Path:
    """The path from the root, whatever the working directory becomes; a Diagnostic where there is none."""
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise Diagnostic(f"'{path}' names a home that is not there") from None
    except OSError as error:
        raise Diagnostic(f"'{path}' is relative to a directory that is gone: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Why, in words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def warn(text: str) -> None:
    """A CacheWarning, once in a process for each text."""
    if text not in _warned:
        warnings.warn(text, CacheWarning, stacklevel=2)
        _warned.add(text)


_warned: set[str] = set()
