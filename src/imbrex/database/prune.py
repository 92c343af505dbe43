"""Prune: which rows of a database go: by target, device, version, age."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

__all__ = ["Prune"]


@dataclass(frozen=True)
class Prune:
    """All that is given has to hold; None of all that nothing is said of.

    device: a part of its name.  version: of Imbrex, by which trials were made; verdicts go with the trials of
    their session.  before: a time, as rows have it.
    """

    target: str | None = None
    device: str | None = None
    version: str | None = None
    before: str | None = None

    @property
    def is_everything(self) -> bool:
        """Does it name nothing?"""
        return self == Prune()

    def count(self, connection: sqlite3.Connection) -> int:
        """Rows that go."""
        return sum(
            connection.execute(f"select count(*) from {table} where id in ({ids})", values).fetchone()[0]
            for table, ids, values in self._selected()
        )

    def remove(self, connection: sqlite3.Connection) -> int:
        """Removes them, and units and devices without rows; their number."""
        gone = sum(
            connection.execute(f"delete from {table} where id in ({ids})", values).rowcount
            for table, ids, values in self._selected()
        )
        connection.execute(
            "delete from unit where id not in "
            "(select unit from trial union select unit from verdict union select unit from calibration)"
        )
        connection.execute("delete from device where id not in (select device from unit)")
        return gone

    def _selected(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Tables with what selects ids in them, and its values; verdicts first, which ask about trials."""
        of_unit = {"tuned.target = ?": self.target, "instr(lower(tuned.name), lower(?)) > 0": self.device}
        made_by = (
            "exists (select 1 from trial as t where t.unit = verdict.unit and t.session = verdict.session"
        )
        chosen: list[tuple[str, str, tuple[str, ...]]] = []
        for table, by_version in (
            ("verdict", f"{made_by} and t.version = ?)"),
            ("trial", "trial.version = ?"),
            ("calibration", "calibration.version = ?"),
        ):
            limits = {**of_unit, by_version: self.version, f"{table}.at < ?": self.before}
            given = {rule: value for rule, value in limits.items() if value is not None}
            rules = " and ".join(given)
            ids = f"select {table}.id from {table} join tuned on tuned.id = {table}.unit where {rules}"
            chosen.append((table, ids, tuple(given.values())))
        return chosen
