"""The on-disk cache: built objects under the hash of all that made them, and recipes that lead to them.

Layout of the directory, all of it safe to delete at any time:

    v1/objects/<key>/       a directory of files and its manifest.json: name -> bytes, sha256
    v1/recipes/<key>.json   what a problem became: the object's key and what is needed to launch it
    v1/incoming/            what is being written or thrown away; an hour after its last change it is rubbish
    v1/lock                 held while a damaged entry is thrown away, so that its good successor is not

Law: an entry appears whole by one rename or not at all, so readers and writers need no lock and a killed
writer leaves only rubbish in incoming/.  Every read checks size and hash; what does not match is thrown away
and built again.  A cache that cannot be written costs time, never the answer: the caller then gets a private
directory and a warning.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imbrex.build.entry import MANIFEST, is_intact, write_entry, write_through
from imbrex.diagnostic import Diagnostic

__all__ = ["Cache", "CacheWarning", "Entry", "Json", "Stored", "cache_directory", "digest", "source_parts"]

Json = dict[str, Any]

_STALE_SECONDS = 3600.0
_IN_USE_SECONDS = 60.0  # between a hit and the dlopen that follows it an entry must not be evicted
_DEFAULT_LIMIT_BYTES = 1 << 30
_private: dict[str, Path] = {}  # entries of this process that no cache would take


class CacheWarning(UserWarning):
    """The cache could not be used; the work was done without it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """directory holds the entry's files.  was_cached: nothing was built for it.  build_s: what that took."""

    key: str
    directory: Path
    was_cached: bool
    build_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """An object of the cache, when it was last used (`time.time`), and what it takes of the disk."""

    path: Path
    size_bytes: int
    used_s: float


def cache_directory() -> Path:
    """IMBREX_CACHE_DIR, else XDG_CACHE_HOME/imbrex, else ~/.cache/imbrex; a Diagnostic without a home."""
    if given := os.environ.get("IMBREX_CACHE_DIR"):
        return Path(given).expanduser()
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if home.is_absolute():  # the XDG specification has relative paths ignored
        return home / "imbrex"
    try:
        return Path.home() / ".cache" / "imbrex"
    except RuntimeError:
        raise Diagnostic("no cache directory: this user has no home", hint="set IMBREX_CACHE_DIR") from None


def source_parts(sources: Mapping[str, str]) -> list[str]:
    """What a digest of sources by file name is of."""
    return [part for name in sorted(sources) for part in (name, sources[name])]


def digest(parts: Iterable[str]) -> str:
    """sha256 of the parts, each with its length before it, so that no two lists of parts read the same."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode()
        total.update(b"%d:" % len(data))
        total.update(data)
    return total.hexdigest()


class Cache:
    """One cache directory.  limit_bytes: above it the least recently used entries go, down to nine tenths
    of it.
    """

    def __init__(self, root: Path | None = None, limit_bytes: int | None = None) -> None:
        self.root = (root or cache_directory()) / "v1"
        self.limit_bytes = _limit_bytes() if limit_bytes is None else limit_bytes
        self._objects = self.root / "objects"
        self._recipes = self.root / "recipes"
        self._incoming = self.root / "incoming"

    def object(self, key: str, build: Callable[[Path], None]) -> Stored:
        """The entry under `key`; when none is intact, what `build` writes into the directory that it gets.

        When `build` raises, its directory stays, so that its error may point into it.
        """
        found = self.find(key)
        if found is not None:
            return found
        private, started = _private_directory(), time.perf_counter()
        try:
            build(private)
        except KeyboardInterrupt:
            _remove(private)
            raise
        try:
            self._publish(key, private)
        except OSError as error:
            _warn(self.root, error)
            _private[key] = private
            atexit.register(_remove, private)
            return Stored(key, private, False, time.perf_counter() - started)
        _remove(private)
        self._evict()
        return Stored(key, self._objects / key, False, time.perf_counter() - started)

    def find(self, key: str) -> Stored | None:
        """The entry under `key` if it is there and intact."""
        if key in _private:
            return Stored(key, _private[key], was_cached=True)
        directory = self._objects / key
        if not is_intact(directory) and not self._mend(directory):
            return None
        _touch(directory / MANIFEST)
        return Stored(key, directory, was_cached=True)

    def remember(self, key: str, recipe: Json) -> None:
        """Stores what `key` became.  recipe: plain JSON; `recall` gives back an equal one."""
        body = json.dumps(recipe, sort_keys=True)
        text = json.dumps({"sha256": digest([key, body]), "recipe": body})
        try:
            self._recipes.mkdir(parents=True, exist_ok=True)
            temporary = self._temporary()
            try:
                write_through(temporary / "recipe.json", text.encode())
                os.replace(temporary / "recipe.json", self._recipes / f"{key}.json")
            finally:
                _remove(temporary)
        except OSError as error:
            _warn(self.root, error)

    def recall(self, key: str) -> Json | None:
        """What `remember` stored under `key`; None when there is nothing or it is damaged."""
        path = self._recipes / f"{key}.json"
        try:
            stored = json.loads(path.read_bytes())
            body: str = stored["recipe"]
            if stored["sha256"] != digest([key, body]):
                raise ValueError("the hash differs")
            recipe: Json = json.loads(body)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._discard(path)
            return None
        _touch(path)
        return recipe

    def entries(self) -> list[Entry]:
        """Every object and recipe, least recently used first."""
        found: list[Entry] = []
        for path in [*_children(self._objects), *_children(self._recipes)]:
            try:
                files = [f for f in path.rglob("*") if f.is_file()] if path.is_dir() else [path]
                mark = path / MANIFEST if (path / MANIFEST).exists() else path
                found.append(Entry(path, sum(f.stat().st_size for f in files), mark.stat().st_mtime))
            except OSError:  # another process threw it away meanwhile
                continue
        return sorted(found, key=lambda entry: entry.used_s)

    def clear(self) -> int:
        """Throws every entry away; returns how many."""
        found = self.entries()
        for entry in found:
            self._discard(entry.path)
        self._sweep(time.time() + _STALE_SECONDS)
        return len(found)

    def _publish(self, key: str, built: Path) -> None:
        self._objects.mkdir(parents=True, exist_ok=True)
        self._sweep(time.time())
        temporary = self._temporary()
        try:
            write_entry(built, temporary)
            self._rename_into_place(temporary, self._objects / key)
        finally:
            _remove(temporary)

    def _rename_into_place(self, temporary: Path, final: Path) -> None:
        """A rename onto a full directory fails: somebody was faster; theirs serves unless it is damaged."""
        for _ in range(3):
            try:
                os.rename(temporary, final)
            except OSError:
                if not final.exists():
                    raise
                if is_intact(final) or self._mend(final):
                    return
            else:
                return
        raise OSError(f"entry {final.name} cannot be replaced")

    def _mend(self, directory: Path) -> bool:
        """Throws a damaged entry away, unless another process has put an intact one there: True then."""
        if not directory.exists():
            return False
        with self._lock():
            if is_intact(directory):
                return True
            self._discard(directory)
        return False

    @contextmanager
    def _lock(self) -> Generator[None]:
        try:
            descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # where nothing can be written nothing will be thrown away either
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _discard(self, path: Path) -> None:
        """Out of sight by one rename, then away; nothing when it is not there or may not be changed."""
        if not path.exists():
            return
        try:
            rubbish = self._temporary()
            os.rename(path, rubbish / path.name)
        except OSError:
            return
        _remove(rubbish)

    def _temporary(self) -> Path:
        self._incoming.mkdir(parents=True, exist_ok=True)
        return _new_directory(self._incoming)

    def _sweep(self, now_s: float) -> None:
        """Removes what killed processes left in incoming/."""
        for path in _children(self._incoming):
            try:
                if now_s - path.stat().st_mtime > _STALE_SECONDS:
                    _remove(path)
            except OSError:
                continue

    def _evict(self) -> None:
        found = self.entries()
        total = sum(entry.size_bytes for entry in found)
        if total <= self.limit_bytes:
            return
        newest_evicted_s = time.time() - _IN_USE_SECONDS
        for entry in found:
            if total <= 0.9 * self.limit_bytes or entry.used_s > newest_evicted_s:
                return
            self._discard(entry.path)
            total -= entry.size_bytes


def _limit_bytes() -> int:
    given = os.environ.get("IMBREX_CACHE_BYTES")
    if given is None:
        return _DEFAULT_LIMIT_BYTES
    if not given.isascii() or not given.isdigit():
        raise Diagnostic(f"IMBREX_CACHE_BYTES should be a number of bytes, got '{given}'")
    return int(given)


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:  # a read-only cache is still read
        return


def _children(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _new_directory(parent: Path | None = None) -> Path:
    import tempfile  # here, as shutil below: an entry that is there is found without

    return Path(tempfile.mkdtemp(dir=parent, prefix="imbrex-"))


def _remove(directory: Path) -> None:
    import shutil

    shutil.rmtree(directory, ignore_errors=True)


def _private_directory() -> Path:
    try:
        return _new_directory()
    except OSError as error:
        raise Diagnostic(
            f"no temporary directory can be made: {error}", hint="set TMPDIR to a directory with free space"
        ) from None


def _warn(root: Path, error: OSError) -> None:
    reason = error.strerror or str(error)
    warnings.warn(f"the cache {root.parent} cannot be written: {reason}", CacheWarning, stacklevel=3)
