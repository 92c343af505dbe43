"""Changed lines: those that a revision of git has not, of which a sample can be drawn."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

__all__ = ["changed_lines"]

HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def changed_lines(root: Path, revision: str) -> Mapping[str, frozenset[int]]:
    """The lines of each file of src/ that were written since; a file that moved has those that differ."""
    words = ["diff", "--unified=0", "--no-color", "--no-ext-diff", "--find-renames", revision, "--", "src"]
    told = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout
    lines, path = defaultdict[str, set[int]](set), ""
    for line in told.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif found := HUNK.match(line):
            first, count = int(found[1]), int(found[2] or 1)
            lines[path].update(range(first, first + count))
    return {path: frozenset(numbers) for path, numbers in lines.items()}
