"""Replace: files of a folder, all of them or none.

Law: after `replaced` every file that was prepared is in its place, or, where that failed at whatever step,
the folder is as it was.  Only a process that is killed between two renames leaves some of both; the old ones
then lie in a directory `.imbrex.*` there, and so they do where the disk does not even let them be put back.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from imbrex.diagnostic import Diagnostic

__all__ = ["replaced"]

STUCK = "what_was_there"


@contextmanager
def replaced(folder: Path) -> Generator[Path]:
    """A new directory on the same disk; when the block is done, its files take their places in `folder`.

    Other files of the folder stay.  A Diagnostic where one cannot take its place.
    """
    try:
        beside = folder if folder.is_dir() else folder.parent
        beside.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=beside, prefix=".imbrex."))
    except OSError as error:
        raise _refused(folder, error) from None
    try:
        new, old = staging / "new", staging / "old"
        new.mkdir()
        yield new
        if os.path.lexists(folder):
            _move_all(new, old, folder)
        else:
            os.rename(new, folder)
    except OSError as error:
        raise _refused(folder, error) from None
    finally:
        if not (staging / STUCK).exists():
            shutil.rmtree(staging, ignore_errors=True)


def _move_all(new: Path, old: Path, folder: Path) -> None:
    names = sorted(path.relative_to(new) for path in new.rglob("*"))
    files = [name for name in names if (new / name).is_file()]
    made: list[Path] = []
    moved: list[Path] = []
    for name in (Path(), *names):
        _expect_writable(folder / name, is_file=name in files)
    try:
        for name in files:
            _keep(folder / name, old / name)
        for name in (name for name in names if name not in files and not (folder / name).is_dir()):
            (folder / name).mkdir()
            made.append(folder / name)
        for name in files:
            moved.append(name)
            os.replace(new / name, folder / name)
    except BaseException:
        _put_back(moved, made, new, old, folder)
        raise


def _expect_writable(path: Path, is_file: bool) -> None:
    """Can a file be put here, or into this directory?  What can be told before is told before."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if is_file and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"'{path.name}' there is a directory")
    if not is_file and not path.is_dir():
        raise NotADirectoryError(f"'{path.name}' there is no directory")
    if not is_file and not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(f"'{path.name}' there is not writable")


def _keep(path: Path, copy: Path) -> None:
    """The file or link under a second name, from which it can be put back by one rename."""
    if not os.path.lexists(path):
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:  # a disk without hard links, or another's file
        shutil.copy2(path, copy, follow_symlinks=False)


def _put_back(moved: list[Path], made: list[Path], new: Path, old: Path, folder: Path) -> None:
    for name in (name for name in moved if not os.path.lexists(new / name)):
        try:
            if os.path.lexists(old / name):
                os.replace(old / name, folder / name)
            else:
                os.unlink(folder / name)
        except OSError as error:
            old.rename(old.with_name(STUCK))
            raise OSError(f"{error.strerror}, and what was there is now in {old.with_name(STUCK)}") from None
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()


def _refused(folder: Path, error: OSError) -> Diagnostic:
    return Diagnostic(f"cannot write to '{folder}': {(error.strerror or str(error)).lower()}")
