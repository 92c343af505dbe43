"""HaloTuning: a tile of windows on NVIDIA Hopper whose pixels come into shared memory once, with their halo.

A tile is images x rows x width pixels of a raster (`view.conv.raster`); they are the rows of the product,
all taps and channels of the window one step of K.  A stage of the ring holds the pixels that any of the taps
wants, `loaded` lines of an image; the filter stays in shared memory as long as a workgroup's tiles share it.
All else is as in a tuning of warpgroups: `stages`, `consumers` and `pingpong`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.context import GemmContext
from imbrex.config.halo.window import WindowPlan
from imbrex.config.warpgroup.consumers import OfConsumers
from imbrex.config.warpgroup.plan import (
    PIECE_BYTES,
    shared_tile,
)
from imbrex.view.mma.hopper import ROWS, WARPGROUP
from imbrex.view.stage.shared_layout import SharedLayout
from imbrex.view.stage.shared_tile import ATOM_ROWS, SharedTile

__all__ = ["HaloPlan", "HaloTuning"]


@dataclass(frozen=True)
class HaloTuning(OfConsumers):
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

    @property
    def m_per_block(self) -> int:
        """Pixels of a tile."""
        return self.images * self.rows * self.width

    @property
    def loaded_pixels(self) -> int:
        """Pixels that a stage has room for."""
        return self.images * self.loaded * self.width

    @property
    def k_per_block(self) -> int:
        return self.taps * self.channels

    @property
    def taps_text(self) -> str:
        return str(self.taps)

    @property
    def swapped(self) -> bool:
        """Rows are gemmN: pixels."""
        return True

    @property
    def consumer_rows(self) -> int:
        """Rows of a tile that one consumer computes, rounded down."""
        return self.m_per_block if self.pingpong else self.m_per_block // self.consumers

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> HaloPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return HaloPlan(self, context, machine or WARPGROUPS)


@dataclass(frozen=True)
class HaloPlan(WindowPlan[HaloTuning]):
    """Everything that follows from a HaloTuning and a GEMM."""

    @property
    def workgroups(self) -> int:
        """As many as run at a time, or a few less, so that each keeps its part of the filter."""
        most = min(self.units, self.machine.compute_units)
        return most // self.filters * self.filters or most

    @property
    def keeps_filter(self) -> bool:
        """Does a workgroup meet one part of the filter only?"""
        return self.workgroups % self.filters == 0

    @cached_property
    def b_tile(self) -> SharedTile:
        """The filter's part."""
        t, size = self.tuning, self.context.dtype.bytes
        return shared_tile(t.k_per_block, t.n_per_block, size, self.filter_major == "d")

    @property
    def raster(self) -> int:
        """Pixels that a stage has room for: an atom more than a box brings, which garbage is read from."""
        return self.tuning.loaded_pixels + ATOM_ROWS

    @property
    def layout(self) -> SharedLayout:
        """Shared memory, in which a part of the filter stays while tiles want it."""
        t, size = self.tuning, self.context.dtype.bytes
        a, b = self.raster * t.channels * size, t.k_per_block * t.n_per_block * size
        piece = min(PIECE_BYTES, ROWS * t.n_per_block * self.context.dtype.output.bytes)
        return SharedLayout(a, b, t.stages, t.consumers, piece, "tile", takes_turns=t.pingpong)

    @property
    def accumulators(self) -> int:
        """32-bit registers of a consumer's thread that hold sums."""
        return self.tuning.consumer_rows * self.tuning.n_per_block // WARPGROUP
