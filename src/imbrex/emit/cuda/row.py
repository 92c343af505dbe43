"""Rows of an array whose neighbours lie together in memory, wherever in a word they begin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from imbrex.emit import c
from imbrex.index.expr import Lin, select, var
from imbrex.index.rule import Guard

__all__ = ["elements_left"]


def elements_left(offset: Lin, guards: Sequence[Guard], along: str, size: int) -> str | None:
    """How many elements from one on, along a row of `size`, lie one after the other and exist, as text.

    None where they do not lie so, or where those that exist are not the first of the row.
    """
    index = var(along, size)
    if (offset - index).mentions(along):
        return None
    bounds, others = [size - index], list[Guard]()
    for guard in guards:
        before = guard.index - index
        if not guard.index.mentions(along):
            others.append(guard)
        elif before.mentions(along) or before.bounds[0] < 0:
            return None
        else:
            bounds.append(guard.size - guard.index)
    least = reduce(lambda a, b: select(b - a, a, b), bounds)
    return f"{c.guards(others)} ? {c.index(least)} : {-size}" if others else c.index(least)
