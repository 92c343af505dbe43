"""Writer: what this user's processes, many at a time, change in their cache.

Law: an entry appears whole by one rename or not at all, so readers and writers need no lock and a killed
writer leaves only rubbish in incoming/.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from imbrex.build.cache import private
from imbrex.build.cache.digest import digest
from imbrex.build.cache.entry import MANIFEST, make_directory, write_entry, write_file
from imbrex.build.cache.reader import Json, Reader, opened
from imbrex.build.cache.total import Total
from imbrex.build.cache.trust import Objection

__all__ = ["Entry", "Writer"]

_STALE_S = 3600.0
_IN_USE_S = 60.0  # between a hit and the dlopen that follows it an entry must not be evicted
_LOCK_S = 30.0


@dataclass(frozen=True, slots=True)
class Entry:
    """An object or a recipe, when it was last used (`time.time`), and what it takes of the disk."""

    path: Path
    size_bytes: int
    used_s: float


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the cache that `reader` reads.  What cannot be written is an OSError."""

    reader: Reader

    def publish(self, key: str, built: Path, needed: Collection[str]) -> None:
        """A copy of the files in `built` becomes the object under `key`, unless an intact one is there."""
        self._expect_trust("objects")
        with self._temporary() as temporary:
            make_directory(temporary / "entry")
            self._total.add(write_entry(built, temporary / "entry"))
            self._rename_into_place(temporary / "entry", key, needed)

    def write_recipe(self, key: str, recipe: Json) -> None:
        """Put it in the place of the one that is there."""
        body = json.dumps(recipe, sort_keys=True)
        text = json.dumps({"sha256": digest([key, body]), "recipe": body}).encode()
        self._expect_trust("recipes")
        with self._temporary() as temporary:
            write_file(temporary / "recipe.json", text)
            self._total.add(len(text))
            os.replace(temporary / "recipe.json", self.reader.recipe(key))

    def mend(self, key: str, needed: Collection[str]) -> bool:
        """Throws a damaged object away, unless another process has put an intact one there: True then."""
        directory = self.reader.entry(key)
        if not os.path.lexists(directory):
            return False
        with self._lock(_LOCK_S) as is_held:
            if self.reader.is_intact(key, needed):
                return True
            if is_held:
                self.discard(directory)
        return False

    def discard(self, path: Path) -> None:
        """Out of sight by one rename, then away; nothing when it is not there or may not be changed."""
        try:
            if os.path.lexists(path):
                with self._temporary() as rubbish:
                    os.rename(path, rubbish / path.name)
        except OSError:
            return

    def entries(self) -> list[Entry]:
        """Every object and recipe, least recently used first."""
        found: list[Entry] = []
        for part in ("objects", "recipes"):
            for path in _children(self.reader.root / part):
                try:
                    mark = path / MANIFEST if os.path.lexists(path / MANIFEST) else path
                    found.append(Entry(path, _size(path), mark.lstat().st_mtime))
                except OSError:  # another process threw it away meanwhile
                    continue
        return sorted(found, key=lambda entry: entry.used_s)

    def tidy(self, limit_bytes: int) -> None:
        """Once a minute at most, and where there is reason to: what is above the limit goes, and rubbish."""
        now_s = time.time()
        try:
            if self._total.is_sweep_due(limit_bytes, now_s):
                with self._lock(0) as is_held:
                    if is_held:
                        self._total.mark_sweep(now_s)
                        self._evict(limit_bytes, now_s)
                        self.sweep_rubbish(now_s)
        except OSError:  # a disk that is full; the next one sweeps
            return

    def sweep_rubbish(self, now_s: float) -> None:
        """Removes what killed processes left, here and where they built."""
        for path in _children(self.reader.root / "incoming"):
            try:
                if now_s - path.lstat().st_mtime > _STALE_S:
                    private.remove(path)
            except OSError:
                continue
        private.sweep(now_s)

    @property
    def _total(self) -> Total:
        return Total(self.reader.root)

    def _evict(self, limit_bytes: int, now_s: float) -> None:
        found = self.entries()
        total = sum(entry.size_bytes for entry in found)
        is_above = total > limit_bytes
        for entry in found:
            if not is_above or total <= 0.9 * limit_bytes or entry.used_s > now_s - _IN_USE_S:
                break
            self.discard(entry.path)
            total -= entry.size_bytes
        self._total.set(total)

    def _rename_into_place(self, temporary: Path, key: str, needed: Collection[str]) -> None:
        """A rename onto a full directory fails: somebody was faster; theirs serves unless it is damaged."""
        final = self.reader.entry(key)
        for _ in range(3):
            try:
                os.rename(temporary, final)
            except OSError:
                if not os.path.lexists(final):
                    raise
                if self.reader.is_intact(key, needed) or self.mend(key, needed):
                    return
            else:
                return
        raise OSError(f"entry {final.name} cannot be replaced")

    def _expect_trust(self, part: str) -> None:
        """Makes what is missing; then nobody may have been faster who is not trusted."""
        make_directory(self.reader.root / part)
        make_directory(self.reader.root / "incoming")
        try:
            is_same = opened(self.reader.root.parent).root == self.reader.root
        except Objection as error:
            raise OSError(str(error)) from None
        if not is_same:
            raise OSError(f"'{self.reader.root}' has moved")

    @contextmanager
    def _temporary(self) -> Generator[Path]:
        import tempfile

        make_directory(self.reader.root / "incoming")
        made = Path(tempfile.mkdtemp(dir=self.reader.root / "incoming", prefix="imbrex-"))
        try:
            yield made
        finally:
            private.remove(made)

    @contextmanager
    def _lock(self, timeout_s: float) -> Generator[bool]:
        """Only one process at a time; False where another has held it so long.  Where there can be no lock
        nobody waits for one: what it keeps apart would cost time, no more.
        """
        from filelock import FileLock, Timeout  # here: an entry that is there is found without

        lock = FileLock(self.reader.root / "lock", timeout_s, 0o644, fallback_to_soft=False)
        is_held = True
        try:
            lock.acquire()
        except Timeout:
            is_held = False
        except (OSError, NotImplementedError):
            pass
        try:
            yield is_held
        finally:
            lock.release()


def _children(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _size(path: Path) -> int:
    """Bytes of the files at and below it; links are not followed."""
    if not os.path.isdir(path) or os.path.islink(path):
        return path.lstat().st_size
    with os.scandir(path) as entries:
        return sum(
            _size(Path(entry.path))
            if entry.is_dir(follow_symlinks=False)
            else entry.stat(follow_symlinks=False).st_size
            for entry in entries
        )
