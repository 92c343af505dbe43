"""One entry of the cache: a directory of files, with a manifest of sizes and hashes that proves it whole.

Law: `is_intact(d, needed, owners)` exactly when every file that `write_entry` put into `d` is there, byte for
byte, as a file of the owners, and those that are needed are among them.
The hashes tell damage, not malice: who can change a file here can change its hash (`trust` keeps them out).
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import cast

from imbrex.build.cache.trust import fault, read_owned, this_user
from imbrex.diagnostic import Diagnostic

__all__ = ["MANIFEST", "entry_bytes", "is_intact", "make_directory", "parsed", "write_entry", "write_file"]

MANIFEST = "manifest.json"
_MOST_MANIFEST_BYTES = 1 << 20
_MODE = 0o644
_MOST_REMOVED = 16
"""How often others may remove a directory while its own are made."""
Owners = frozenset[int]


def write_entry(source: Path, target: Path) -> int:
    """Puts the files below `source` into the directory `target`, with their manifest; the bytes in all.

    A file that nobody else may write is linked where the disk is the same, for it is not written again; a
    copy takes many times as long.
    """
    manifest: dict[str, dict[str, int | str]] = {}
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        name, data = file.relative_to(source).as_posix(), file.read_bytes()
        make_directory((target / name).parent)
        if not _is_linked(file, target / name):
            write_file(target / name, data)
        manifest[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    text = json.dumps({"files": manifest}).encode()
    write_file(target / MANIFEST, text)
    return len(text) + sum(int(of_one["bytes"]) for of_one in manifest.values())


def is_intact(directory: Path, needed: Collection[str], owners: Owners) -> bool:
    """Whether `directory` is an entry, and every file of it has the size and the hash that were written.

    needed: files without which it is none of its kind.
    """
    try:
        files = _files(directory, owners)
        folders = {parent for name in files for parent in PurePosixPath(name).parents}
        return (
            all(name in files for name in needed)
            and not any(fault(at := directory / folder, at.lstat(), owners) for folder in folders)
            and all(_matches(directory / name, wanted, owners) for name, wanted in files.items())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def entry_bytes(path: Path) -> bytes:
    """What a file of an entry that was found holds; a Diagnostic where the entry is gone since."""
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"'{path.name}' is gone from {path.parent}: {(error.strerror or str(error)).lower()}"
        raise Diagnostic(message, hint="the cache was emptied meanwhile; compile the kernel again") from None


def parsed(data: bytes | str) -> object:
    """The JSON; a ValueError where it is none, or is nested deeper than can be read."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def make_directory(path: Path) -> None:
    """Make it with all above it that is missing, and writable by nobody else, whatever the umask is."""
    missing, refused = [path], 0
    while missing:
        try:
            os.mkdir(missing[-1], 0o755)
        except FileNotFoundError:
            refused += 1
            if refused > _MOST_REMOVED and missing[-1].parent.is_dir():  # as in /proc, which makes none
                raise
            missing.append(missing[-1].parent)
            continue
        except FileExistsError:
            if not missing[-1].is_dir():
                raise
        missing.pop()


def write_file(path: Path, data: bytes) -> None:
    """The data as a file that others may read.  It is not forced onto the disk: of what a power failure
    tears, the hashes tell.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), _MODE)
    with open(descriptor, "wb") as file:
        file.write(data)


def _is_linked(file: Path, target: Path) -> bool:
    """Links a file that is as `write_file` would have made it; False where it is not, or no link can be."""
    status = file.lstat()
    if status.st_mode != stat.S_IFREG | _MODE or status.st_uid != this_user():
        return False
    try:
        os.link(file, target)
    except OSError:  # another disk, or one without links
        return False
    return True


def _files(directory: Path, owners: Owners) -> Mapping[str, Mapping[str, object]]:
    manifest = parsed(read_owned(directory / MANIFEST, owners, _MOST_MANIFEST_BYTES))
    files = cast("Mapping[str, Mapping[str, Mapping[str, object]]]", manifest)["files"]
    if not files:
        raise ValueError("it has no files")
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or path.as_posix() != name:
            raise ValueError(f"'{name}' is no file of an entry")
    return files


def _matches(path: Path, wanted: Mapping[str, object], owners: Owners) -> bool:
    size = wanted["bytes"]
    if not isinstance(size, int) or path.lstat().st_size != size:
        return False
    data = read_owned(path, owners, size)
    return len(data) == size and hashlib.sha256(data).hexdigest() == wanted["sha256"]
