"""Database: every trial and every verdict, in one SQLite file that several processes write at once.

Law: a row is on the disk when `record` or `conclude` returns, and no error takes away what was: a full disk,
a killed process, a damaged file.  The winner is computed from the rows, so no column of it goes stale.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from filelock import FileLock, Timeout

from imbrex.database.connection import BUSY_SECONDS, Damaged, opened, telling, transaction
from imbrex.database.damage import salvaged, set_aside
from imbrex.database.inbox import Inbox
from imbrex.database.location import OFF, is_on_network, user_path
from imbrex.database.news import tell
from imbrex.database.prune import Prune
from imbrex.database.record import Calibration, Device, Trial, Unit, Verdict, Winner
from imbrex.database.rows import Row, add, facts_text, trial_of
from imbrex.database.warning import warn
from imbrex.database.winners import calibration_in, winner_in
from imbrex.diagnostic import Diagnostic

__all__ = ["Database", "open_user"]

T = TypeVar("T")


def open_user() -> Database:
    """The user's database, to read and to write; a Diagnostic where it is switched off."""
    path = user_path()
    if path is None:
        raise Diagnostic(f"IMBREX_DB is '{OFF}', and tuning keeps what it measures", hint="IMBREX_DB=FILE")
    return Database(path)


class Database:
    """The rows of the file `path`, which is made where it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inbox = Inbox(path) if is_on_network(path) else None
        self._connection = self._opened()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file.  On a network's file system, merges what was left in its inbox."""
        self._connection.close()
        if self._inbox is not None:
            self._inbox.merge()

    def record(self, unit: Unit, trial: Trial) -> None:
        """Keeps a trial that was made now, instead of an earlier one of its configuration and session."""
        self._add([(unit, trial)], is_newest=True)

    def conclude(self, unit: Unit, verdict: Verdict) -> None:
        """Keeps a verdict that was found now, instead of an earlier one of its session."""
        self._add([(unit, verdict)], is_newest=True)

    def add(self, found: Iterable[Row]) -> None:
        """Keeps rows of another database, all or none; of those that are here already the later ones."""
        self._add(list(found), is_newest=False)

    def trials(self, unit: Unit) -> list[Trial]:
        """All of a unit's, on this device or its equals: the right ones first, the fastest before others."""
        query = f"{_TRIALS} order by median_ns is null, status <> 'ok', median_ns, trial.id"
        found = self._run(lambda c: c.execute(query, _known_by(unit)).fetchall())
        return [trial_of(row) for row in found]

    def best(self, unit: Unit) -> Winner | None:
        """What a call of the unit should use; None where nothing was concluded, or it turned out wrong."""
        of = (unit.problem, unit.target, unit.threads, unit.device)
        return self._run(lambda c: winner_in(c, *of))

    def calibrate(self, target: str, device: Device, calibration: Calibration) -> None:
        """Keeps a calibration that was fitted now."""
        self._add([(Unit("", target, device, 0), calibration)], is_newest=True)

    def calibration(self, target: str, device: Device) -> Calibration | None:
        """The latest of a target's model on a device; None where there is none."""
        return self._run(lambda c: calibration_in(c, target, device))

    def count(self) -> int:
        """How many rows there are."""
        counts = (f"(select count(*) from {table})" for table in ("trial", "verdict", "calibration"))
        query = f"select {' + '.join(counts)}"
        return int(self._run(lambda c: c.execute(query).fetchone()[0]))

    def prune(self, which: Prune, is_rehearsal: bool = False) -> int:
        """Removes rows, and says how many; a rehearsal only says it."""

        def pruned(connection: sqlite3.Connection) -> int:
            with transaction(connection, self.path):
                return which.remove(connection)

        if is_rehearsal:
            return self._run(which.count)
        if self._inbox is None:
            return self._run(pruned)
        gone = self._inbox.rewrite(which.remove, BUSY_SECONDS)
        if gone is None:
            raise Diagnostic(f"the database {self.path} was being merged for {BUSY_SECONDS} s")
        self._run(pruned)
        return gone

    def _add(self, found: list[Row], is_newest: bool) -> None:
        def added(connection: sqlite3.Connection) -> None:
            with transaction(connection, self.path):
                kept = [add(connection, row, is_newest) for row in found]
                if self._inbox is not None:
                    self._inbox.put(kept)

        self._run(added)
        if any(not isinstance(record, Trial) for _, record in found):
            tell()

    def _run(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Acts on the file; one that is found damaged is mended, and acted on again."""
        try:
            with telling(self.path):
                return act(self._connection)
        except Damaged:
            self._connection.close()
            self._connection = self._opened()
            with telling(self.path):
                return act(self._connection)

    def _opened(self) -> sqlite3.Connection:
        """The file opened; what a damaged one still told is in a new one."""
        with _alone(self.path):
            try:
                return self._sound()
            except Damaged as damage:
                aside = set_aside(self.path)
                kept = salvaged(aside)
                connection = self._sound()
                with transaction(connection, self.path):
                    for row in kept:
                        add(connection, row)
                    if self._inbox is not None:
                        self._inbox.put(kept)
                message = f"the database {self.path} was damaged ({damage}); it is now {aside.name}, and"
                warn(f"{message} {len(kept)} of its rows were saved")
                return connection

    def _sound(self) -> sqlite3.Connection:
        """The file opened, or its copy; Damaged where its pages do not fit together."""
        connection = opened(self.path) if self._inbox is None else self._inbox.copy()
        with telling(self.path):
            (answer,) = connection.execute("pragma quick_check(1)").fetchone()
        if answer != "ok":
            connection.close()
            raise Damaged(answer.partition("\n")[0])
        return connection


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Keep other processes from opening the file in the block."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=BUSY_SECONDS):
            yield
    except Timeout:
        raise Diagnostic(f"the database {path} was being opened for {BUSY_SECONDS} s") from None
    except OSError as error:
        message = f"the database {path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise Diagnostic(message, hint="IMBREX_DB names another file") from None


_SAME: Final = "problem = ? and target = ? and threads = ? and name = ? and hardware = ?"
_TRIALS: Final = (
    "select configuration, status, median_ns, spread_ns, samples, source, compiler, note, session, at, "
    f"is_cold, version from trial join tuned on tuned.id = trial.unit where {_SAME}"
)


def _known_by(unit: Unit) -> tuple[str | int, ...]:
    device = unit.device
    return unit.problem, unit.target, unit.threads, device.name, facts_text(device.hardware)
