"""A damaged file: set aside beside its place, and all rows of it that can still be read.

Law: nothing is deleted.  The log goes with the file, so that what it committed is read, too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from imbrex.database.record import Unit
from imbrex.database.rows import Row, calibration_of, trial_of, unit_of, verdict_of
from imbrex.diagnostic import Diagnostic

__all__ = ["MAGIC", "salvaged", "set_aside"]

MAGIC: Final = b"SQLite format 3\0"


def set_aside(path: Path) -> Path:
    """Renames a damaged file and its log; their new place.  A Diagnostic for a text, which was never ours."""
    if _is_text(path):
        hint = "name another file with IMBREX_DB; 'imbrex db import' reads exported texts"
        raise Diagnostic(f"{path} is a text, and no database", hint=hint)
    names = (path.with_name(f"{path.name}.corrupt{n or ''}") for n in count())
    aside = next(name for name in names if not name.exists())
    path.rename(aside)
    log = path.with_name(f"{path.name}-wal")
    with suppress(FileNotFoundError):
        log.rename(aside.with_name(f"{aside.name}-wal"))
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return aside


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(1 << 12)
    return bool(head) and not head.startswith(MAGIC) and head.isascii() and not any(b < 9 for b in head)


def salvaged(aside: Path) -> list[Row]:
    """The rows that a damaged file still tells."""
    try:
        connection = sqlite3.connect(aside)
    except sqlite3.Error:
        return []
    connection.text_factory = _decoded
    try:
        return list(_found(connection))
    finally:
        connection.close()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _found(connection: sqlite3.Connection) -> Iterator[Row]:
    devices = {row[0]: row[1:] for row in _readable(connection, "device", "id, name, hardware, conditions")}
    units: dict[int, Unit] = {}
    for number, problem, target, threads, device in _readable(
        connection, "unit", "id, problem, target, threads, device"
    ):
        with suppress(ValueError, TypeError, KeyError):
            units[number] = unit_of((problem, target, threads, *devices[device]))
    trial = "configuration, status, median_ns, spread_ns, samples, source, compiler, note, session, at"
    for unit, *values in _readable(connection, "trial", f"unit, {trial}, is_cold, version"):
        with suppress(ValueError, TypeError, KeyError):
            yield units[unit], trial_of(tuple(values))
    verdict = "unit, configuration, pick, gain, low, high, pairs, session, at"
    present = _readable(connection, "verdict", f"{verdict}, is_cold")
    for unit, *values in present or _readable(connection, "verdict", f"{verdict}, 1"):  # of version 1
        with suppress(ValueError, TypeError, KeyError):
            yield units[unit], verdict_of(tuple(values))
    calibration = "unit, parameters, before, after, times, session, at, version"
    for unit, *values in _readable(connection, "calibration", calibration):
        with suppress(ValueError, TypeError, KeyError):
            yield units[unit], calibration_of(tuple(values))


def _readable(connection: sqlite3.Connection, table: str, columns: str) -> list[Any]:
    """Rows in front of the first page that cannot be read, and behind the last one."""
    found: dict[int, Any] = {}
    for order in ("asc", "desc"):
        with suppress(sqlite3.Error):
            for row in connection.execute(
                f"select rowid, {columns} from {table} not indexed order by rowid {order}"
            ):
                found[row[0]] = row[1:]
    return [found[number] for number in sorted(found)]
