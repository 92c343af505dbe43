"""TuningDb: every timed tuning, and the best known one, in one SQLite file.

Laws: a row counts only for the same problem, target and generator version (timings of older code are not
trusted); a damaged file is set aside as `<name>.corrupt` and begun anew; several processes may write
(write-ahead log, 10 s wait).
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

from imbrex.config.tuning import Tuning, parse, text
from imbrex.diagnostic import Diagnostic

__all__ = ["Status", "Trial", "TuningDb"]

Status: TypeAlias = Literal["ok", "wrong", "failed"]

BUSY_SECONDS = 10
COLUMNS = ["problem", "target", "generator", "tuning", "status", "nanoseconds", "note"]
SCHEMA = """
create table if not exists trial (
  problem text not null, target text not null, generator text not null, tuning text not null,
  status text not null check (status in ('ok', 'wrong', 'failed')),
  nanoseconds real, note text not null,
  primary key (problem, target, generator, tuning)
) without rowid
"""
INSERT = "insert or replace into trial values (?, ?, ?, ?, ?, ?, ?)"
SELECT = """
select tuning, status, nanoseconds, note from trial where problem = ? and target = ? and generator = ?
order by nanoseconds is null, nanoseconds, tuning
"""


@dataclass(frozen=True)
class Trial:
    """One tuning, tried: its time when right, else what went wrong."""

    tuning: Tuning
    status: Status
    nanoseconds: float | None = None
    note: str = ""


class TuningDb:
    """The trials of one generator version in the file `path`, which is made when it is not there."""

    def __init__(self, path: Path, generator: str) -> None:
        self.path = path
        self.generator = generator
        try:
            self._connection = _connected(path)
        except (OSError, sqlite3.OperationalError) as error:
            raise Diagnostic(f"cannot open the tuning database {path}: {error}") from error
        except sqlite3.DatabaseError:
            _set_aside(path)
            self._connection = _connected(path)

    def __enter__(self) -> TuningDb:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def record(self, problem: str, target: str, trial: Trial) -> None:
        """Keep a trial; an earlier one of the same tuning is replaced."""
        result = (text(trial.tuning), trial.status, trial.nanoseconds, trial.note)
        self._run(INSERT, (problem, target, self.generator, *result))

    def trials(self, problem: str, target: str) -> list[Trial]:
        """All trials, the fastest first, those without a time last; unreadable rows are left out."""
        found: list[Trial] = []
        for line, status, nanoseconds, note in self._run(SELECT, (problem, target, self.generator)):
            with suppress(Diagnostic):
                found.append(Trial(parse(line), status, nanoseconds, note))
        return found

    def best(self, problem: str, target: str) -> Trial | None:
        """The fastest right trial."""
        return next((t for t in self.trials(problem, target) if t.status == "ok"), None)

    def _run(self, statement: str, values: tuple[str | float | None, ...]) -> list[Any]:
        """One statement; a file found damaged is begun anew and the statement run again."""
        try:
            with self._connection:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            raise Diagnostic(f"cannot use the tuning database {self.path}: {error}") from error
        except sqlite3.DatabaseError:
            self.close()
            _set_aside(self.path)
            self._connection = _connected(self.path)
            with self._connection:
                return self._connection.execute(statement, values).fetchall()


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        with connection:
            connection.execute(SCHEMA)
        if [row[1] for row in connection.execute("pragma table_info(trial)")] != COLUMNS:
            raise sqlite3.DatabaseError("another program's table")
    except BaseException:
        connection.close()
        raise
    return connection


def _set_aside(path: Path) -> None:
    path.replace(path.with_name(path.name + ".corrupt"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
