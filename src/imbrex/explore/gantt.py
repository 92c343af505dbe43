"""Gantt: what goes on side by side in time, a row for each that does something, boxes for what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from imbrex.explore.svg import box, label, line

__all__ = ["Gantt", "Span", "gantt"]

ROW, LEFT, CHARACTER = 24, 130.0, 6.0
MOST_TICKS: Final = 8


@dataclass(frozen=True)
class Span:
    """What goes on between two times.  kind: its classes; told: what it is; tokens: what it stands for."""

    first: float
    last: float
    kind: str
    tooltip: str
    tokens: str = ""
    text: str = ""


@dataclass(frozen=True)
class Gantt:
    """title: above; rows: a name with its spans; signs: what classes mean, by them.  unit: of times."""

    title: str
    rows: Sequence[tuple[str, Sequence[Span]]]
    signs: Sequence[tuple[str, str]]
    unit: str = "cycles"


def gantt(given: Gantt, y: float, width: float) -> tuple[list[str], float]:
    """Parts, and their height."""
    spans = [span for _, row in given.rows for span in row]
    first, last = min(s.first for s in spans), max(s.last for s in spans)
    scale = (width - LEFT - 10) / max(last - first, 1e-9)
    parts, top = [label(8, y + 8, given.title, "head")], y + 24
    x = 8.0
    for kind, word in given.signs:
        parts += [box(x, top, 12, 12, kind), label(x + 17, top + 10, word)]
        x += 36 + CHARACTER * len(word)
    top += 22
    bottom = top + len(given.rows) * ROW
    for tick in _ticks(last - first):
        at = LEFT + tick * scale
        parts.append(line(at, top, at, bottom + 3, "faint"))
        parts.append(label(at, bottom + 14, f"{tick:,.0f}", "mid tiny soft"))
    parts.append(label(LEFT - 8, bottom + 14, given.unit, "end tiny soft"))
    for at, (name, row) in enumerate(given.rows):
        parts.append(label(LEFT - 8, top + at * ROW + 14, name, "end soft"))
        for span in row:
            left, wide = LEFT + (span.first - first) * scale, (span.last - span.first) * scale
            parts.append(box(left, top + at * ROW, wide, ROW - 5, span.kind, span.tokens, span.tooltip))
            if span.text and wide > CHARACTER * len(span.text) + 4:
                parts.append(label(left + wide / 2, top + at * ROW + 13, span.text, "mid tiny"))
    return parts, bottom + 24 - y


def _ticks(length: float) -> list[float]:
    """Round times, evenly apart."""
    step = 1.0
    while length / step > MOST_TICKS:
        step *= 2 if str(step)[0] in "15" else 2.5
    return [i * step for i in range(int(length / step) + 1)]
