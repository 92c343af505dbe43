"""The tuning database: what was tried and measured on which device, and what calls should use.

record      units, trials, verdicts, winners and calibrations, as plain values
device      the device that a target's kernels run on
location    where the user's file lies
near        which problems are alike, and how far apart
schema      its tables, and the winners as a view of them
rows        values to rows and back
winners     the winner of a unit, and the calibration of a device
prune       which rows go
news        whether this process has concluded anything
view        what people are shown of it
warning     what is said of what cannot be used
text        rows as lines that a version control shows
connection  opened, and what its errors mean
damage      rows of a damaged file
inbox       a database on a network's file system
store       `Database`: written by several processes at once
shelf       a database as a look-up reads it
lookup      what is known of a call's problem

Law: nothing of the compiler is imported here, and of SQLite nothing until a database is read, so that looking
up costs microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imbrex.database.device import device_of, threads_of
from imbrex.database.record import Calibration, Device, Status, Trial, Unit, Verdict, Winner

if TYPE_CHECKING:  # a look-up that finds no file goes without
    from imbrex.database.store import Database, open_user

__all__ = [
    "Calibration",
    "Database",
    "Device",
    "Status",
    "Trial",
    "Unit",
    "Verdict",
    "Winner",
    "device_of",
    "open_user",
    "threads_of",
]


def __getattr__(name: str) -> Any:
    if name in ("Database", "open_user"):
        from imbrex.database import store

        return getattr(store, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
