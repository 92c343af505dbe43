"""Files of reports, other texts and archives, replaced as a whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from imbrex.cli.text import json_text
from imbrex.diagnostic import Diagnostic
from imbrex.limit import expect_path

__all__ = ["file_name", "file_path", "write_bytes", "write_report", "write_text"]


def file_name(text: str) -> str:
    """A path that an option names; a Diagnostic for an empty one, which would be the working directory."""
    if not text:
        raise Diagnostic("a path is empty", hint="name a file or a folder; '.' is the working directory")
    return text


def file_path(text: str) -> Path:
    """The same, as a Path."""
    return Path(file_name(text))


def write_report(document: dict[str, Any], path: Path) -> None:
    """A report's file, as `write_text` writes it."""
    write_text(json_text(document) + "\n", path)


def write_text(text: str, path: Path) -> None:
    """The whole file or none of it; a Diagnostic where it cannot be written.  What is there and no file, a
    terminal or a pipe, is written to as it is.
    """
    write_bytes(text.encode(), path)


def write_bytes(data: bytes, path: Path) -> None:
    """The same of bytes."""
    expect_path(str(path))
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path, data)
    except OSError as error:
        raise Diagnostic(f"cannot write '{path}': {(error.strerror or str(error)).lower()}") from None


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(made, 0o644)
        os.replace(made, path)
    except OSError:
        os.unlink(made)
        raise
