"""Tunings of windows on NVIDIA Hopper whose pixels come into shared memory once, with their halo.

Pixels of a raster (`view.conv.raster`) are the rows of the product, all taps and channels of the window one
step of K; of backward weight they are what is summed over.  All else is as in a tuning of warpgroups:
`stages`, `consumers` and `pingpong`.

HaloTuning    A tile is rows x width pixels of an image.  A stage of the ring holds those that any of the taps
              wants, `loaded` lines of an image; the filter stays in shared memory as long as a workgroup's
              tiles share it.
LinesTuning   A tile is `lines` lines of `images` images, which lie between one another, on a raster of
              `width` columns; consumers have as many lines each, parts of tiles (`view.work.line_stream`).
              A stage holds one line of each of these images, once for all lines of the result that it has a
              part in: an instruction's columns are the filters, or a block of them, at each of the window's
              rows.  Each consumer has a ring of its own; the filter stays as long as the workgroup lives.
HaloWeightTuning
              Backward weight.  A step of K is rows x width pixels of an image (`view.conv.weight_raster`): a
              stage has what the output has there, for 64 filters, and of a block of channels of the input
              `loaded` lines.  A tile has all taps; consumers share them.  Steps are dealt out to `shares`,
              which are products of their own, added up by another launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias, TypeVar

from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.context import GemmContext, round_up
from imbrex.config.warpgroup.consumers import SUM_BYTES, ConsumersPlan, OfBoxes, OfConsumers, OfRows
from imbrex.config.warpgroup.plan import major_of
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.line_filter import LineFilter
from imbrex.view.stage.piece import piece_bytes
from imbrex.view.stage.shared_layout import SharedLayout
from imbrex.view.stage.shared_tile import ATOM_ROWS, Major
from imbrex.view.work.line_stream import LineStreams

__all__ = [
    "MOST_SPAN", "HaloPlan", "HaloTuning", "HaloWeightPlan", "HaloWeightTuning", "ImagePlan", "ImageTuning",
    "LinesPlan", "LinesTuning", "WindowTuning",
]  # fmt: skip

LEAST_LINES: Final = 2
"""Fewest lines of a stream: with fewer, what it reads before them is as much again."""
MOST_SPAN: Final = 16
"""Columns that a window of backward weight reaches to the right of a pixel: so many more are read behind what
is loaded."""


class OfImages(OfConsumers):
    """A tuning of windows whose result is an image: rows of its product are pixels, columns are filters."""

    @property
    def swapped(self) -> bool:
        """Rows are gemmN: pixels."""
        return True


@dataclass(frozen=True)
class HaloTuning(OfBoxes, OfImages, OfRows):
    """taps, channels: of a window.  n_per_block: filters that are computed at a time.  diagonal: blocks of
    channels and filters that alone are multiplied, the others being zeros between groups; 1 for all.
    """

    kind: ClassVar[str] = "halo"
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
        return self.pixels

    @property
    def k_per_block(self) -> int:
        return self.taps * self.channels

    @property
    def instruction_columns(self) -> int:
        """Columns of one instruction: the filters of a block."""
        return self.n_per_block // self.diagonal

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> HaloPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return HaloPlan(self, context, machine or WARPGROUPS)


@dataclass(frozen=True)
class LinesTuning(OfImages):
    """images, lines, width: pixels of a tile.  window_rows, window_columns, channels: of a window.

    n_per_block: filters that are computed at a time.  diagonal: as in a `halo` tuning.  stages: of each
    consumer.  pingpong: consumers multiply in turn, a line each.
    """

    kind: ClassVar[str] = "lines"
    images: int
    lines: int
    width: int
    window_rows: int
    window_columns: int
    channels: int
    n_per_block: int
    diagonal: int
    stages: int
    consumers: int
    pingpong: bool

    @property
    def line(self) -> int:
        """Pixels of a stage."""
        return self.images * self.width

    @property
    def taps(self) -> int:
        return self.window_rows * self.window_columns

    @property
    def m_per_block(self) -> int:
        """Pixels of a tile."""
        return self.lines * self.line

    @property
    def k_per_block(self) -> int:
        return self.taps * self.channels

    @property
    def held(self) -> tuple[int, int]:
        """Rows and columns whose sums one consumer holds: a line of the result for each row of a window."""
        return self.line * self.window_rows, self.n_per_block

    @property
    def instruction_columns(self) -> int:
        """Columns of one instruction: the filters of a block at each of the window's rows."""
        return self.window_rows * (self.n_per_block // self.diagonal)

    def filter(self, element_bytes: int, major: Major) -> LineFilter:
        """The filter's part in shared memory."""
        shape = self.window_rows, self.window_columns, self.channels, self.n_per_block
        return LineFilter(*shape, self.diagonal, element_bytes, major)

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> LinesPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return LinesPlan(self, context, machine or WARPGROUPS)


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
    def swapped(self) -> bool:
        return False

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

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> HaloWeightPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return HaloWeightPlan(self, context, machine or WARPGROUPS)


ImageTuning: TypeAlias = HaloTuning | LinesTuning
"""Tunings of windows whose result is an image."""
WindowTuning: TypeAlias = ImageTuning | HaloWeightTuning
"""Tunings of windows whose pixels come into shared memory once."""
T = TypeVar("T", bound=ImageTuning)


@dataclass(frozen=True)
class ImagePlan(ConsumersPlan[T]):
    """What follows from a tuning of windows whose result is an image, and a GEMM."""

    @property
    def filters(self) -> int:
        """Tiles of the filter: units that follow one another have them in turn."""
        return self.context.g * self.tiles[1]

    @property
    def filters_lie_together(self) -> bool:
        """Do neighbouring filters lie together in memory, and not their channels?"""
        along_k, along_m = self.context.a.vector
        return along_m > along_k

    @property
    def filter_major(self) -> Major:
        return major_of(self.filters_lie_together, self.context.dtype.bytes)

    @property
    def piece_bytes(self) -> int:
        """Bytes of a piece of the result on its way to memory."""
        return piece_bytes(self.tuning.n_per_block, self.context.dtype.output.bytes)

    @property
    def block(self) -> WarpgroupBlock:
        """What the IR says of a workgroup."""
        return WarpgroupBlock(self.tuning, 0, int(self.filters_lie_together), self.workgroups)


@dataclass(frozen=True)
class HaloPlan(ImagePlan[HaloTuning]):
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

    @property
    def layout(self) -> SharedLayout:
        """Shared memory, in which a part of the filter stays while tiles want it.  A stage has room for an
        atom of pixels more than a box brings, which garbage is read from.
        """
        t, size = self.tuning, self.context.dtype.bytes
        a, b = (t.loaded_pixels + ATOM_ROWS) * t.channels * size, t.k_per_block * t.n_per_block * size
        return SharedLayout(a, b, t.stages, t.consumers, self.piece_bytes, "tile", takes_turns=t.pingpong)


@dataclass(frozen=True)
class LinesPlan(ImagePlan[LinesTuning]):
    """Everything that follows from a LinesTuning and a GEMM."""

    @property
    def workgroups(self) -> int:
        """As many as run at a time, or a few less, so that each keeps its part of the filter."""
        t, lines = self.tuning, self.tiles[0] * self.tuning.lines
        most = min(
            -(-lines // (LEAST_LINES * t.consumers)), self.machine.compute_units // max(1, self.filters)
        )
        return max(1, most) * self.filters

    @property
    def streams(self) -> LineStreams:
        """The lines of each consumer."""
        t = self.tuning
        return LineStreams(self.tiles[0], t.lines, self.filters, self.workgroups, t.consumers)

    @property
    def layout(self) -> SharedLayout:
        """Shared memory: a ring for each consumer, and the filter, which stays."""
        t, size = self.tuning, self.context.dtype.bytes
        pixels = t.line + round_up(t.window_columns - 1, ATOM_ROWS)
        a, b = pixels * t.channels * size, t.filter(size, self.filter_major).bytes
        own = {"has_own_ring": True, "takes_turns": t.pingpong}
        return SharedLayout(a, b, t.stages, t.consumers, self.piece_bytes, "kernel", **own)


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
