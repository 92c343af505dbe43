"""Loads of a loop over the taps of a window's row, whose pixels come once: which ones each tap begins.

Taps are counted through all steps.  B's tile of a step holds the pixels of all its taps, in one of two
buffers; A's tiles are of one tap each, in a ring of `depth` buffers.  A tap that has been read begins to load

    behind the last tap of a step    the first piece of B's tile two steps ahead, over the one just read
    behind the first tap of a step   the second piece of B's tile of the next step
    behind every tap                 A's tile `depth` taps ahead, over the one just read

Laws: loads arrive in the order in which they are begun, so that those may be under way that were begun after
the last one that the next tap reads.  Before tap 0 stand the loads that taps before it would have begun, in
the same order, and B's first tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["PIECES", "Load", "begun", "first_loads", "under_way"]

PIECES: Final = 2
"""Pieces of B's tile that are loaded one by one."""


@dataclass(frozen=True)
class Load:
    """A's tile of tap number `number`, counted through all steps; or a piece of B's tile of step `number`."""

    name: str
    number: int
    piece: int = 0


def begun(tap: int, taps: int, depth: int) -> Iterator[Load]:
    """The loads behind a tap, counted through all steps.  depth: A's buffers."""
    step, own = divmod(tap, taps)
    if own == taps - 1:
        yield Load("b", step + 2, 0)
    if own == 0:
        yield Load("b", step + 1, 1)
    yield Load("a", tap + depth)


def first_loads(taps: int, depth: int) -> Iterator[Load]:
    """The loads before tap 0: B's first tile, and those behind taps that would have been before."""
    yield from (Load("b", 0, piece) for piece in range(PIECES))
    for tap in range(-depth, 0):
        yield from (load for load in begun(tap, taps, depth) if load.number > 0 or load.name == "a")


def under_way(tap: int, taps: int, depth: int, counts: Callable[[Load], int]) -> int:
    """Loads of a work item that may be under way when the tap behind this one is read; tap -1 is before all.

    counts: of each, 0 where it is not begun.
    """
    order = [*first_loads(taps, depth), *(x for t in range(tap) for x in begun(t, taps, depth))]
    needed = [Load("a", tap + 1)]
    if (tap + 1) % taps == 0:
        needed += (Load("b", (tap + 1) // taps, piece) for piece in range(PIECES))
    last = max(order.index(load) for load in needed)
    return sum(counts(load) for load in order[last + 1 :])
