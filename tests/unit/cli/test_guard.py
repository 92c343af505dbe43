"""Standard streams that whoever called has closed: what is opened later does not lie in their place."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import os, sys
from imbrex.cli.guard import guarded, open_streams
open_streams()
assert min(os.pipe()) > 2, "a file in the place of a stream"
print("said"); sys.stderr.write("said")
from imbrex.cli import imbrex
guarded(imbrex, ["--version"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes them")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_null_devices(closed: str) -> None:
    """Kernels are called between guards in processes that share memory with this one by a file."""
    assert subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, CODE]).returncode == 0
