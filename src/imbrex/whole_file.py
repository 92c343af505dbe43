"""Whole file: what a command is told to write, all of it or none.

Law: after an error, a full disk among them, what was there is there as it was.  A link stays one, and the
file that it leads to is replaced; a file that was there keeps its mode.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from imbrex.diagnostic import Diagnostic
from imbrex.limit import expect_path

__all__ = ["write_bytes", "write_text"]


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
            _replace(Path(os.path.realpath(path)), data)
    except FileExistsError:
        raise Diagnostic(f"cannot write '{path}': '{path.parent}' is no folder") from None
    except OSError as error:
        raise Diagnostic(f"cannot write '{path}': {(error.strerror or str(error)).lower()}") from None


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.parent / f".imbrex.{secrets.token_hex(8)}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        if path.exists():
            os.chmod(made, stat.S_IMODE(path.stat().st_mode))
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise
