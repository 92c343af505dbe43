"""The constants of the model of warpgroup tunings: what an H100 was seen to do, in cycles of CLOCK_HZ.

Those without another source were fitted together to all times in tests/unit/schedule/data, from several
starts that met; a multiprocessor's true clock is between 1.3 and 1.98 GHz, lower the more of them multiply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["CLOCK_HZ", "RATES", "Rates"]

CLOCK_HZ: Final = 1.75e9
"""Of the cycles here."""


@dataclass(frozen=True)
class Rates:
    """A rate in bytes is of a cycle, and of one multiprocessor unless it says otherwise."""

    matrix: float = 1.0
    """Cycles for each that the matrix unit's instructions take, where few multiprocessors work."""
    power: float = 0.095
    """What is added to `matrix` where all do: the chip's power sets the clock."""
    shared_bytes: float = 128.0
    """Of shared memory, read by the matrix unit: 32 banks of 4 bytes."""
    received_bytes: float = 128.0
    """Of tiles that come from L2: 85 were seen, and writing shared memory is as fast as reading it."""
    l2_bytes: float = 7160.0
    """Of tiles that L2 gives to all multiprocessors together, many of which load the same."""
    memory_bytes: float = 1720.0
    """Of the whole chip, from and to memory: 3.0 TB/s; an H200 has 4.3."""
    stored_bytes: float = 55.9
    """Of results, or of a partial sum's way where few go at a time, to L2."""
    sent_bytes: float = 2363.0
    """Of partial sums, of all multiprocessors together, there and back."""
    latency: float = 450.0
    """Of a load, which the stages of a ring share."""
    start: float = 2833.0
    """Of a kernel, beside its work: from the last one's end to its first product, and its end."""
    cluster: float = 640.0
    """Until the workgroups of a cluster have met, at the start and at the end."""
    turn: float = 300.0
    """Between the tiles of a consumer, waiting for products and converting them."""
    meeting: float = 7370.0
    """Until the flags of all who share a tile are seen, who do not end together."""
    each: float = 100.0
    """For each of those who share a tile and add a part of it: its flag, and its sums of that part."""
    follow: float = 1307.0
    """Until an owner has the next flag, and its first sums."""
    ordinary: float = 105.0
    """Of a warp for an ordinary load, few of which are under way at a time: 90 to 140 were seen."""
    copying: float = 32.0
    """Of a warp for a load that goes to shared memory past the registers, or for each element of a row that
    begins anywhere, which is loaded in pieces of 16 bytes: 26 to 36 were seen."""
    issue: float = 8.0
    """Of a warp for an access of shared memory with its index."""
    window: float = 3.0
    """So many times a load where elements have an index each, as in windows."""
    clash: float = 0.098
    """Of the streams of a step beside the slowest one: what is not hidden."""
    overlap: float = 0.293
    """The same of the faster one of memory and all steps."""
    launch: float = 5000.0
    """Of another kernel."""
    transposed_bytes: float = 1800.0
    """Of the whole chip: read and written by a kernel that transposes."""


RATES: Final = Rates()
