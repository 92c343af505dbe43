"""What a database holds, for people: its units with what was tried and what won, and how two of them differ.

A database is a file of SQLite's, or a text that `export` wrote; both are only read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from imbrex.database.connection import Damaged, opened_to_read, telling
from imbrex.database.damage import MAGIC
from imbrex.database.record import Calibration, Trial, Verdict, Winner
from imbrex.database.rows import Row, add, facts_text, rows
from imbrex.database.schema import prepare
from imbrex.database.text import read
from imbrex.database.winners import winner_in
from imbrex.diagnostic import Diagnostic
from imbrex.limit import read_bounded

__all__ = ["Difference", "Summary", "differences", "only_winners", "rows_in", "summaries"]

Key = tuple[str, str, int, str]
"""Problem, target, threads, and name and hardware of the device."""


@dataclass(frozen=True)
class Summary:
    """A unit.  tried: configurations, of which `right` gave right results.  winner: None where none won."""

    problem: str
    target: str
    threads: int
    device: str
    hardware: str
    tried: int
    right: int
    winner: Winner | None

    @property
    def key(self) -> Key:
        """What two databases know the unit by."""
        return self.problem, self.target, self.threads, f"{self.device} {self.hardware}"


@dataclass(frozen=True)
class Difference:
    """A unit that two databases know; None where one does not."""

    first: Summary | None
    second: Summary | None

    @property
    def ratio(self) -> float | None:
        """Time of the first's winner over that of the second's; None where one of them has no time."""
        times = [
            None if s is None or s.winner is None else s.winner.median_ns for s in (self.first, self.second)
        ]
        return times[0] / times[1] if times[0] and times[1] else None


def rows_in(path: Path) -> list[Row]:
    """All rows of a database, or of its text; a Diagnostic where it is neither."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                file.seek(0)
                return read(read_bounded(file, str(path)), str(path))
    except OSError as error:
        raise Diagnostic(f"cannot read '{path}': {(error.strerror or str(error)).lower()}") from None
    try:
        with closing(opened_to_read(path)) as connection, telling(path):
            return list(rows(connection))
    except Damaged as damage:
        message = f"the database {path} is damaged: {damage}"
        raise Diagnostic(
            message, hint="what opens it to write, as 'imbrex db merge', saves its rows"
        ) from None


@contextmanager
def _in_memory(found: Iterable[Row]) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        prepare(connection, Path(":memory:"))
        for row in found:
            add(connection, row)
        yield connection


def summaries(found: Iterable[Row]) -> list[Summary]:
    """The units of rows, by target, device, problem and threads."""
    units: dict[Key, tuple[Row, set[str], set[str]]] = {}
    rows = list(found)
    for unit, record in rows:
        if isinstance(record, Calibration):
            continue
        row = (unit, record)
        key = unit.problem, unit.target, unit.threads, unit.device.key
        _, tried, right = units.setdefault(key, (row, set(), set()))
        if isinstance(record, Trial):
            tried.add(record.configuration)
            right |= {record.configuration} if record.status == "ok" else set()
    listed: list[Summary] = []
    with _in_memory(rows) as connection:
        for (unit, _), tried, right in units.values():
            winner = winner_in(connection, unit.problem, unit.target, unit.threads, unit.device)
            device = (unit.device.name, facts_text(unit.device.hardware))
            counts = (len(tried), len(right))
            listed.append(Summary(unit.problem, unit.target, unit.threads, *device, *counts, winner))
    return sorted(listed, key=lambda s: (s.target, s.device, s.hardware, s.problem, s.threads))


def only_winners(found: Iterable[Row]) -> list[Row]:
    """The verdict of each unit that has a winner, and the winner's last trial."""
    rows, kept = list(found), list[Row]()
    winners = {s.key: s.winner for s in summaries(rows) if s.winner is not None}
    for unit, record in rows:
        winner = winners.get((unit.problem, unit.target, unit.threads, unit.device.key))
        match record:
            case Verdict() if winner is not None and record.when == winner.when:
                kept.append((unit, record))
            case Trial() if winner is not None and _is_last(record, winner):
                kept.append((unit, record))
            case _:
                pass
    return kept


def _is_last(trial: Trial, winner: Winner) -> bool:
    """Is it the trial that the winner tells of?"""
    kept = (winner.configuration, winner.median_ns, winner.source)
    return (trial.configuration, trial.median_ns, trial.source) == kept


def differences(first: Iterable[Row], second: Iterable[Row]) -> list[Difference]:
    """Units that two databases have other winners of, or one has alone, and units whose times differ."""
    known = [{s.key: s for s in summaries(found)} for found in (first, second)]
    pairs = [
        Difference(known[0].get(key), known[1].get(key)) for key in dict.fromkeys((*known[0], *known[1]))
    ]
    return [d for d in pairs if d.first is None or d.second is None or d.first.winner != d.second.winner]
