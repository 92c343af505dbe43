"""The constants of the model of warpgroup tunings: what an H100 and an H200 were seen to do, in cycles of
CLOCK_HZ.

Those without another source were fitted together to all times in tests/unit/config/warpgroup/data, from
several starts that met; a multiprocessor's true clock is between 1.3 and 1.98 GHz, lower the more of them
multiply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

__all__ = ["CLOCK_HZ", "HALO_RATES", "RATES", "Rates"]

CLOCK_HZ: Final = 1.75e9
"""Clock of the cycles here."""


@dataclass(frozen=True)
class Rates:
    """A rate in bytes is of a cycle, and of one multiprocessor unless it says otherwise."""

    matrix: float = 0.982
    """Cycles for each that the matrix unit's instructions take, where few multiprocessors work."""
    power: float = 0.2
    """What is added to `matrix` where all do: the chip's power sets the clock."""
    product: float = 47.1
    """The least for one of those instructions, where a consumer's next one waits for it."""
    shared_bytes: float = 128.0
    """Bytes of shared memory, read by the matrix unit: 32 banks of 4 bytes."""
    row: float = 1.47
    """Cycles of a copy engine for a row of a tile that begins on a line, as a stream among others."""
    short_row: float = 0.532
    """The same for one of 32 or 64 bytes, in proportion."""
    apart_row: float = 0.35
    """A short row along k as work of L2, in proportion; not fitted: with it, two weight gradients of planes
    of 1568 bytes get what took 0.75 and 0.82 of the time of the pick without."""
    crossing_row: float = 2.62
    """The same for one that begins on a sector and goes over the end of a line."""
    inside_row: float = 2.86
    """The same for one that begins inside a sector."""
    walked_row: float = 1.69
    """So many times the same for rows of an operand that is seen through windows."""
    shared_stage: float = 32.1
    """Cycles until two workgroups of a cluster know that both are done with a stage; twice that for four."""
    l2_rows: float = 40.1
    """Rows that L2 gives to all multiprocessors together: 5100 bytes."""
    each_row: float = 0.43
    """Rows on sectors that reach L2 for each neighbour, beside one for all, where neighbours at the same step
    load the same at about the same time; but for those that a cluster loads for its workgroups."""
    near: float = 27.3
    """Neighbours that those are, at most."""
    cast: float = 1.213
    """The same for those that a cluster loads, in proportion to one row for all of its workgroups."""
    split_row: float = 1.5
    """A row over two lines as work of L2, in proportion."""
    answer: float = 2042.0
    """Cycles until a load is there where all load, which the stages of a ring share."""
    streams: float = 8.0
    """Exponent of the norm that is a step's time, given that of each of its streams."""
    memory_bytes: float = 2150.0
    """Bytes of the whole chip, from and to memory: 3.8 TB/s, between an H100's 3.1 and an H200's 4.4."""
    memory_norm: float = 2.5
    """Exponent of the norm of the times of memory and of all steps."""
    first_bytes: float = 49000.0
    """Bytes of the loads of all workgroups at the start, beside which nothing goes on."""
    stored_bytes: float = 24.0
    """Bytes of results, or of a partial sum's way where few go at a time, to L2."""
    sent_bytes: float = 3000.0
    """Bytes of partial sums, of all multiprocessors together, there and back."""
    start: float = 3660.0
    """Cycles of a kernel, beside its work: from the last one's end to its first product, and its end;
    launched programmatically, 900 to 1300 less than plainly."""
    cluster: float = 100.0
    """Cycles until the workgroups of a cluster have met, at the start and at the end."""
    turn: float = 30.0
    """Between the tiles of a consumer, waiting for products and converting them."""
    handing: float = 194.0
    """Cycles until a pingpong consumer goes on where the other has ended, if both wait for their stores."""
    meeting: float = 2800.0
    """Cycles until the flags of all who share a tile are seen, who do not end together."""
    each: float = 300.0
    """For each of those who share a tile and add a part of it: its flag, and its sums of that part."""
    follow: float = 171.0
    """Cycles until an owner has the next flag, and its first sums."""
    gathering: float = 142.0
    """Cycles until the workgroups of a cluster that share a tile know that all are done with their
    stages, and have the last sums."""
    gathered_bytes: float = 6.18
    """Bytes of partial sums between the workgroups of a cluster."""
    ordinary: float = 105.0
    """Cycles of a warp for an ordinary load, few of which are under way at a time: 90 to 140 were seen."""
    copying: float = 32.0
    """Cycles of a warp for a load to shared memory past the registers, or for each element of a row that
    begins anywhere, which is loaded in pieces of 16 bytes: 26 to 36 were seen."""
    issue: float = 8.0
    """Cycles of a warp for an access of shared memory with its index."""
    window: float = 3.0
    """So many times a load where elements have an index each, as in windows."""
    launch: float = 2300.0
    """Cycles of another kernel, in a graph, which the next one waits for."""
    transposed_bytes: float = 2200.0
    """Bytes of the whole chip: read and written by a kernel that transposes.  Both are within a tenth of what
    copies of 2 to 400 MB took on an H200.
    """

    received_bytes: float = 128.0
    """Bytes of halos: tiles that come from L2, into which writing is as fast as reading shared memory."""
    l2_bytes: float = 7160.0
    """Bytes of halos: what L2 gives to all multiprocessors together, many of which load the same."""
    latency: float = 450.0
    """Cycles until a load of a halo is there, which stages share."""
    clash: float = 0.098
    """Share of the streams of channel vectors beside the slowest one that is not hidden."""
    overlap: float = 0.293
    """Share of the faster one of memory and all steps that is not hidden, of halos."""


RATES: Final = Rates()

HALO_RATES: Final = replace(
    RATES,
    matrix=1.0,
    power=0.27,
    answer=2100.0,
    memory_bytes=1750.0,
    stored_bytes=32.0,
    start=3500.0,
    turn=60.0,
)
"""Rates that the models of halos were fitted with."""
