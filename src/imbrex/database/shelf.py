"""Shelf: one database as a look-up reads it: the user's file, or the text that comes with Imbrex.

Law: both answer by the same view of winners; of the text only lines that are asked for are read as rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from imbrex.database.connection import Damaged, opened_to_read, telling
from imbrex.database.location import shipped_text
from imbrex.database.near import shape_of
from imbrex.database.record import Calibration, Device, Winner
from imbrex.database.rows import add
from imbrex.database.schema import prepare
from imbrex.database.text import FIELDS, HEAD, read
from imbrex.database.warning import warn
from imbrex.database.winners import calibration_in, winner_in
from imbrex.diagnostic import Diagnostic

__all__ = ["Shelf", "shelves"]

T = TypeVar("T")
PROBLEM: Final = FIELDS["trial"].index("problem") + 1
"""The field of a line, behind its kind, that is the problem's."""
DEVICES: Final = "device"
"""What lines of devices are kept under, which is no problem's text."""


class Shelf(Protocol):
    """What a look-up asks of a database."""

    @property
    def name(self) -> str: ...

    def has(self, target: str) -> bool:
        """Was anything tuned for the target?"""
        ...

    def problems(self, target: str, kind: str) -> list[str]:
        """Problems of a kind that were tuned for the target."""
        ...

    def winner(self, problem: str, target: str, threads: int, device: Device | None) -> Winner | None:
        """The winner on the device; the latest on any where that is None."""
        ...

    def calibration(self, target: str, device: Device) -> Calibration | None:
        """The calibration of the target's model on the device."""
        ...


@contextmanager
def shelves(path: Path) -> Generator[list[Shelf]]:
    """The user's database where it is there and can be read, then the shipped one."""
    if not path.exists():
        yield [_Shipped()]
        return
    try:
        connection = opened_to_read(path)
    except (Diagnostic, Damaged) as error:
        _warn(path, error)
        yield [_Shipped()]
        return
    with closing(connection):
        yield [_File(path, connection), _Shipped()]


def _warn(path: Path, error: Exception) -> None:
    what = error.message if isinstance(error, Diagnostic) else f"the database {path} is damaged: {error}"
    warn(f"{what}; nothing of it is used")


class _File:
    """The user's, open."""

    name: str = "user"

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection

    def has(self, target: str) -> bool:
        return bool(self._selected("select 1 from unit where target = ? limit 1", target))

    def problems(self, target: str, kind: str) -> list[str]:
        query = "select distinct problem from unit where target = ? and kind = ?"
        return [problem for (problem,) in self._selected(query, target, kind)]

    def winner(self, problem: str, target: str, threads: int, device: Device | None) -> Winner | None:
        return self._read(lambda: winner_in(self.connection, problem, target, threads, device), None)

    def calibration(self, target: str, device: Device) -> Calibration | None:
        return self._read(lambda: calibration_in(self.connection, target, device), None)

    def _selected(self, statement: str, *values: str) -> list[Any]:
        return self._read(lambda: self.connection.execute(statement, values).fetchall(), [])

    def _read(self, ask: Callable[[], T], nothing: T) -> T:
        """The answer; nothing, and a warning, where the file cannot be read."""
        try:
            with telling(self.path):
                return ask()
        except (Diagnostic, Damaged) as error:
            _warn(self.path, error)
            return nothing


class _Shipped:
    """The texts that come with Imbrex, one a target."""

    name: str = "shipped"

    def has(self, target: str) -> bool:
        return shipped_text(target) is not None

    def problems(self, target: str, kind: str) -> list[str]:
        known = _lines(shipped_text(target))
        return [
            problem for problem in known if problem not in ("", DEVICES) and shape_of(problem).kind == kind
        ]

    def winner(self, problem: str, target: str, threads: int, device: Device | None) -> Winner | None:
        with self._rows(target, problem) as connection:
            return connection and winner_in(connection, problem, target, threads, device)

    def calibration(self, target: str, device: Device) -> Calibration | None:
        with self._rows(target, "") as connection:
            return connection and calibration_in(connection, target, device)

    @contextmanager
    def _rows(self, target: str, problem: str) -> Generator[sqlite3.Connection | None]:
        """The rows of a problem, in memory; None where there are none."""
        known = _lines(shipped_text(target))
        if problem not in known:
            yield None
            return
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            prepare(connection, Path(target))
            lines = [HEAD, *known[DEVICES], *known[problem]]
            for row in read("\n".join(lines), str(shipped_text(target))):
                add(connection, row)
            yield connection


@cache
def _lines(file: Path | None) -> Mapping[str, list[str]]:
    """Lines of a text by the problem that they are of, calibrations under an empty one."""
    found: dict[str, list[str]] = {DEVICES: []}
    for line in [] if file is None else file.read_text(encoding="utf-8").split("\n"):
        fields = line.split("\t")
        if len(fields) > 1:
            found.setdefault(DEVICES if fields[0] == "device" else fields[PROBLEM], []).append(line)
    return found
