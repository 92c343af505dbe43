"""The tuning database: what was tried and measured on which device, and what calls should use.

record      units, trials, verdicts and winners, as plain values
device      the device that a goal's kernels run on
location    where the user's file lies
schema      its tables, and the winners as a view of them
rows        values to rows and back
connection  opened, and what its errors mean
damage      rows of a damaged file
store       `Database`: written by several processes at once

Law: nothing of the compiler is imported here, so that looking up costs microseconds.
"""

from imbrex.database.device import device_of, threads_of
from imbrex.database.record import Device, Status, Trial, Unit, Verdict, Winner
from imbrex.database.store import Database, open_user

__all__ = [
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
