"""One entry of the cache: a directory of files, with a manifest of sizes and hashes that proves it whole.

Law: `is_intact(d)` exactly when every file that `write_entry` put into `d` is there, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

__all__ = ["MANIFEST", "is_intact", "write_entry", "write_through"]

MANIFEST = "manifest.json"


def write_entry(source: Path, target: Path) -> None:
    """Copies the files below `source` into the directory `target`, with their manifest, down to the disk."""
    manifest: dict[str, dict[str, int | str]] = {}
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        name, data = file.relative_to(source).as_posix(), file.read_bytes()
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_through(target / name, data)
        manifest[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    write_through(target / MANIFEST, json.dumps({"files": manifest}).encode())
    _sync_directory(target)


def is_intact(directory: Path) -> bool:
    """Whether `directory` is an entry and every file of it has the size and the hash that were written."""
    try:
        manifest = json.loads((directory / MANIFEST).read_bytes())
        files = cast("Mapping[str, Mapping[str, object]]", manifest["files"])
        return all(_matches(directory / name, wanted) for name, wanted in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def write_through(path: Path, data: bytes) -> None:
    """Data on the disk before the rename that shows it: a crash may lose an entry, not tear one."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _matches(path: Path, wanted: Mapping[str, object]) -> bool:
    if path.stat().st_size != wanted["bytes"]:
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == wanted["sha256"]


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
