"""Panel: one thing to look at: a drawing whose parts say what they stand for, sentences, and a table.

A part bears `data-is`, a list of `axis:value`, `axis:low-high` or `axis:word`: what is pointed at in one
panel lights up in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Frames", "Listing", "Panel", "Row", "Table", "absent"]


@dataclass(frozen=True)
class Row:
    """A row of a table, and what it stands for."""

    cells: tuple[str, ...]
    tokens: str = ""


@dataclass(frozen=True)
class Table:
    """The same facts as text: what is seen without drawings."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Frames:
    """An animation: the axis goes through 0, 1, ..; said: what happens in each frame."""

    axis: str
    said: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """A text by lines, each with what it stands for."""

    name: str
    language: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Panel:
    """A drawing with what is said of it.

    variants: the same drawn otherwise, by what is other, beside `svg`.  absent: why a panel has nothing to
    show.  sampled: what part is drawn, where the whole is too large.
    """

    name: str
    title: str
    sentences: tuple[str, ...] = ()
    svg: str | None = None
    table: Table | None = None
    variants: tuple[tuple[str, str], ...] = ()
    listings: tuple[Listing, ...] = ()
    frames: Frames | None = None
    absent: str | None = None
    sampled: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        table, frames = self.table, self.frames
        return {
            "name": self.name,
            "title": self.title,
            "sentences": list(self.sentences),
            "svg": self.svg,
            "variants": [{"name": name, "svg": svg} for name, svg in self.variants],
            "table": table
            and {
                "columns": list(table.columns),
                "rows": [{"cells": list(row.cells), "is": row.tokens} for row in table.rows],
            },
            "texts": [
                {"name": text.name, "language": text.language, "lines": [list(line) for line in text.lines]}
                for text in self.listings
            ],
            "frames": frames and {"axis": frames.axis, "count": len(frames.said), "said": list(frames.said)},
            "absent": self.absent,
            "sampled": self.sampled,
        }


def absent(name: str, title: str, why: str) -> Panel:
    """A panel that has nothing to show."""
    return Panel(name, title, absent=why)


def rows(*given: Sequence[object]) -> tuple[Row, ...]:
    """Rows that stand for nothing that lights up."""
    return tuple(Row(tuple(map(str, cells))) for cells in given)
