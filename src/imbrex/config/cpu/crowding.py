"""Rows of a matrix in the sets of a core's caches: those a multiple of a page apart share few."""

from __future__ import annotations

from math import gcd
from typing import Final

__all__ = [
    "LINE",
    "comes_anew",
    "crowds",
    "is_copied_as_met",
    "is_kept",
    "loses_lines",
    "reads_runs_by_tiles",
    "repays_clearing",
    "repays_packing",
    "spreads",
    "stays_near",
]

SET_BYTES: Final = 4096
"""Addresses this far apart share a set of L1: 64 sets of 64 bytes on all current x86 and Arm cores."""
WAYS: Final = 8
MOST_CROWDED: Final = 9
"""Rows in one set that still leave the cache some room: 8 ways, and one that comes and goes."""

SECOND_SET_BYTES: Final = 32 * SET_BYTES
"""Addresses this far apart share a set of L2: 2048 sets of 64 bytes on current servers, of 8 ways or more."""
SECOND_WAYS: Final = 8

HIDING: Final = 128
"""Multiply-adds behind which a line hides that comes again from L2: 384 did on a Zen 4, 96 do not on a Zen 1.
From L3 an Intel Xeon hides it behind none: A transposed at 1024^3 took 1.8 of the time of A as it is.
"""

LINE: Final = 64
L1_LINES: Final = 512
"""Bytes of a line, and lines of 32 KiB."""
LEAST_RETURNS: Final = 4
"""Visits from which on a copy of lines that L1 has no place for is sooner, on a Zen 3: of 863 x 863 two took
in place 0.94 of a copy's time, four to six 1.24; of 469 x 469, whose lines L1 holds, twenty 0.96.
"""

KEPT_BYTES: Final = 1024 * 1024
"""Bytes of panels of A that are kept: even from L3 they come sooner than they are packed again."""

LEAST_COPIED: Final = 4
MOST_COPIED_BYTES: Final = 1 << 19
"""Visits from which on a panel of B is copied while the first of them meets it, and its bytes at the most.

On an Intel Xeon, tiles of 8x48 by hand: 64x843x1104, eight visits, took 917 us in place and 734 copied so,
24x387x601, three visits, 75 and 77.
"""

MOST_ACROSS: Final = 2
"""Visits up to which rows of tiles are read across lines: more repay a copy."""

LEAST_VISITS: Final = 6
"""Visits from which on a copy is sooner, on a Zen 1: in four they were even, in eight a copy won a tenth.  On
an Intel Xeon, of lines that take eight ways of L2 in ten problems of A transposed, two visits were 3 % sooner
in place, and from seven on picks that copy took 0.53 to 1.08 of the time, 0.84 in the mean.
"""

MOST_ANEW: Final = 6
"""Visits up to which rows that crowd into few sets are read from L2 each time, behind multiply-adds that hide
it.  On an Intel Xeon 12x512x512, two visits, took 40 us in place and 66 copied, 24x512x512, four, 79 and 115;
eight were 8 % sooner in place, 3 % later of arrays that begin inside a line, sixteen even and a tenth later.
Where L2 loses lines, too, 24x1024x1024 took three times as long in place; a matrix beyond it shares its ways
with what else is read.
"""


def crowds(rows: int, apart_bytes: int, set_bytes: int = SET_BYTES, most: int = MOST_CROWDED) -> bool:
    """Do so many rows, which are read side by side, leave the cache no room?

    set_bytes, most: how far apart addresses share a set, L1's by default, and the rows that it has room for.
    """
    return rows * gcd(set_bytes, apart_bytes) > most * set_bytes


def loses_lines(pieces: int, apart_bytes: int, multiplied: int, visits: int) -> bool:
    """Are lines, of which panels take a piece each, gone when the next panel comes, and is that felt?

    Gone from L1 they are felt behind few multiply-adds for each, gone from L2 behind as many as a tile has.
    Where many panels of the other operand visit one, these need a way of L2, too.
    """
    ways = SECOND_WAYS - (visits >= LEAST_VISITS)
    is_gone = crowds(pieces, apart_bytes, SECOND_SET_BYTES, ways)
    return is_gone or (multiplied < HIDING and crowds(pieces, apart_bytes))


def comes_anew(pieces: int, apart_bytes: int, multiplied: int, visits: int) -> bool:
    """Has L1 no place for the lines of a panel that stays, of which it takes a piece each, so that they, and
    their pages, are looked up in each of so many visits, for too few multiply-adds to hide that?
    """
    lines = pieces * min(apart_bytes, LINE) // LINE
    return multiplied < HIDING and lines > L1_LINES and visits >= LEAST_RETURNS


def is_kept(block_bytes: int) -> bool:
    """Are all panels of a block kept once they are packed, for panels of the other operand that stay?"""
    return block_bytes <= KEPT_BYTES


def is_copied_as_met(visits: int, panel_bytes: int, vector_bytes: int) -> bool:
    """Is a panel of a matrix, of so many bytes, copied while the first of so many panels of A meets it?

    Where vectors are lines, which in place mostly lie across two.  The device's `is_copied_as_met`, too.
    """
    return vector_bytes == LINE and visits >= LEAST_COPIED and panel_bytes <= MOST_COPIED_BYTES


def reads_runs_by_tiles(run: int, width: int, visits: int) -> bool:
    """Are runs of so many k read where they lie by tiles of that width, rows of which then lie across lines
    in each of so many visits, unless runs are whole tiles?  Tiles that cross runs are copied, and so are few.
    """
    return run % width == 0 or (4 * (width - gcd(run, width)) <= run and visits <= MOST_ACROSS)


def repays_clearing(visits: int, multiplied: int) -> bool:
    """Is a row of B, where guards cut its vectors, sooner copied once than cleared of what does not exist in
    each of so many visits, for so few multiply-adds that these do not hide it?
    """
    return multiplied < HIDING and visits >= LEAST_VISITS


def repays_packing(rows: int, apart_bytes: int, visits: int, multiplied: int) -> bool:
    """Is a panel of B of so many rows, so far apart, sooner copied once than read where it lies in each of so
    many visits, since its rows crowd into few sets of L1, and come from L2 behind so many multiply-adds?
    """
    if visits == 1 or spreads(apart_bytes):
        return False
    ways = SECOND_WAYS if rows * apart_bytes <= SECOND_WAYS * SECOND_SET_BYTES else SECOND_WAYS // 2
    is_lost = crowds(rows, apart_bytes, SECOND_SET_BYTES, ways)
    return is_lost or multiplied < HIDING or visits > MOST_ANEW


def stays_near(apart_bytes: int, rows: int, vectors: int, taps: int) -> bool:
    """May `rows` of so many vectors, each so far from the next, be met again where they lie?

    A line that comes from L2 hides behind the multiply-adds of some taps.  The device's `stays_near`, too.
    """
    lines = -(-apart_bytes // LINE)
    sets = max(1, SET_BYTES // LINE // (lines & -lines))
    return WAYS * sets * taps > 2 * rows * vectors


def spreads(apart_bytes: int) -> bool:
    """Do neighbouring rows lie in different sets, so that a panel of many can stay there?"""
    return gcd(SET_BYTES, apart_bytes) < SET_BYTES // 4
