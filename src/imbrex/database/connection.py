"""A connection to the SQLite file, and what its errors mean to a user.

Law: an error of the file is one Diagnostic that names it and says what is wrong; damage alone is handed on,
as `Damaged`, to whoever can save what is there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from imbrex.database.location import is_on_network
from imbrex.database.schema import is_present, prepare
from imbrex.diagnostic import Diagnostic

__all__ = ["BUSY_SECONDS", "Damaged", "opened", "opened_to_read", "telling", "transaction"]

BUSY_SECONDS: Final = 60
UNCHANGING: Final = "mode=ro&immutable=1"
NO_SPACE: Final = frozenset({sqlite3.SQLITE_IOERR_SHMSIZE})
"""What a full disk is where no page is written: the log's index cannot grow."""
NAME_IT: Final = "IMBREX_DB names another file, or is 'off'"


class Damaged(Exception):
    """The file is no sound database."""


def opened(path: Path) -> sqlite3.Connection:
    """The file, made where it is not there, to read and to write; changes go through a write-ahead log."""
    with telling(path):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            prepare(connection, path)
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = full")
            connection.execute("pragma foreign_keys = on")
        except BaseException:
            connection.close()
            raise
        return connection


def opened_to_read(path: Path) -> sqlite3.Connection:
    """The file as it is, or a copy of an earlier version's; a Diagnostic where there is none.  Nothing of
    it, or beside it, is changed.
    """
    with telling(path):
        if not path.exists():
            raise Diagnostic(f"there is no database {path}")
        if is_on_network(path):  # what is there is replaced, and never written
            return _reader(path, UNCHANGING)
        try:
            return _reader(path, "mode=ro")
        except sqlite3.OperationalError:  # a log that nobody may make readable, in a folder of others
            return _reader(path, UNCHANGING)


def _reader(path: Path, how: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path))}?{how}"
    connection = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
    try:
        if is_present(connection, path):
            return connection
        copy = sqlite3.connect(":memory:", isolation_level=None)
        connection.backup(copy)
        prepare(copy, path)
    except BaseException:
        connection.close()
        raise
    connection.close()
    return copy


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Generator[None]:
    """All of the block's changes or none, on the disk at its end."""
    with telling(path):
        connection.execute("begin immediate")
        try:
            yield
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


@contextmanager
def telling(path: Path) -> Generator[None]:
    """Errors of SQLite as a user's: Damaged where the file is, else a Diagnostic."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        code = sqlite3.SQLITE_FULL if extended in NO_SPACE else extended & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise Damaged(str(error)) from error
        raise Diagnostic(_message(code, path, error), hint=_HINTS.get(code, NAME_IT)) from None


_HINTS: Final = {
    sqlite3.SQLITE_BUSY: "end the process that holds it; what was committed is kept",
    sqlite3.SQLITE_FULL: f"what was committed is kept; make room, or {NAME_IT}",
}


def _message(code: int, path: Path, error: sqlite3.DatabaseError) -> str:
    match code:
        case sqlite3.SQLITE_BUSY:
            return f"the database {path} was locked by another process for {BUSY_SECONDS} s"
        case sqlite3.SQLITE_FULL:
            return f"the disk has no room for the database {path}"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return f"the database {path} may not be written"
        case sqlite3.SQLITE_CANTOPEN:
            return f"the database {path} cannot be opened"
        case _:
            return f"the database {path} cannot be used: {error}"
