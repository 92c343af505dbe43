"""A database on a network's file system: writers leave texts in an inbox, one of them merges these.

SQLite's log and locks hold on one host alone.  So nobody opens the file of such a place to write: a writer
has a copy of it in memory, and leaves each row as a text of a name of its own, which is there as a whole or
not at all; whoever gets the lock puts all of them into a new file, which takes the old one's place, and
removes them.

Law: a row is in the inbox or in the file, or in both, which is the same: merging twice is merging once.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

from filelock import FileLock, Timeout

from imbrex.database.connection import Damaged, opened_to_read, telling, transaction
from imbrex.database.rows import Row, add
from imbrex.database.schema import prepare
from imbrex.database.text import read, text
from imbrex.database.warning import warn
from imbrex.diagnostic import Diagnostic

__all__ = ["Inbox"]

T = TypeVar("T")
SUFFIX: Final = ".txt"


class Inbox:
    """The inbox beside the file `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.with_name(f"{path.name}.inbox")

    def put(self, rows: Sequence[Row]) -> None:
        """Leaves rows, on the disk when it returns; a Diagnostic where they cannot be."""
        name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _replaced(self.folder / f"{name}{SUFFIX}", text(rows).encode())
        except OSError as error:
            raise self._unwritable(error) from None

    def copy(self) -> sqlite3.Connection:
        """All rows there are, in memory.  Damaged where the file is."""
        connection, _ = self._collected()
        return connection

    def merge(self) -> None:
        """Puts what lies in the inbox into the file; leaves it where another process does so."""
        if self._waiting():
            with suppress(Damaged):  # who opens the file next mends it first
                self.rewrite(lambda _: None, wait_s=0)

    def rewrite(self, act: Callable[[sqlite3.Connection], T], wait_s: float) -> T | None:
        """Acts on the rows of file and inbox, which are then the file; None where another process does."""
        try:
            with FileLock(f"{self.path}.lock", timeout=wait_s):
                connection, taken = self._collected()
                with closing(connection):
                    with transaction(connection, self.path):
                        result = act(connection)
                    _replaced(self.path, connection.serialize())
                for file in taken:
                    file.unlink(missing_ok=True)
                return result
        except (Timeout, NotImplementedError):  # the latter where a file system has no locks
            return None
        except OSError as error:
            raise self._unwritable(error) from None

    def _collected(self) -> tuple[sqlite3.Connection, list[Path]]:
        """File and inbox in memory, and the texts that were read."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            if self.path.exists():
                with closing(opened_to_read(self.path)) as file, telling(self.path):
                    file.backup(connection)
            prepare(connection, self.path)
            taken = self._waiting()
            with transaction(connection, self.path):
                read_ones = [file for file in taken if _added(connection, file)]
        except BaseException:
            connection.close()
            raise
        return connection, read_ones

    def _waiting(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{SUFFIX}"))

    def _unwritable(self, error: OSError) -> Diagnostic:
        message = f"the database {self.path} cannot be written: {(error.strerror or str(error)).lower()}"
        return Diagnostic(message, hint="what was left in its inbox is kept; IMBREX_DB names another file")


def _added(connection: sqlite3.Connection, file: Path) -> bool:
    """Adds the rows of a text; says so, and leaves it, where it cannot be read."""
    try:
        rows = read(file.read_text(encoding="utf-8"), str(file))
    except FileNotFoundError:  # another process merged it meanwhile
        return False
    except (Diagnostic, OSError, UnicodeDecodeError) as error:
        warn(f"{file} is not merged: {error.message if isinstance(error, Diagnostic) else error}")
        return False
    for row in rows:
        add(connection, row)
    return True


def _replaced(path: Path, data: bytes) -> None:
    """The file with this content, as a whole, on the disk."""
    made = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with made.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    except OSError:
        made.unlink(missing_ok=True)
        raise
