"""Cache: objects that are found, or built and kept, and recipes that lead to them.

Layout of the directory, all of it safe to delete at any time:

    v1/objects/<key>/       a directory of files and its manifest.json: name -> bytes, sha256
    v1/recipes/<key>.json   what a problem became: the object's key and what is needed to launch it
    v1/incoming/            what is being written or thrown away; an hour after its last change it is rubbish
    v1/growth, v1/swept     how much all that is, and when it was last looked through
    v1/lock                 held while a damaged entry is thrown away, so that its good successor is not

Law: every read checks size and hash; what does not match is thrown away and built again.  A cache that cannot
be used, or that others could change, costs time, never the answer: the caller then gets a private directory
and a warning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from imbrex.build.cache import private
from imbrex.build.cache.entry import MANIFEST
from imbrex.build.cache.location import absolute, cache_directory, reason, shared_cache_directory, warn
from imbrex.build.cache.reader import Json, Reader, is_key, opened, opened_shared
from imbrex.build.cache.trust import Objection
from imbrex.build.cache.writer import Entry, Writer
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import shown, whole

__all__ = ["Cache", "Stored"]

_DEFAULT_LIMIT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Stored:
    """directory holds the entry's files.  was_cached: nothing was built for it."""

    key: str
    directory: Path
    was_cached: bool


class Cache:
    """One cache directory, and the shared one that the environment names, which is only read.

    root: the directory, of this user where none is given; with the version of what it holds.  limit_bytes:
    above it the least recently used entries go, down to nine tenths of it, once a minute.
    """

    def __init__(self, root: Path | None = None, limit_bytes: int | None = None) -> None:
        self.limit_bytes = _limit_bytes() if limit_bytes is None else limit_bytes
        self._own = _opened("the cache", root, cache_directory, opened)
        self._shared = _opened("the shared cache", None, shared_cache_directory, opened_shared)
        self._writer = None if self._own is None else Writer(self._own)

    @property
    def root(self) -> Path | None:
        """Folder of the entries; None where the directory is not used."""
        return None if self._own is None else self._own.root

    @property
    def shared_root(self) -> Path | None:
        """Folder of the shared cache's entries; None without one."""
        return None if self._shared is None else self._shared.root

    def object(self, key: str, build: Callable[[Path], None], needed: Collection[str] = ()) -> Stored:
        """The entry under `key`; when none is intact, what `build` writes into the directory that it gets.

        needed: files that it must have.  When `build` raises, its directory stays, so that its error may
        point into it.
        """
        assert is_key(key), key
        found = self.find(key, needed)
        if found is not None:
            return found
        directory = private.new_directory()
        try:
            build(directory)
            missing = [name for name in needed if not (directory / name).is_file()]
            assert not missing, f"the build left no {missing}"
            kept = self._kept(key, directory, needed)
        except KeyboardInterrupt:
            private.remove(directory)
            raise
        return Stored(key, kept, was_cached=False)

    def find(self, key: str, needed: Collection[str] = ()) -> Stored | None:
        """The entry under `key` if it is there and intact, with the files that are needed."""
        if not is_key(key):
            return None
        if self._own is not None and self._writer is not None:
            if self._own.is_intact(key, needed) or self._writer.mend(key, needed):
                _touch(self._own.entry(key) / MANIFEST)
                return Stored(key, self._own.entry(key), was_cached=True)
        if self._shared is not None:
            if self._shared.is_intact(key, needed):
                return Stored(key, self._shared.entry(key), was_cached=True)
            if os.path.lexists(theirs := self._shared.entry(key)):
                warn(f"the shared cache has an entry that is damaged or not to be read: {theirs}")
        kept = private.found(key)
        return None if kept is None else Stored(key, kept, was_cached=True)

    def forget(self, key: str) -> None:
        """Throws the entry under `key` away, as far as it is this user's: it is intact, and serves nobody."""
        if self._own is not None and self._writer is not None:
            self._writer.discard(self._own.entry(key))

    def remember(self, key: str, recipe: Json) -> None:
        """Stores what `key` became.  recipe: plain JSON; `recall` gives back an equal one."""
        assert is_key(key), key
        if self._writer is not None:
            try:
                self._writer.write_recipe(key, recipe)
            except OSError as error:
                private.recipes[key] = recipe
                _warn_unwritable(self._own, error)
        else:
            private.recipes[key] = recipe

    def recall(self, key: str) -> Json | None:
        """What `remember` stored under `key`; None when there is nothing or it is damaged."""
        assert is_key(key), key
        if self._own is not None and self._writer is not None:
            try:
                recipe = self._own.recall(key)
            except FileNotFoundError:
                pass
            except (OSError, ValueError):
                self._writer.discard(self._own.recipe(key))
            else:
                _touch(self._own.recipe(key))
                return recipe
        if self._shared is not None:
            try:
                return self._shared.recall(key)
            except (OSError, ValueError):  # whoever it is of mends it
                pass
        return private.recipes.get(key)

    def entries(self) -> list[Entry]:
        """Every object and recipe, least recently used first."""
        return [] if self._writer is None else self._writer.entries()

    def _kept(self, key: str, built: Path, needed: Collection[str]) -> Path:
        """Where the files are that were built: in the cache, or where they were built if it takes none."""
        if self._own is not None and self._writer is not None:
            try:
                self._writer.publish(key, built, needed)
            except OSError as error:
                private.keep(key, built)
                _warn_unwritable(self._own, error)
            else:
                private.remove(built)
                self._writer.tidy(self.limit_bytes)
                return self._own.entry(key)
        else:
            private.keep(key, built)
        return built


def _opened(
    name: str, given: Path | None, place: Callable[[], Path | None], opened: Callable[[Path], Reader]
) -> Reader | None:
    """The cache at `given`, else at `place`; None, said once, where that is not to be used."""
    at = f" {given}" if given else ""
    try:
        directory = absolute(given) if given is not None else place()
        at = f" {directory}"
        return None if directory is None else opened(directory)
    except (Diagnostic, Objection) as error:
        message = error.message if isinstance(error, Diagnostic) else str(error)
        warn(f"{name}{at} is not used: {message}")
        return None


def _warn_unwritable(cache: Reader | None, error: OSError) -> None:
    assert cache is not None
    warn(f"the cache {cache.root.parent} cannot be written: {reason(error)}")


def _limit_bytes() -> int:
    given = os.environ.get("IMBREX_CACHE_BYTES")
    if given is None:
        return _DEFAULT_LIMIT_BYTES
    found = whole(given)
    if found is None:
        raise Diagnostic(f"IMBREX_CACHE_BYTES should be a number of bytes, got {shown(given)}")
    return found


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:  # a read-only cache is still read
        return
