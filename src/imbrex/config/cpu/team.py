"""Team: how many threads a launch on a CPU has use for, as many as make it end soonest.

    time(p) = the workgroups of the busiest of p threads + what passes until p threads are at work

Law: this is decided once, for each launch; a call with fewer threads has fewer, one with more has no more.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from imbrex.chip import CpuMachine

__all__ = ["Team", "team"]


class Team(NamedTuple):
    """cycles: until the last thread has done its share."""

    threads: int
    cycles: float


def team(
    alone_cycles: float, workgroups: int, most: int, machine: CpuMachine, largest: float | None = None
) -> Team:
    """The best of 1, 2, 4 and so on threads, or `most`.

    alone_cycles: what one thread takes.  largest: the share of that which the largest workgroup has, where
    they are not even.  Who is free takes the next one, so nobody ends later than all are busy and the largest
    one is still to do (Graham's bound).
    """
    limit = min(most, workgroups)
    counts = sorted({min(limit, 1 << i) for i in range(limit.bit_length() + 1)})
    share = 1 / workgroups if largest is None else largest

    def ends(threads: int) -> float:
        busiest = min(share * -(-workgroups // threads), (1 + share * (threads - 1)) / threads)
        return alone_cycles * busiest + machine.prices.wake * log2(threads)

    best = min(counts, key=ends)
    return Team(best, ends(best))
