"""A pipelined product: the statement of a Hopper workgroup, all of its kernel, as a closed sum of parts.

    Pipeline    a, b: Stage     how an operand's tile comes into shared memory, and for how long
                work: Work      which tiles a workgroup computes
                team: Team      what each of the warpgroups that consume has of a stage
                multiply        the instruction, and how its operands lie
                sums: Sums      what a lane's registers hold
                c: Drain        where sums go, and what becomes of them on the way

A family of kernels is a choice of parts; `families` has them all.  Whoever asks which part it is matches,
down to `assert_never`.

Everything in a part is derived from the operands' maps.  Indices are over `batch`, `tile` (number of the
operand's tile along its rows or columns), `step` (of the loop over K), and for ordinary loads `k` and `d`,
the position inside of the tile; of C over `batch`, `row` and `column` of the whole matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from imbrex.chip import GpuMachine
from imbrex.index.expr import Lin
from imbrex.index.rule import Guard
from imbrex.lower.buffer import Buffer, Ref, StoreMethod
from imbrex.lower.warpgroup.parts import (
    ClusterK,
    Multiply,
    Phases,
    PingPong,
    Plain,
    Planned,
    Slots,
    SplitColumns,
    SplitRows,
    SplitSteps,
    Streams,
    Sums,
    Team,
    Tiles,
    Work,
    Workspace,
)
from imbrex.problem.epilogue import Expression
from imbrex.view.conv.phase_box import ONE_PHASE
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_layout import Residency
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Box, Walk

__all__ = [
    "Access",
    "Drain",
    "Finish",
    "Kept",
    "Lanes",
    "Pipeline",
    "Residency",
    "Stage",
    "Tile",
]


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
Tile: TypeAlias = SharedTile | HaloTile


@dataclass(frozen=True)
class Stage:
    """How an operand's tile comes into shared memory, and for how long.

    parts: workgroups of a cluster that share the tile; each loads its part, for all of them.
    """

    buffer: Buffer
    tile: Tile
    access: Access
    residency: Residency = "step"
    parts: int = 1


@dataclass(frozen=True)
class Kept:
    """What is stored beside C, piece by piece as C is: the value of an expression, known by `name` from there
    on, in an array of C's type.  ref, width, access: as offset, guards, width and access of `Drain`.
    """

    name: str
    expression: Expression
    ref: Ref
    width: int
    access: Box | None


@dataclass(frozen=True)
class Finish:
    """What becomes of each sum before it is stored; arrays: by their names in the expression, each as a
    reference to the element that belongs to an element of C.
    """

    expression: Expression
    arrays: tuple[tuple[str, Ref], ...]
    kept: Kept | None = None


@dataclass(frozen=True)
class Drain:
    """Where C goes: alpha * sum + beta * c of element (row, column) at `offset`, where the guards hold.

    contiguous: which neighbours lie together in memory, `width` of them in one access, or, where none do, are
    two elements apart.  access: the TMA store
    of a piece, None where only ordinary stores serve, for a `reason`.  A piece is as in `view.stage.piece`;
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
    alpha: float = 1.0
    beta: float = 0.0
    method: StoreMethod = "set"

    @property
    def kept(self) -> Kept | None:
        """What the epilogue stores besides."""
        return None if self.finish is None else self.finish.kept


@dataclass(frozen=True)
class Pipeline:
    """c[row, column] = alpha * sum over k of a[k, row] * b[k, column] + beta * c, over all of the grid.

    stages: of the ring, or of each where consumers have one each.  machine: what the kernel is for.
    """

    a: Stage
    b: Stage
    stages: int
    work: Work
    team: Team
    multiply: Multiply
    sums: Sums
    c: Drain
    machine: GpuMachine

    @property
    def tiles(self) -> Tiles:
        return self.work.tiles

    @property
    def workspace(self) -> Workspace | None:
        """Where sums go from workgroup to workgroup, if they do."""
        return self.work.workspace if isinstance(self.work, Planned) else None

    @property
    def parts(self) -> int:
        """Parts of K: workgroups of a cluster that share a tile.  Each stores as many of its columns."""
        return self.work.plan.parts if isinstance(self.work, ClusterK) else 1

    @property
    def has_lanes(self) -> bool:
        """Does the producer load anything itself?"""
        return any(isinstance(stage.access, Lanes) for stage in (self.a, self.b))

    @property
    def phases(self) -> Phases:
        """Sums as phases: plain ones, and those of a slot, are one."""
        match self.sums:
            case Phases():
                return self.sums
            case Plain(layout, registers) | Slots(layout, registers):
                return Phases(layout, registers, ONE_PHASE, (0,), ())
            case _:
                assert_never(self.sums)

    @property
    def own_columns(self) -> int:
        """Columns of a tile whose sums one consumer has; of warps, the channels of one tap."""
        match self.team:
            case SplitRows() | PingPong() | Streams():
                return self.tiles.columns
            case SplitColumns(consumers):
                return self.tiles.columns // consumers
            case SplitSteps():
                return self.sums.layout.n
            case _:
                assert_never(self.team)

    @property
    def stored_columns(self) -> int:
        """Neighbouring columns of a tile that one workgroup, or a consumer that shares columns, stores."""
        return self.own_columns // self.parts
