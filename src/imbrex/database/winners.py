"""The winner of a unit, and the calibration of a device, asked of any database that has the tables."""

from __future__ import annotations

import sqlite3
from typing import Final

from imbrex.database.record import Calibration, Device, Winner
from imbrex.database.rows import calibration_of, facts_text

__all__ = ["calibration_in", "winner_in"]

BY_PROBLEM: Final = (
    "select configuration, gain, at, session, name, median_ns, source, compiler, version from winner "
    "where problem = ? and target = ? and threads = ?"
)


def winner_in(
    connection: sqlite3.Connection, problem: str, target: str, threads: int, device: Device | None
) -> Winner | None:
    """The winner on a device, or, where that is None, the latest on any; None where there is none."""
    if device is None:
        found = connection.execute(f"{BY_PROBLEM} order by at desc limit 1", (problem, target, threads))
    else:
        known_by = (problem, target, threads, device.name, facts_text(device.hardware))
        found = connection.execute(f"{BY_PROBLEM} and name = ? and hardware = ?", known_by)
    row = found.fetchone()
    return None if row is None else Winner(*row)


def calibration_in(connection: sqlite3.Connection, target: str, device: Device) -> Calibration | None:
    """The latest calibration of a target's model on a device; None where there is none."""
    query = (
        "select parameters, before, after, times, session, at, version from calibration "
        "join tuned on tuned.id = calibration.unit where target = ? and name = ? and hardware = ? "
        "order by at desc, calibration.id desc limit 1"
    )
    found = connection.execute(query, (target, device.name, facts_text(device.hardware)))
    row = found.fetchone()
    return None if row is None else calibration_of(row)
