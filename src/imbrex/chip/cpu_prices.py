"""What the model of CPU kernels asks of a core, in cycles; only their ratios to the FMA rate matter."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["MESH_PRICES", "NARROW_PRICES", "PRICES", "WIDE_PRICES", "Level", "Prices"]


@dataclass(frozen=True)
class Level:
    """Cycles a byte that FMAs do not hide, for data that lives in L2, in L3 and in memory."""

    l2: float
    l3: float
    memory: float


@dataclass(frozen=True)
class Prices:
    """Measured on one Zen 4 core at 3.7 GHz with the device headers, f32, 16 lanes; cycles for one vector.

    copy: a load and a store of 16 neighbours; a vector of several stretches takes a load for each.
    transpose: what turning 16 x 16 adds to each vector of it; turned: of a matrix, which is loaded as it is.
    gather, scatter: element by element.
    """

    copy: float = 4.0
    transpose: float = 11.0
    turned: float = 11.0
    gather: float = 36.0
    cut: float = 7.5  # a copy of neighbours along K, where the edges of an image cut them
    store: float = 8.0
    store_piece: float = 4.0
    store_transpose: float = 15.0
    scatter: float = 62.0
    most_pieces: float = 5.5  # a vector of more is gathered
    coordinate: float = 20.0  # to find the address of one row or column of a panel
    fma_latency: float = 4.0
    waiting: float = 0.0  # the part of that which a last panel waits, of sums too few to hide it
    narrower: float = 0.0  # the part of its loads and broadcasts that one of fewer vectors waits for
    column: float = 1.5  # a vector of products that are summed along K
    rows_again: float = 0.0  # a byte of rows that L1 has no place for, for each turn of such columns but one
    lanes_summed: float = 4.0  # the sum of its lanes, on its way to C
    pointer: float = 8.0  # to find a run of neighbours along K
    broadcast: float = 0.12  # an element of A, beside the multiply-adds that hide most of it: tall tiles lose
    shift: float = 0.3  # 128 added to an element of A that a unit takes as unsigned, beside the multiply-adds
    load: float = 0.06  # a vector of B
    piece: float = 8.0  # a row's elements of one panel, cut from an A whose rows are k; of narrow ones less
    alike: float = 8.0  # the same of elements that panels hold as they are
    crowded_byte: float = 0.0  # a byte of such an A beyond L2 whose rows crowd, for each block of columns
    crowded_copy: float = 0.0  # the same of one that is B, copied as it is met, for each block of rows
    sum: float = 2.0  # an accumulator that goes to memory
    row: float = 4.0  # a row of them, whose place in A is looked up
    read_in_place: float = 0.9  # a vector of B that straddles cache lines
    arrival: float = 0.0  # from a tile's first product until its rows of C, of a page each, are there
    scattered_row: float = 0.0  # a row of a tile of a C far beyond L2, where B stays, whatever hides the rest
    crowded: float = 2.0  # times that, where the rows that a square is turned into share a set of L1
    store_in_place: float = 3.0
    placed: float = 12.0  # the address of a row or lane of a window in the one-pass form
    even: float = 1.0  # the same of a matrix, whose rows and lanes are evenly apart
    call: float = 12.0  # and a cycle for each accumulator: the register tile goes to the private tile
    wake: float = 8_000.0  # until a second thread of the pool is at work, and has the operands in its caches
    stream: Level = Level(0.001, 0.004, 0.03)  # B, packed
    apart: Level = Level(0.001, 0.004, 0.03)  # B, read in place, whose rows lie apart
    streams: float = 0.0  # rows of C that are stored a tile at a time and foreseen all the same
    begun: float = 0.0  # a row of C beyond L2 of which a block of columns has a part, where A stays
    put_down: float = 0.0  # a byte of rows of B that are packed as a whole, on its way to L2
    visited: float = 0.0  # a byte of such a B that several panels of A meet, each time
    lookup: float = 0.0  # a page of such a B that the core has to find anew: more than it has at hand
    walk: float = 0.0  # a page of a B in place that none of the core's tables has
    again: float = 0.0  # the part of such an A beyond L2 that each block of columns but one fetches anew
    beside: float = 0.0  # a byte of B that passes an A whose rows are k, read in place, of many pages
    shared: float = 0.0  # a piece of a row of such an A, of more than L2 has room for beside all else
    flow: Level = Level(0.0005, 0.005, 0.03)  # A, which is read in place
    tile: Level = Level(0.01, 0.03, 0.08)
    near: float = 0.6  # of L1, what a panel of B that stays may take
    least_step: int = 192  # k of a step, at least, that is tried
    slow_steps: range = range(0)  # k of steps that are not, of an A that is cut from rows of k
    feed: float = 0.06  # a byte of one that is larger, behind the multiply-adds
    returning: float = 0.0  # a byte of a packed A that stays and that L1 has no place for, each time
    passing: float = 0.033  # a byte of B that all rows meet at once, behind the multiply-adds
    passing_row: float = 0.18  # and what it costs to begin anew in each row, shared by a row's vectors
    met: float = 0.033  # the same two of an array that L2 holds
    met_row: float = 0.18
    far: float = 0.1  # the same two from memory
    far_row: float = 0.45
    unforeseen: float = 0.0012  # a byte of A, for each row more than the hardware fetches ahead
    anew: float = 100.0  # a row of A that passes once, from memory: each time that a step over K begins in it
    flag: float = 4000.0  # until one that was raised is seen by another core, and both were in step
    uneven: float = 0.04  # of the mean, by which the slowest thread is late where nothing else runs


PRICES = Prices()

WIDE_PRICES = replace(PRICES, turned=5.0)
"""x86 cores with 32 registers of 64 bytes, which turn 16 x 16 elements in 64 shuffles: on a Zen 4 a matrix
that is turned takes 6 cycles a vector more than one that is read in place, of 16 x 16 to 1008 x 1008.
"""

MESH_PRICES = replace(
    PRICES,
    transpose=4.8,
    turned=4.8,
    column=1.2,
    lanes_summed=5.0,
    rows_again=0.038,
    load=0.068,
    read_in_place=1.06,
    store_in_place=2.45,
    broadcast=0.22,
    sum=1.8,
    piece=4.46,
    alike=4.46,
    crowded_byte=0.4,
    crowded_copy=1.2,
    placed=7.37,
    feed=0.038,
    stream=Level(0.001, 0.03, 0.04),
    apart=Level(0.003, 0.03, 0.04),
    flow=Level(0.0005, 0.02, 0.03),
    streams=32.0,
    begun=120.0,
    arrival=600.0,
    scattered_row=85.0,
    put_down=0.12,
    least_step=128,
    slow_steps=range(161, 256),
    met=0.01,
    met_row=0.045,
    narrower=0.5,
    lookup=1.0,
    shared=1.5,
    passing=0.02,
    passing_row=0.2,
)
"""Intel's servers from Sapphire Rapids on, whose L3 lies on a mesh: fitted by `imbrex tune --calibrate` to a
virtual machine of an Emerald Rapids; those of L3 and memory set by hand, as picks for larger products want,
and `put_down` for 27 products of 4 to 64 rows, whose picks are 7.2 % behind the best of nine, 7.9 without it,
and `begun` and `arrival` for outer products on one thread and two, of which such rows take 70 to 210 cycles
each, and rows of tiles where B stays 26 to 60.
`crowded_byte`, `crowded_copy` and `slow_steps` were set for products of 768 to 2048 rows whose transposed A
crowds: steps of 192 and 224 k took up to a tenth longer than of 160 and of 256, not explained.
`broadcast`, `feed`, `apart.l2` and what stands from `least_step` on were set for 36 products of 4 to 113
rows and some ten tunings of each, of which the model's first is 3 % behind the best in the mean, 10 % before.
"""

NARROW_PRICES = replace(
    PRICES,
    broadcast=0.26,
    load=0.28,
    waiting=1.0,
    visited=0.02,
    lookup=3.0,
    walk=11.0,
    arrival=380.0,
    far_row=0.2,
    anew=500.0,
    returning=0.06,
    alike=5.0,
    again=1.0,
    beside=0.006,
    stream=Level(0.001, 0.01, 0.03),
)
"""CPUs with sixteen registers, whose tiles have 12 multiply-adds for a row of B: too few to hide what a row
costs that is read where it lies, and what loads cost, which a Zen 1 takes in halves.  Fitted by hand there to
both forms of nine products and layers, and the order of tiles of 4x24, 6x16, 2x32 and 13x8 of five; the last
three to 24 products and layers of few rows, few columns or few channels.
"""
