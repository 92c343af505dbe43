"""Tunings of windows on NVIDIA Hopper whose pixels come into shared memory once, with their halo.

Pixels of a raster (`view.conv.raster`) are the rows of the product, all taps and channels of the window one
step of K.  All else is as in a tuning of warpgroups: `stages`, `consumers` and `pingpong`.

HaloTuning    A tile is images x rows x width pixels.  A stage of the ring holds those that any of the taps
              wants, `loaded` lines of an image; the filter stays in shared memory as long as a workgroup's
              tiles share it.
LinesTuning   A tile is `lines` lines of `images` images, which lie between one another, on a raster of
              `width` columns; consumers have as many lines each, parts of tiles (`view.work.line_stream`).
              A stage holds one line of each of these images, once for all lines of the result that it has a
              part in: an instruction's columns are the filters, or a block of them, at each of the window's
              rows.  Each consumer has a ring of its own; the filter stays as long as the workgroup lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias, TypeVar

from imbrex.cached import cached_property
from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.context import GemmContext, round_up
from imbrex.config.warpgroup.consumers import ConsumersPlan, OfBoxes, OfConsumers, OfRows
from imbrex.config.warpgroup.plan import major_of, shared_tile
from imbrex.view.stage.line_filter import LineFilter
from imbrex.view.stage.piece import piece_bytes
from imbrex.view.stage.shared_layout import SharedLayout
from imbrex.view.stage.shared_tile import ATOM_ROWS, Major, SharedTile
from imbrex.view.work.line_stream import LineStreams

__all__ = ["HaloPlan", "HaloTuning", "LinesPlan", "LinesTuning", "WindowPlan", "WindowTuning"]

LEAST_LINES: Final = 2
"""Fewest lines of a stream: with fewer, what it reads before them is as much again."""


class OfWindows(OfConsumers):
    """A tuning of windows of any form: rows of its product are pixels, columns are filters, all of a window
    is one step of K, and filters stay in shared memory.
    """

    @property
    def swapped(self) -> bool:
        """Rows are gemmN: pixels."""
        return True


T = TypeVar("T", bound="HaloTuning | LinesTuning")


@dataclass(frozen=True)
class WindowPlan(ConsumersPlan[T]):
    """What follows from a tuning of windows of any form and a GEMM."""

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
class HaloTuning(OfBoxes, OfWindows, OfRows):
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
    def taps_text(self) -> str:
        return str(self.taps)

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
        return SharedLayout(a, b, t.stages, t.consumers, self.piece_bytes, "tile", takes_turns=t.pingpong)


@dataclass(frozen=True)
class LinesTuning(OfWindows):
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
    def m_per_block(self) -> int:
        """Pixels of a tile."""
        return self.lines * self.line

    @property
    def k_per_block(self) -> int:
        return self.window_rows * self.window_columns * self.channels

    @property
    def held(self) -> tuple[int, int]:
        """Rows and columns whose sums one consumer holds: a line of the result for each row of a window."""
        return self.line * self.window_rows, self.n_per_block

    @property
    def taps_text(self) -> str:
        return f"{self.window_rows} x {self.window_columns}"

    def filter(self, element_bytes: int, major: Major) -> LineFilter:
        """The filter's part in shared memory."""
        shape = self.window_rows, self.window_columns, self.channels, self.n_per_block
        return LineFilter(*shape, self.diagonal, element_bytes, major)

    def plan(self, context: GemmContext, machine: GpuMachine | None = None) -> LinesPlan:
        """This tuning applied to that GEMM, on sm_90a unless told otherwise."""
        return LinesPlan(self, context, machine or WARPGROUPS)


@dataclass(frozen=True)
class LinesPlan(WindowPlan[LinesTuning]):
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
        rows, _ = self.tiles
        t = self.tuning
        return LineStreams(rows, t.lines, self.filters, self.workgroups, t.consumers)

    @cached_property
    def filter(self) -> LineFilter:
        return self.tuning.filter(self.context.dtype.bytes, self.filter_major)

    @property
    def layout(self) -> SharedLayout:
        """Shared memory: a ring for each consumer, and the filter, which stays."""
        t, size = self.tuning, self.context.dtype.bytes
        pixels = t.line + round_up(t.window_columns - 1, ATOM_ROWS)
        a, b = pixels * t.channels * size, self.filter.bytes
        own = {"has_own_ring": True, "takes_turns": t.pingpong}
        return SharedLayout(a, b, t.stages, t.consumers, self.piece_bytes, "kernel", **own)


WindowTuning: TypeAlias = HaloTuning | LinesTuning
"""Tuning of windows whose pixels come into shared memory once."""
