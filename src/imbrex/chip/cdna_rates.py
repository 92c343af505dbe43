"""What a compute unit of AMD's does in a clock, and the chip around it: what `timing` asks of a machine.

Clocks are the compute unit's own.  Each number has its source here; what was fitted says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["KIB", "NARROWEST", "TURN", "Device", "Rates"]

KIB: Final = 1024
TURN: Final = 4
"""Clocks from one issue of a wave to its next; a vector instruction of 64 lanes takes as long."""
NARROWEST: Final = 4
"""Bytes of a lane below which an access takes no less time: it has one address and one bank all the same."""

WRITE_RATE: Final = {16: 0.8, 8: 0.67, 4: 0.5}
"""Rate of LDS writes over that of reads, by bytes of a lane: rocprofiler-compute's documentation of gfx942,
LDS throughput."""


@dataclass(frozen=True)
class Rates:
    """What a compute unit does in a clock, and how long things take it.

    lds_bytes, l1_bytes: of a compute unit in one clock.
    shadow: clocks from the issue of a matrix instruction in which no vector instruction issues.
    exclusive: types of A whose matrix instructions admit no vector instruction until they are done.
    """

    lds_bytes: int
    l1_bytes: int
    shadow: int
    exclusive: frozenset[str]
    source: str
    write_rate: Mapping[int, float] = field(default_factory=lambda: WRITE_RATE, hash=False)
    lds_latency: int = 64
    """Cycles from the end of an access to its result: 50 to 70 seen on gfx950 (ROCm/gfx950-gluon-tutorials,
    docs/lds_throughput.md), 31 ns on an MI300X (chipsandcheese.com, 2024)."""
    lds_queue: int = 8
    """Accesses under way of two SIMDs; the next one's issue waits (docs/lds_throughput.md, 1.6)."""
    memory_latency: int = 640
    """From when the first-level cache takes a load up to its data, mean, where most of it is in L2.  Fitted
    with `memory_spread` to loops that tests/unit/timing/published.py names; the round trip of about 1000 of
    docs/tcp_bound_tile_model.md has the wait in the queue in it."""
    memory_spread: float = 0.3
    """Latencies are even between 1 - this and 1 + this of the mean; fitted."""
    l1_capacity: int = 32 * KIB
    """Bytes of loads that the first-level cache has under way (docs/tcp_bound_tile_model.md, 1)."""
    line_bytes: int = 128
    """Bytes of a line of the first-level cache, which takes one a turn, however little of it is asked for:
    rows of 64 bytes took an MI300X twice as long as rows of 128 (ROCm/gfx950-gluon-tutorials,
    kernels/gemm/gfx942)."""
    request_queue: int = 12
    """Loads of a compute unit that are issued and not yet taken up (the same)."""
    barrier: int = 8
    """Clocks from the last wave's arrival until all go on; fitted, 4 to 16 do as well."""
    branch: int = 16
    """Clocks of a branch that is taken; an estimate that no loop of the data depends on."""

    def lds_clocks(self, moved: float, lane_bytes: int, is_write: bool) -> float:
        """Clocks for which LDS serves an access without conflicts, that moves so many bytes."""
        if not is_write:
            return moved / self.lds_bytes
        widths = [width for width in self.write_rate if width <= max(lane_bytes, min(self.write_rate))]
        return moved / (self.lds_bytes * self.write_rate[max(widths)])


@dataclass(frozen=True)
class Device:
    """The chip around its compute units.

    hz: its highest clock.  idle, busy: shares of it that power allows where no matrix unit works, and where
    all work all the time; linear between.  l2_bytes: from a die's L2, of one compute unit in one clock where
    all load.  memory_bytes: from memory, of all, in a second.
    prologue: clocks of a workgroup before its first step.  stored_bytes: of C, of a compute unit in a clock,
    where all store.  launch: clocks of a kernel besides its workgroups.
    """

    hz: float
    idle: float
    busy: float
    l2_bytes: float
    memory_bytes: float
    prologue: float
    stored_bytes: float
    launch: float
    source: str

    def clock(self, busy: float) -> float:
        """The clock that power allows where matrix units work for such a share of the time."""
        return self.hz * (self.idle + (self.busy - self.idle) * busy)
