"""HaloWeightTuning: backward weight on NVIDIA Hopper, whose pixels come into shared memory once for all taps.

A step of K is images x rows x width pixels of a raster (`view.conv.weight_raster`): a stage of the ring has
what the output has there, for 64 filters, and of a block of channels of the input the pixels that any of the
taps wants, `loaded` lines of an image.  A tile of the result has all taps; consumers share them.  The steps
of all images are dealt out to `shares`, which are products of their own, added up by another launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.context import GemmContext
from imbrex.config.warpgroup.consumers import SUM_BYTES, ConsumersPlan, OfBoxes
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.piece import piece_bytes
from imbrex.view.stage.shared_layout import SharedLayout

__all__ = ["MOST_SPAN", "HaloWeightPlan", "HaloWeightTuning"]

MOST_SPAN: Final = 16
"""Columns that a window reaches to the right of a pixel: so many more are read behind what is loaded."""


@dataclass(frozen=True)
class HaloWeightTuning(OfBoxes):
    """loaded: of the input, as many as rows where warps keep those before them, see `streams`.

    taps, channels: of a tile's columns.  diagonal: blocks of filters and channels that alone are multiplied,
    by warps, each a block at all taps; 1 where all are, by warpgroups.  shares: that the pixels of all images
    are dealt out to.
    """

    kind: ClassVar[str] = "halo_weight"
    taps: int
    channels: int
    diagonal: int
    shares: int
    stages: int
    consumers: int

    @property
    def m_per_block(self) -> int:
        """Filters: the rows of one instruction."""
        return ROWS

    @property
    def n_per_block(self) -> int:
        return self.taps * self.channels

    @property
    def k_per_block(self) -> int:
        """Pixels."""
        return self.pixels

    @property
    def own_columns(self) -> int:
        """Columns of a consumer; by warps, of one tap."""
        return self.channels if self.by_warps else self.n_per_block // self.consumers

    @property
    def held(self) -> tuple[int, int]:
        """Rows and columns whose sums one consumer holds: of warps, those of their blocks."""
        return ROWS, self.n_per_block // self.diagonal if self.by_warps else self.own_columns

    @property
    def by_warps(self) -> bool:
        return self.diagonal > 1

    @property
    def streams(self) -> int:
        """Images at a time, a consumer each, which keeps the lines that windows want of the step before; 0
        where a step has them.
        """
        return self.consumers if self.by_warps and self.loaded == self.rows else 0

    @property
    def turns(self) -> int:
        """Consumers that have stages in turn, each its own, so that it sees every phase of their barriers."""
        return self.consumers if self.by_warps else 1

    @property
    def swapped(self) -> bool:
        return False

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> HaloWeightPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return HaloWeightPlan(self, context, machine or WARPGROUPS)


@dataclass(frozen=True)
class HaloWeightPlan(ConsumersPlan[HaloWeightTuning]):
    """Everything that follows from a HaloWeightTuning and a GEMM."""

    @property
    def workgroups(self) -> int:
        return min(self.units, self.machine.compute_units)

    @property
    def layout(self) -> SharedLayout:
        """Shared memory: of the output, and of the input with what is read behind it."""
        t, size = self.tuning, self.context.dtype.bytes
        a, b = t.k_per_block * ROWS * size, (t.loaded_pixels + MOST_SPAN) * t.channels * size
        piece = 0 if t.by_warps else piece_bytes(t.own_columns, SUM_BYTES)
        return SharedLayout(a, b, t.stages, t.consumers, piece)

    @property
    def in_planes(self) -> bool:
        """Do pixels lie together in memory, and not channels?  Stages then have lines of planes."""
        along_k, along_m = self.context.a.vector
        return along_k > along_m

    @property
    def block(self) -> WarpgroupBlock:
        """What the IR says of a workgroup."""
        return WarpgroupBlock(self.tuning, 0 if self.in_planes else 1, 1, self.workgroups)
