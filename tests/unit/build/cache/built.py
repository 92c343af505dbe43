"""Entries for tests: what builds one, how old it is, and processes that do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from imbrex.build.cache import Cache, digest

__all__ = ["KEY", "Builder", "age", "due", "objects", "python"]

KEY = digest(["a key"])


class Builder:
    """Writes two files, and counts how often it was asked to."""

    def __init__(self, text: str = "payload") -> None:
        self.text, self.calls = text, 0

    def __call__(self, directory: Path) -> None:
        self.calls += 1
        (directory / "kernel.so").write_text(self.text)
        (directory / "device").mkdir()
        (directory / "device" / "a.hpp").write_text("header")


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def due(cache: Cache, seconds: float = 61) -> None:
    """The last sweep was so long ago."""
    assert cache.root is not None
    age(cache.root / "swept", seconds)


def objects(cache: Cache) -> Path:
    """Where they lie."""
    assert cache.root is not None
    return cache.root / "objects"


def python(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
