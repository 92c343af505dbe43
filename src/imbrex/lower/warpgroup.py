"""The statement of a Hopper workgroup: a whole pipelined product of tiles, fed through shared memory.

Everything in it is derived from the operands' maps.  Indices are over `batch`, `tile` (number of the
operand's tile along its rows or columns), `step` (of the loop over K), and for ordinary loads `k` and `d`,
the place inside of the tile; of C over `batch`, `row` and `column` of the whole matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from imbrex.index.expr import Lin
from imbrex.index.map import Map
from imbrex.index.rule import Guard
from imbrex.lower.place import Buffer, Ref, StoreMethod
from imbrex.problem.epilogue import Expression
from imbrex.view.conv.phase_box import ONE_PHASE, PhaseBox
from imbrex.view.mma import Instruction
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.line_filter import LineFilter
from imbrex.view.stage.plane_stage import PlaneStage
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.stage.tap_tile import TapTile
from imbrex.view.tensor import Box, Walk
from imbrex.view.work.line_stream import LineStreams
from imbrex.view.work.streamk import Plan

__all__ = ["Access", "Drain", "Feed", "Finish", "Lanes", "LineWalk", "WarpgroupGemm", "piece_columns"]

PIECE_VECTORS: Final = (8, 4, 2, 1)
VECTOR_BYTES: Final = 16


@dataclass(frozen=True)
class Lanes:
    """Ordinary loads of a producer: element (k, d) of the tile lies at `offset`, where the guards hold.

    width: neighbours along `along` that one load takes.  reason: why no tensor map serves.
    """

    offset: Lin
    guards: tuple[Guard, ...]
    width: int
    along: Literal["k", "d"]
    reason: str = ""


Access: TypeAlias = Box | Walk | Lanes


@dataclass(frozen=True)
class Feed:
    """How an operand's tile comes into shared memory.

    parts: workgroups of a cluster that share the tile; each loads its part, for all of them.
    """

    buffer: Buffer
    share: SharedTile | HaloTile | TapTile
    access: Access
    parts: int


@dataclass(frozen=True)
class Finish:
    """What becomes of each sum before it is stored; arrays: by their names in the expression, each as a
    reference to the element that belongs to an element of C.
    """

    expression: Expression
    arrays: tuple[tuple[str, Ref], ...]


@dataclass(frozen=True)
class Drain:
    """Where C goes: element (row, column) at `offset`, where the guards hold.

    contiguous: which neighbours lie together in memory, `width` of them in one access, or, where none do, are
    two elements apart.  access: the TMA store
    of a piece, None where only ordinary stores serve, for a `reason`.  A piece is 64 rows of `piece_columns`;
    where rows lie together, its boxes are up to 64 rows, 128 bytes, of up to 128 bytes' worth of columns.
    """

    buffer: Buffer
    offset: Lin
    guards: tuple[Guard, ...]
    contiguous: Literal["row", "column"] | None
    width: int
    access: Box | None
    reason: str = ""
    finish: Finish | None = None


@dataclass(frozen=True)
class LineWalk:
    """Consumers have streams of the lines of tiles.  Their steps are lines of pixels, `line` rows each, that
    windows want; a line whose number is outside of `exists` is zeros, and left out.  Step s adds to
    `filter.rows` lines of the result, s and those before it.
    """

    line: int
    exists: Guard
    filter: LineFilter
    streams: LineStreams


@dataclass(frozen=True)
class WarpgroupGemm:
    """c[row, column] = alpha * sum over k of a[k, row] * b[k, column] + beta * c, over all of the grid.

    rows, columns, depth: of a workgroup's tile.  cluster: workgroups along rows and columns that share B and
    A. row_tiles, column_tiles: of the whole matrix, whole clusters; tiles past the edge do not exist.  order:
    unit -> (row block, column block) of one batch, a block being the tiles of a cluster; the unit's batch is
    its number over the blocks of one batch.  plan: how clusters share units where they share them, None where
    cluster c computes units c, c + clusters, ..  workgroups: to launch.

    diagonal: blocks of columns, each of which is multiplied by its own channels of a tap only.

    phases: columns of C for each column of B; phase_of: which of them each of the equal parts of the steps is
    summed into; others are zero.  columns counts those of all phases.  part_steps: of every part, batch after
    batch, in turns, has so many; empty where all have all.

    b_stays: a tile of B stays in shared memory until another one is wanted, units of all batches in turn.

    lines: where steps are lines of pixels, in streams, one a consumer; None where they are parts of K.

    planes: where stages are lines of planes, that warps multiply at all taps of a window; else None.

    partials, flags: of the workgroup `workgroup`, its place for the sums of a tile that another one owns, of
    rows * columns, and its flag; None where no tile is shared through memory.
    """

    rows: int
    columns: int
    depth: int
    stages: int
    consumers: int
    pingpong: bool
    cluster: tuple[int, int]
    instruction: Instruction
    a: Feed
    b: Feed
    c: Drain
    batches: int
    row_tiles: int
    column_tiles: int
    steps: int
    order: Map
    plan: Plan | None
    workgroups: int
    alpha: float = 1.0
    beta: float = 0.0
    method: StoreMethod = "set"
    partials: Ref | None = None
    flags: Ref | None = None
    b_stays: bool = False
    diagonal: int = 1
    phases: PhaseBox = ONE_PHASE
    phase_of: tuple[int, ...] = (0,)
    part_steps: tuple[int, ...] = ()
    lines: LineWalk | None = None
    planes: PlaneStage | None = None

    @property
    def parts(self) -> int:
        """Of K: workgroups that share a tile in a cluster.  Each stores as many of its columns."""
        return 1 if self.plan is None else self.plan.parts

    @property
    def is_batch_first(self) -> bool:
        """Are units that follow one another of different batches?"""
        return self.b_stays or bool(self.part_steps)

    @property
    def summed(self) -> tuple[int, ...]:
        """Phases that have sums."""
        return tuple(sorted(set(self.phase_of)))

    @property
    def channels(self) -> int:
        """Neighbours of a step that all blocks of columns share out."""
        return self.a.share.channels if isinstance(self.a.share, HaloTile) else self.depth

    @property
    def stored_columns(self) -> int:
        """Neighbouring columns of a tile that one workgroup, or a consumer that shares columns, stores."""
        return self.own_columns // self.parts

    @property
    def own_columns(self) -> int:
        """Of a consumer: of the tile, but where consumers share a window's taps; by warps, of one tap."""
        if self.planes is not None:
            return self.planes.channels
        if not isinstance(self.b.share, TapTile):
            return self.columns
        return self.b.share.windows.channels if self.by_warps else self.columns // self.consumers

    @property
    def by_warps(self) -> bool:
        """Do warps multiply, each a block of the diagonal, at all taps of a window?"""
        return self.has_taps and self.diagonal > 1

    @property
    def has_taps(self) -> bool:
        """Are columns the taps of a window, which are read from pixels that come once?"""
        return isinstance(self.b.share, TapTile) or self.planes is not None

    @property
    def units(self) -> int:
        """Of all batches."""
        rows, columns = self.cluster
        return self.batches * (self.row_tiles // rows) * (self.column_tiles // columns)


def piece_columns(columns: int, element_bytes: int) -> int:
    """Columns of a piece, neighbours in memory: the most of 128, 64, 32, 16 bytes that a tile has room for.

    Of a tile that they do not divide the last piece ends where the tile ends, over a part of the one before.
    """
    room = columns * element_bytes // VECTOR_BYTES
    return next(v for v in PIECE_VECTORS if v <= room) * VECTOR_BYTES // element_bytes
