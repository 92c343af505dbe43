"""Files that an option names, and those of reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from imbrex.cli.text import json_text
from imbrex.diagnostic import Diagnostic
from imbrex.limit import expect_path
from imbrex.whole_file import write_text

__all__ = ["file_name", "file_path", "write_report"]


def file_name(text: str) -> str:
    """A path that an option names; a Diagnostic, before anything is computed, for one that is too deep, and
    for an empty one, which would be the working directory.
    """
    if not text:
        raise Diagnostic("a path is empty", hint="name a file or a folder; '.' is the working directory")
    expect_path(text)
    return text


def file_path(text: str) -> Path:
    """The same, as a Path."""
    return Path(file_name(text))


def write_report(document: dict[str, Any], path: Path) -> None:
    """A report's file, as `write_text` writes it."""
    write_text(json_text(document) + "\n", path)
