"""Campaign: all entries of a benchmark on a GPU, one after the other, the report on disk after every one.

Law: what is on disk is always a whole report of what was measured so far.  A kernel that hangs or crashes
costs its own row; a spent budget leaves the rest as rows that say so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from imbrex.bench.gpu.facts import gpu_facts
from imbrex.bench.gpu.row import Row, Task, not_run, timed_on_gpu
from imbrex.bench.gpu.sets import Entry
from imbrex.bench.gpu.summary import UNRUN, summary, was_not_run
from imbrex.chip import WARPGROUPS
from imbrex.run.isolated import Failed, Isolated

__all__ = ["Campaign"]

LIMIT_S = 60.0
"""Time limit of one row: compilation, cuDNN's search, the check and the rounds."""


@dataclass(frozen=True)
class Campaign:
    """budget_s: of everything, None for no end.  seconds: the contenders of one row together.  known: rows of
    an earlier report, whose entries are not measured again, but for those that were not run.
    """

    entries: Sequence[Entry]
    target: str = WARPGROUPS.name
    seconds: float = 0.4
    budget_s: float | None = None
    tuning: str | None = None
    schedule: str | None = None
    config: str | None = None
    known: Sequence[Row] = ()

    def run(
        self, written: Callable[[dict[str, Any]], None], report: Callable[[int, Row], None] | None = None
    ) -> dict[str, Any]:
        """The report.  written: takes it first and after every row; report: the row, with its number."""
        end = None if self.budget_s is None else time.monotonic() + self.budget_s
        rows: list[Row] = []
        known = {(row["set"], row["name"]): row for row in self.known if not was_not_run(row)}
        with Isolated(answered) as isolated:
            facts = isolated(None, LIMIT_S)
            about: dict[str, Any] = {"gpu": {"error": facts.message} if isinstance(facts, Failed) else facts}
            written(self.report(about, rows))
            for number, entry in enumerate(self.entries, 1):
                rows.append(known.get((entry.set, entry.name)) or self._row(entry, isolated, end))
                written(self.report(about, rows))
                if report is not None:
                    report(number, rows[-1])
        return self.report(about, rows)

    def _row(self, entry: Entry, isolated: Isolated, end: float | None) -> Row:
        left = LIMIT_S if end is None else end - time.monotonic()
        if left < self.seconds:
            return not_run(entry, f"{UNRUN} the budget was spent")
        task = Task(entry, self.target, self.seconds, self.tuning, self.schedule, self.config)
        found = isolated(task, min(LIMIT_S, left + 2.0))
        return not_run(entry, f"{found.kind}: {found.message}") if isinstance(found, Failed) else found

    def report(self, about: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
        """All rows, what they come to, where and when it was."""
        return {
            **about,
            "target": self.target,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "entries": len(self.entries),
            "seconds_a_row": self.seconds,
            "summary": summary(rows),
            "rows": list(rows),
        }


def answered(task: Task | None) -> dict[str, Any]:
    """What a process of its own gives: a row, or for nothing what the GPU says of itself."""
    return gpu_facts() if task is None else timed_on_gpu(task)
