"""The parts of a pipelined product: who computes what (Work, Team), how (Multiply), and into what (Sums).

Each is a closed sum of frozen values, see `lower.warpgroup.pipeline`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from imbrex.index.atom import Param
from imbrex.index.expr import Lin, lin, select
from imbrex.index.map import Map
from imbrex.index.rule import Guard
from imbrex.lower.buffer import Ref
from imbrex.lower.warpgroup.run_time_steps import RunTimeSteps
from imbrex.lower.warpgroup.run_time_tiles import RunTimeTiles
from imbrex.view.conv.phase_box import PhaseBox
from imbrex.view.mma import Instruction
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.line_filter import LineFilter
from imbrex.view.stage.plane_stage import PlaneStage
from imbrex.view.work.line_stream import LineStreams
from imbrex.view.work.streamk import Plan

__all__ = [
    "Blocks", "ClusterK", "Dealt", "Dense", "LineWork", "Multiply", "OneTile", "Phases", "PingPong", "Plain",
    "Planned", "Slots", "SplitColumns", "SplitRows", "SplitSteps", "Streams", "Sums", "Team",
    "Tiles", "WarpPlanes", "WarpRaster", "WindowRows", "Work", "Workspace",
]  # fmt: skip


@dataclass(frozen=True)
class Tiles:
    """The tiles of C, in units: each the tiles of one cluster.

    rows, columns: of a tile; columns counts those of all phases.  row_tiles, column_tiles: of the whole
    matrix, whole clusters; tiles past the edge do not exist.  steps: of K, for one tile.  cluster: workgroups
    along rows and columns that share B and A.  order: unit -> (row block, column block) of one batch, a block
    being the tiles of a cluster.  is_batch_first: units that follow one another are of different batches;
    else a unit's batch is its number over the blocks of one batch.  workgroups: to launch.  run_time: of a
    run-time size, whose most all other numbers are of, what there is.
    """

    rows: int
    columns: int
    row_tiles: int
    column_tiles: int
    batches: int
    steps: int
    cluster: tuple[int, int]
    order: Map
    is_batch_first: bool
    workgroups: int
    run_time: RunTimeTiles | RunTimeSteps | None = None

    @property
    def count(self) -> Param | None:
        """The run-time size."""
        return None if self.run_time is None else self.run_time.count

    @property
    def open_tiles(self) -> RunTimeTiles | None:
        """Tiles whose number is told when the kernel runs."""
        return self.run_time if isinstance(self.run_time, RunTimeTiles) else None

    @property
    def open_steps(self) -> RunTimeSteps | None:
        """The same of steps."""
        return self.run_time if isinstance(self.run_time, RunTimeSteps) else None

    @property
    def units(self) -> int:
        """Units of all batches."""
        rows, columns = self.cluster
        return self.batches * (self.row_tiles // rows) * (self.column_tiles // columns)

    @property
    def clusters(self) -> int:
        """Clusters to launch."""
        return self.workgroups // prod(self.cluster)

    @property
    def units_there(self) -> Lin:
        """Units that exist."""
        return lin(self.units) if self.open_tiles is None else self.open_tiles.units

    @property
    def blocks_there(self) -> Lin:
        """Units of one batch that exist."""
        open_tiles = self.open_tiles
        return lin(prod(d.size for d in self.order.lower)) if open_tiles is None else open_tiles.blocks

    @property
    def steps_there(self) -> Lin:
        """Steps of K that exist."""
        return lin(self.steps) if self.open_steps is None else self.open_steps.steps

    @property
    def started(self) -> Lin | None:
        """Workgroups to launch of a run-time size."""
        if self.run_time is None:
            return None
        if self.open_tiles is None:
            return lin(self.workgroups)
        clusters, most = self.open_tiles.units * self.open_tiles.parts, self.clusters
        return select(clusters - most, most, clusters) * prod(self.cluster)

    def block_of(self, unit: Lin) -> tuple[Lin, Lin]:
        """(row block, column block) of a unit of one batch."""
        if self.open_tiles is not None:
            return self.open_tiles.block_of(unit)
        row, column = self.order.at([unit]).coords
        return row, column


@dataclass(frozen=True)
class Workspace:
    """The slot of the workgroup `workgroup` in memory: for the rows * columns sums of a tile that another
    one owns, and for its flag.
    """

    partials: Ref
    flags: Ref


@dataclass(frozen=True)
class OneTile:
    """Workgroup i computes tile i."""

    tiles: Tiles


@dataclass(frozen=True)
class Dealt:
    """Cluster c computes the whole units c, c + clusters, ..

    turns: batches that follow one another and have other numbers of steps, which clusters have in turn.
    """

    tiles: Tiles
    turns: int = 1


@dataclass(frozen=True)
class Planned:
    """Clusters compute the segments of a plan.  workspace: None where no segment ends inside of a unit."""

    tiles: Tiles
    plan: Plan
    workspace: Workspace | None

    @property
    def sharers(self) -> int:
        """Clusters that share each tile and have no other, so that they may wait for each other; 1 where
        tiles are whole, or shared in another way.
        """
        return self.plan.others + 1


@dataclass(frozen=True)
class ClusterK:
    """The workgroups of a cluster share K of one tile: each stores as many of its columns as any other."""

    tiles: Tiles
    plan: Plan


@dataclass(frozen=True)
class LineWork:
    """Consumers have streams of the lines of tiles.  Their steps are lines of pixels, `line` rows each, that
    windows of `window_rows` want; a line that does not exist is zeros, and left out.
    """

    tiles: Tiles
    line: int
    window_rows: int
    exists: tuple[Guard, ...]
    streams: LineStreams

    @property
    def most_turns(self) -> int:
        """Lines that a stream reads, at the most."""
        return self.streams.most_lines + (self.window_rows - 1) * self.streams.most_parts


Work: TypeAlias = OneTile | Dealt | Planned | ClusterK | LineWork


@dataclass(frozen=True)
class SplitRows:
    """Consumers share the rows of a tile."""

    consumers: int


@dataclass(frozen=True)
class PingPong:
    """Two consumers have a tile each, and multiply in turn: one stores while the other multiplies."""

    consumers: int = 2


@dataclass(frozen=True)
class SplitColumns:
    """Consumers share the columns of a tile: each has all of its rows, and as many taps of a window."""

    consumers: int


@dataclass(frozen=True)
class SplitSteps:
    """Consumers have stages in turn, and all of the tile; their sums are added up at the end."""

    consumers: int


@dataclass(frozen=True)
class Streams:
    """Consumers have tiles and a ring of stages of their own.  in_turn: they multiply one after the other."""

    consumers: int
    in_turn: bool


Team: TypeAlias = SplitRows | PingPong | SplitColumns | SplitSteps | Streams


@dataclass(frozen=True)
class Dense:
    """One instruction multiplies all of a consumer's columns (of one phase) by a part of k.

    depth: of a step.  is_a_held: lanes take A from shared memory, where rows lie together, into registers,
    and the instruction has it from there.
    """

    instruction: Instruction
    depth: int
    is_a_held: bool = False

    @property
    def blocks(self) -> int:
        """Blocks of a diagonal: one."""
        return 1


@dataclass(frozen=True)
class Blocks:
    """The columns and the channels of a tap in so many blocks each, of which only pairs of the same number
    are multiplied.  channels: of a tap, neighbours along k.
    """

    instruction: Instruction
    depth: int
    blocks: int
    channels: int


@dataclass(frozen=True)
class WindowRows:
    """A line of pixels is multiplied by all rows of a window at a time, which are the columns of an
    instruction for each block of the filter.
    """

    instruction: Instruction
    line: HaloTile
    filter: LineFilter

    @property
    def blocks(self) -> int:
        """Blocks of the filter."""
        return self.filter.diagonal

    @property
    def depth(self) -> int:
        """Elements of k of a step."""
        return self.line.k


@dataclass(frozen=True)
class WarpRaster:
    """Each warp multiplies a block of the diagonal at all taps, with instructions of its own whose operands
    it turns on the way out of a raster.
    """

    tile: HaloTile
    depth: int
    blocks: int


@dataclass(frozen=True)
class WarpPlanes:
    """Each warp multiplies a block of the diagonal at all taps, out of lines of planes."""

    stage: PlaneStage
    blocks: int

    @property
    def depth(self) -> int:
        """Pixels of a step."""
        return self.stage.depth


Multiply: TypeAlias = Dense | Blocks | WindowRows | WarpRaster | WarpPlanes
"""All have `depth`, the elements of k of a step, and `blocks`, into which columns and channels are cut."""


@dataclass(frozen=True)
class Plain:
    """Sums of a tile's columns.  layout: the instruction whose C lies as a lane's sums do.  registers: 32-bit
    ones of a lane that hold sums.
    """

    layout: Instruction
    registers: int


@dataclass(frozen=True)
class Phases:
    """Sums of the phases of a box: columns of C for each column of B.

    of: which phase each of the equal parts of the steps is summed into; others are zero.  part_steps: of
    every part, batch after batch, in turns, has so many; empty where all have all.
    """

    layout: Instruction
    registers: int
    box: PhaseBox
    of: tuple[int, ...]
    part_steps: tuple[int, ...]

    @property
    def summed(self) -> tuple[int, ...]:
        """Phases that have sums."""
        return tuple(sorted(set(self.of)))


@dataclass(frozen=True)
class Slots:
    """Sums of as many lines of the result as a window has rows: step s adds to line s and to those before."""

    layout: Instruction
    registers: int
    rows: int


Sums: TypeAlias = Plain | Phases | Slots
