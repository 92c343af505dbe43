"""LinesTuning: windows on NVIDIA Hopper line by line, all rows of a window at a time.

A tile is `lines` lines of `images` images, which lie between one another, on a raster of `width` columns
(`view.conv.raster`); consumers have as many lines each, parts of tiles (`view.work.line_stream`).  A
stage of the ring holds one line of each of these images, whose pixels are rows of an instruction, once for
all lines of the result that it has a part in: an instruction's columns are the filters, or a block of them,
at each of the window's rows.  Each consumer has a ring of its own; the filter stays in shared memory for as
long as the workgroup lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from imbrex.cached import cached_property
from imbrex.chip import WARPGROUPS, GpuMachine
from imbrex.config.context import GemmContext, round_up
from imbrex.config.halo.plan import HaloTuning, OfWindows, WindowPlan
from imbrex.view.stage.line_filter import LineFilter
from imbrex.view.stage.shared_layout import SharedLayout
from imbrex.view.stage.shared_tile import ATOM_ROWS, Major
from imbrex.view.work.line_stream import LineStreams

__all__ = ["LinesPlan", "LinesTuning", "WindowTuning"]

LEAST_LINES: Final = 2
"""Fewest lines of a stream: with fewer, what it reads before them is as much again."""


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
