"""The winner of a unit, asked of the view in any database that has the tables."""

from __future__ import annotations

import sqlite3
from typing import Final

from imbrex.database.record import Device, Winner
from imbrex.database.rows import facts_text

__all__ = ["winner_in"]

ASKED: Final = (
    "select configuration, gain, at, session, name, median_ns, source, compiler, version from winner "
    "where problem = ? and target = ? and threads = ?"
)


def winner_in(
    connection: sqlite3.Connection, problem: str, target: str, threads: int, device: Device | None
) -> Winner | None:
    """The winner on a device, or, where that is None, the latest on any; None where there is none."""
    if device is None:
        found = connection.execute(f"{ASKED} order by at desc limit 1", (problem, target, threads))
    else:
        known_by = (problem, target, threads, device.name, facts_text(device.hardware))
        found = connection.execute(f"{ASKED} and name = ? and hardware = ?", known_by)
    row = found.fetchone()
    return None if row is None else Winner(*row)
