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
from imbrex.database.location import OFF, user_path
from imbrex.database.prune import Prune
from imbrex.database.record import Trial, Unit, Verdict, Winner
from imbrex.database.rows import Row, add, facts_text, trial_of
from imbrex.database.warning import warn
from imbrex.database.winners import winner_in
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
        self._connection = self._opened()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

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
        asked = f"{_TRIALS} order by median_ns is null, status <> 'ok', median_ns, trial.id"
        found = self._run(lambda c: c.execute(asked, _known_by(unit)).fetchall())
        return [trial_of(row) for row in found]

    def best(self, unit: Unit) -> Winner | None:
        """What a call of the unit should use; None where nothing was concluded, or it turned out wrong."""
        of = (unit.problem, unit.target, unit.threads, unit.device)
        return self._run(lambda c: winner_in(c, *of))

    def count(self) -> int:
        """How many trials and verdicts there are."""
        asked = "select (select count(*) from trial) + (select count(*) from verdict)"
        return int(self._run(lambda c: c.execute(asked).fetchone()[0]))

    def prune(self, which: Prune, is_rehearsal: bool = False) -> int:
        """Removes rows, and says how many; a rehearsal only says it."""

        def pruned(connection: sqlite3.Connection) -> int:
            with transaction(connection, self.path):
                if is_rehearsal:
                    return which.count(connection)
                return which.remove(connection)

        return self._run(pruned)

    def _add(self, found: list[Row], is_newest: bool) -> None:
        def added(connection: sqlite3.Connection) -> None:
            with transaction(connection, self.path):
                for row in found:
                    add(connection, row, is_newest)

        self._run(added)

    def _run(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Acts on the file; one that is found damaged is mended, and acted on again."""
        try:
            with telling(self.path):
                return act(self._connection)
        except Damaged:
            self.close()
            self._connection = self._opened()
            with telling(self.path):
                return act(self._connection)

    def _opened(self) -> sqlite3.Connection:
        """The file opened; what a damaged one still told is in a new one."""
        with _alone(self.path):
            try:
                return _sound(self.path)
            except Damaged as damage:
                aside = set_aside(self.path)
                kept = salvaged(aside)
                connection = opened(self.path)
                with transaction(connection, self.path):
                    for row in kept:
                        add(connection, row)
                told = f"the database {self.path} was damaged ({damage}); it is now {aside.name}, and"
                warn(f"{told} {len(kept)} of its rows were saved")
                return connection


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """In the block no other process opens the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=BUSY_SECONDS):
            yield
    except Timeout:
        raise Diagnostic(f"the database {path} was being opened for {BUSY_SECONDS} s") from None
    except OSError as error:
        told = f"the database {path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise Diagnostic(told, hint="IMBREX_DB names another file") from None


def _sound(path: Path) -> sqlite3.Connection:
    """The file opened; Damaged where its pages do not fit together."""
    connection = opened(path)
    with telling(path):
        (answer,) = connection.execute("pragma quick_check(1)").fetchone()
    if answer != "ok":
        connection.close()
        raise Damaged(answer.partition("\n")[0])
    return connection


_SAME: Final = "problem = ? and target = ? and threads = ? and name = ? and hardware = ?"
_TRIALS: Final = (
    "select configuration, status, median_ns, spread_ns, samples, source, compiler, note, session, at, "
    f"is_cold, version from trial join tuned on tuned.id = trial.unit where {_SAME}"
)


def _known_by(unit: Unit) -> tuple[str | int, ...]:
    device = unit.device
    return unit.problem, unit.target, unit.threads, device.name, facts_text(device.hardware)
