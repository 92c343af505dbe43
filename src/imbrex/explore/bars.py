"""Bars: quantities side by side, each with its name and its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.explore.svg import box, label

__all__ = ["HEIGHT", "Bar", "bars"]

HEIGHT, LEFT = 24, 190


@dataclass(frozen=True)
class Bar:
    """A quantity.  is_bound: is it the one that holds all others?"""

    name: str
    value: float
    said: str
    tokens: str = ""
    is_bound: bool = False


def bars(given: Sequence[Bar], x: float, y: float, width: float, most: float | None = None) -> list[str]:
    """One below another, in proportion to the greatest, or to `most`."""
    scale = (width - LEFT) / max(most or 0.0, *(bar.value for bar in given), 1e-30)
    parts: list[str] = []
    for at, bar in enumerate(given):
        top, wide = y + at * HEIGHT, max(1.0, bar.value * scale)
        kind = f"g{at % 8}" + (" sent" if bar.is_bound else "")
        parts.append(label(x + LEFT - 8, top + 15, bar.name, "end strong" if bar.is_bound else "end"))
        parts.append(box(x + LEFT, top, wide, HEIGHT - 5, kind, bar.tokens, f"{bar.name}: {bar.said}"))
        inside = wide > 6.4 * len(bar.said) + 12
        parts.append(label(x + LEFT + (8 if inside else wide + 6), top + 15, bar.said))
    return parts
