"""Processes of tests: how long they may take, and how one finds what another left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["HANG_S", "said_by", "said_when_warm"]

HANG_S: Final = 900
"""Seconds after which a process hangs, whatever else the machine does meanwhile: no test asserts on time."""


def said_by(program: str, cache: Path, **environment: str) -> tuple[str, str]:
    """What a Python program says that has this cache, on standard output and on standard error."""
    given: Mapping[str, str] = {**os.environ, "IMBREX_CACHE_DIR": str(cache), **environment}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=given, capture_output=True, text=True, timeout=HANG_S)
    return ended.stdout, ended.stderr


def said_when_warm(
    program: str, cache: Path, first: str | None = None, **environment: str
) -> tuple[str, str]:
    """What it says when it, or `first`, has been run before.

    Keys of kernels hold the package's files, which this process may have read long ago: where they have been
    edited since, what it compiled is nobody's any more.  So both times it is a process that begins now.
    """
    said_by(first or program, cache, **environment)
    return said_by(program, cache, **environment)
