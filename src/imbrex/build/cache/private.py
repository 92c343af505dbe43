"""Private: directories outside the cache, where builds happen, and entries that no cache would take.

Each is a new directory of this user's in the directory for temporary files.  It goes when its build is
stored; when a build fails it stays, for its sources explain the error; an entry that no cache takes stays as
long as the process.
Law: what a process still uses it holds a lock on, so whoever sweeps sees it; the rest is rubbish a day after
its last change.
"""

from __future__ import annotations

import atexit
import os
import stat
import time
from pathlib import Path
from typing import Any

from imbrex.build.cache.trust import this_user
from imbrex.diagnostic import Diagnostic

__all__ = ["PREFIX", "found", "is_private", "keep", "new_directory", "recipes", "remove", "sweep"]

PREFIX = "imbrex-build-"
STALE_S = 86_400.0
LOCK = ".in-use"

recipes: dict[str, dict[str, Any]] = {}
"""Recipes of this process that no cache would take."""

_entries: dict[str, Path] = {}
_locks: list[object] = []


def new_directory() -> Path:
    """A directory for one build; a Diagnostic where there is no room for any."""
    import tempfile  # here, as shutil below: an entry that is there is found without

    try:
        return Path(tempfile.mkdtemp(prefix=PREFIX)).absolute()
    except OSError as error:
        raise Diagnostic(
            f"no temporary directory can be made: {error}", hint="set TMPDIR to a directory with free space"
        ) from None


def keep(key: str, directory: Path) -> None:
    """Marks the entry under `key` as used until the process ends."""
    from filelock import FileLock

    lock = FileLock(directory / LOCK, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except (OSError, NotImplementedError):  # a disk without locks, or without room
        pass
    _locks.append(lock)
    _entries[key] = directory
    atexit.register(_remove_own, directory, os.getpid())


def found(key: str) -> Path | None:
    """The entry of this process under `key`."""
    return _entries.get(key)


def is_private(directory: Path) -> bool:
    """Does it go when the process ends?"""
    return directory in _entries.values()


def remove(directory: Path) -> None:
    """Remove it with all that is in it, as far as that may be removed."""
    import shutil

    shutil.rmtree(directory, ignore_errors=True)


def sweep(now_s: float | None = None) -> None:
    """Removes this user's directories that processes, now dead, left behind."""
    import tempfile

    now_s = time.time() if now_s is None else now_s
    try:
        with os.scandir(tempfile.gettempdir()) as entries:
            names = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        try:
            status = os.lstat(name)
        except OSError:
            continue
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid in (this_user(), 0)
        if is_ours and now_s - status.st_mtime > STALE_S and not _is_in_use(Path(name)):
            remove(Path(name))


def _is_in_use(directory: Path) -> bool:
    if not (directory / LOCK).exists():
        return False
    from filelock import FileLock

    try:
        with FileLock(directory / LOCK, timeout=0):
            return False
    except (OSError, NotImplementedError):
        return True


def _remove_own(directory: Path, process: int) -> None:
    if os.getpid() == process:  # a fork has the same list, and the directory is its parent's
        remove(directory)
