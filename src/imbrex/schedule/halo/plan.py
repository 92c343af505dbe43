"""HaloTuning: a tile of windows on NVIDIA Hopper whose pixels come into shared memory once, with their halo.

A tile is images x rows x width pixels of a raster (`imbrex.view.raster`); they are the rows of the product,
all taps and channels of the window one step of K.  A stage of the ring holds the pixels that any of the taps
wants, `loaded` lines of an image; the filter stays in shared memory as long as a workgroup's tiles share it.
All else is as in a tuning of warpgroups: `stages`, `consumers` and `pingpong`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from imbrex.schedule.context import GemmContext, round_up
from imbrex.schedule.target import GPU_TARGETS, GpuTarget
from imbrex.schedule.warpgroup.plan import (
    ALIGNMENT,
    CHIP,
    PIECE_BYTES,
    PIECES,
    ROWS,
    WARPGROUP,
    Ring,
    shared_tile,
)
from imbrex.view.shared_tile import ATOM_ROWS, Major, SharedTile

__all__ = ["HaloPlan", "HaloTuning"]


@dataclass(frozen=True)
class HaloTuning:
    """images, rows, width: pixels of a tile.  loaded: lines of an image that a stage has room for.

    taps, channels: of a window.  n_per_block: filters that are computed at a time.  diagonal: blocks of
    channels and filters that alone are multiplied, the others being zeros between groups; 1 for all.
    """

    kind: ClassVar[str] = "halo"
    images: int
    rows: int
    loaded: int
    width: int
    taps: int
    channels: int
    n_per_block: int
    diagonal: int
    stages: int
    consumers: int
    pingpong: bool

    def __post_init__(self) -> None:
        numbers = [v for v in vars(self).values() if not isinstance(v, bool)]
        assert min(numbers) >= 1, f"a tuning's numbers are at least 1: {self}"

    @property
    def m_per_block(self) -> int:
        """Pixels of a tile."""
        return self.images * self.rows * self.width

    @property
    def k_per_block(self) -> int:
        return self.taps * self.channels

    @property
    def swapped(self) -> bool:
        """Rows are gemmN: pixels."""
        return True

    @property
    def tile(self) -> tuple[int, int, int]:
        """The tile of a workgroup, (m, n, k), in the GEMM's own m and n."""
        return self.n_per_block, self.m_per_block, self.k_per_block

    @property
    def block_size(self) -> int:
        """Threads of a workgroup: the consumers and the producer."""
        return WARPGROUP * (self.consumers + 1)

    @property
    def consumer_rows(self) -> int:
        """Rows of a tile that one consumer computes, rounded down."""
        return self.m_per_block if self.pingpong else self.m_per_block // self.consumers

    def plan(self, context: GemmContext, machine: GpuTarget | None = None) -> HaloPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return HaloPlan(self, context, machine or GPU_TARGETS[CHIP])


@dataclass(frozen=True)
class HaloPlan:
    """Everything that follows from a HaloTuning and a GEMM."""

    tuning: HaloTuning
    context: GemmContext
    machine: GpuTarget = field(default_factory=lambda: GPU_TARGETS[CHIP])

    @property
    def tiles(self) -> tuple[int, int]:
        """Along pixels and filters."""
        t, c = self.tuning, self.context
        return -(-c.n // t.m_per_block), -(-c.m // t.n_per_block)

    @property
    def units(self) -> int:
        """Of all groups."""
        rows, columns = self.tiles
        return self.context.g * rows * columns

    @property
    def blocks(self) -> tuple[int, int]:
        return self.tiles

    @property
    def k_iterations(self) -> int:
        """All of a window at once."""
        return 1

    @property
    def filters(self) -> int:
        """Tiles of the filter: units that follow one another have them in turn."""
        return self.context.g * self.tiles[1]

    @property
    def workgroups(self) -> int:
        """To launch: as many as run at a time, or a few less, so that each keeps its part of the filter."""
        most = min(self.units, self.machine.compute_units)
        return most // self.filters * self.filters or most

    @property
    def grid_size(self) -> int:
        return self.workgroups

    @property
    def keeps_filter(self) -> bool:
        """Does a workgroup meet one part of the filter only?"""
        return self.workgroups % self.filters == 0

    @property
    def filter_major(self) -> Major:
        a = self.context.a
        return "d" if a.vector[1] > a.vector[0] and self.context.dtype.bytes == 2 else "k"

    @property
    def is_turned(self) -> bool:
        """Do filters lie together in memory, where wgmma wants channels together?"""
        return self.context.a.vector[1] > self.context.a.vector[0] and self.filter_major == "k"

    @cached_property
    def b_tile(self) -> SharedTile:
        """The filter's part."""
        t, size = self.tuning, self.context.dtype.bytes
        return shared_tile(t.k_per_block, t.n_per_block, size, self.filter_major == "d")

    @property
    def raster(self) -> int:
        """Pixels that a stage has room for: an atom more than a box brings, which garbage is read from."""
        t = self.tuning
        return t.images * t.loaded * t.width + ATOM_ROWS

    @property
    def ring(self) -> Ring:
        """Shared memory: the filter stands with what is staged, as there is one of it."""
        t, size = self.tuning, self.context.dtype.bytes
        a = round_up(self.raster * t.channels * size, ALIGNMENT)
        b = round_up(t.k_per_block * t.n_per_block * size, ALIGNMENT)
        piece = min(PIECE_BYTES, ROWS * t.n_per_block * self.context.dtype.output.bytes)
        return Ring(a, 0, t.stages, t.consumers * PIECES * piece + b)

    @property
    def lds_bytes(self) -> int:
        return self.ring.total

    @property
    def accumulators(self) -> int:
        """32-bit registers of a consumer's thread that hold sums."""
        return self.tuning.consumer_rows * self.tuning.n_per_block // WARPGROUP

    @property
    def registers(self) -> int:
        return self.accumulators

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the gridwise op."""
        t, (a, b, c) = self.tuning, (self.context.b, self.context.a, self.context.c.exchanged)
        return {
            "block_size": t.block_size,
            "m_per_block": t.m_per_block,
            "n_per_block": t.n_per_block,
            "k_per_block": t.k_per_block,
            "matrix_a_source_vector_read_dim": 0,
            "matrix_a_source_data_per_read": max(a.vector),
            "matrix_a_dest_data_per_write_dim_m": max(a.vector),
            "matrix_b_source_vector_read_dim": int(b.vector[1] > b.vector[0]),
            "matrix_b_source_data_per_read": max(b.vector),
            "matrix_b_dest_data_per_write_dim_n": max(b.vector),
            "matrix_c_source_dest_vector_read_write_dim": 1 if c.vector[1] >= c.vector[0] else 0,
            "matrix_c_dest_data_per_write": max(c.vector),
            "pipeline": "warpgroup",
            "stages": t.stages,
            "consumers": t.consumers,
            "cluster": [1, 1],
            "pingpong": t.pingpong or None,
            "group": 1,
            "halo": t.images * t.loaded * t.width,
            "stationary": "b",
            "diagonal": t.diagonal if t.diagonal > 1 else None,
            "workgroups": self.workgroups,
        }
