"""Statements: what a kernel does, with every address an index expression of the algebra.

The set is closed.  A target prints it; nothing is optimised after this level.  A statement runs for one
work item of one workgroup, unless its docstring says that the whole workgroup runs it together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, assert_never

from imbrex.dtype import DType
from imbrex.index.expr import Lin
from imbrex.index.rule import Guard

Space: TypeAlias = Literal["global", "lds", "private"]
StoreMethod: TypeAlias = Literal["set", "atomic_add"]


@dataclass(frozen=True)
class Buffer:
    """A run of elements.  LDS and private buffers come into being with `Alloc` or `View`."""

    name: str
    dtype: DType
    elements: int
    space: Space


@dataclass(frozen=True)
class Ref:
    """An element, or the first of `width` neighbours; reads 0 and drops writes where a guard fails."""

    buffer: Buffer
    offset: Lin
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True)
class Comment:
    """A line for the reader: mostly the map that the next statements implement."""

    text: str


@dataclass(frozen=True)
class Let:
    """A name for an index that several statements below share."""

    name: str
    index: Lin


@dataclass(frozen=True)
class Alloc:
    """Memory of a workgroup (lds) or of a work item (private), not initialised."""

    buffer: Buffer


@dataclass(frozen=True)
class View:
    """`buffer` is the part of `base` from a byte offset on, read as its own type."""

    buffer: Buffer
    base: Buffer
    byte_offset: int


@dataclass(frozen=True)
class For:
    """`body` for var = 0 .. count - 1, in order."""

    var: str
    count: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Fill:
    """Every element of a private or LDS buffer."""

    buffer: Buffer
    value: float


@dataclass(frozen=True)
class Move:
    """dest = source for `width` neighbours, converting the type.

    With alpha or beta: dest = alpha * source + beta * dest.  Adds atomically where the method says so.
    """

    dest: Ref
    source: Ref
    width: int = 1
    method: StoreMethod = "set"
    alpha: float = 1.0
    beta: float = 0.0


@dataclass(frozen=True)
class MulAdd:
    """c += a * b, in c's type."""

    c: Ref
    a: Ref
    b: Ref


@dataclass(frozen=True)
class Barrier:
    """All work items of the workgroup have finished their LDS accesses before any goes on."""


@dataclass(frozen=True)
class Separable:
    """A reference whose offset and guards are a part of `row` plus a part of `lane`.

    buffer[row_offset + lane_offset], guarded by 0 <= row_guards[i] + lane_guards[i] < sizes[i].
    """

    buffer: Buffer
    row: str
    lane: str
    row_offset: Lin
    lane_offset: Lin
    row_guards: tuple[Lin, ...] = ()
    lane_guards: tuple[Lin, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pack:
    """dest panel = source, for all (row, lane): a CPU core's copy into its panels.

    layout: "k_major" is [row][lane]; "k_blocked" is [row / inner][lane][inner].
    """

    dest: Ref
    source: Separable
    rows: int
    lanes: int
    layout: Literal["k_major", "k_blocked"]


@dataclass(frozen=True)
class PanelGemm:
    """c[m][n] += sum over k of a[k][m] * b[k][n] over packed panels, held in vector registers."""

    c: Ref
    a: Ref
    b: Ref
    k: int
    m: int
    n: int
    a_layout: Literal["k_major", "k_blocked"]


@dataclass(frozen=True)
class Unpack:
    """dest (row, lane) = alpha * source[row][lane] + beta * dest, for a register tile kept row-major."""

    dest: Separable
    source: Ref
    rows: int
    lanes: int
    method: StoreMethod = "set"
    alpha: float = 1.0
    beta: float = 0.0


Stmt: TypeAlias = (
    Comment | Let | Alloc | View | For | Fill | Move | MulAdd | Barrier | Pack | PanelGemm | Unpack
)


@dataclass(frozen=True)
class Kernel:
    """One launch: `grid_size` workgroups of `block_size` work items run `body`.

    `workgroup` and `workitem` are the variables that number them.
    """

    name: str
    arguments: tuple[Buffer, ...]
    outputs: frozenset[str]
    grid_size: int
    block_size: int
    body: tuple[Stmt, ...]
    workgroup: str = "workgroup"
    workitem: str = "workitem"


@dataclass(frozen=True)
class ZeroFill:
    """A launch that sets every element of an argument to zero."""

    buffer: Buffer


@dataclass(frozen=True)
class Program:
    """Launches in order; each sees what the ones before it wrote."""

    name: str
    arguments: tuple[Buffer, ...]
    launches: tuple[Kernel | ZeroFill, ...]
    outputs: frozenset[str] = field(default_factory=lambda: frozenset[str]())

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(k for k in self.launches if isinstance(k, Kernel))


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outermost first."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from walk(stmt.body)


def has_barrier(stmt: Stmt) -> bool:
    return isinstance(stmt, Barrier) or (isinstance(stmt, For) and any(has_barrier(s) for s in stmt.body))


def indices(stmt: Stmt) -> tuple[Lin, ...]:
    """Every index that a statement itself evaluates; loops are asked statement by statement."""
    match stmt:
        case Let():
            return (stmt.index,)
        case Move():
            return (*_of(stmt.dest), *_of(stmt.source))
        case MulAdd() | PanelGemm():
            return (*_of(stmt.c), *_of(stmt.a), *_of(stmt.b))
        case Pack() | Unpack():
            return (*_of(stmt.dest), *_of(stmt.source))
        case Comment() | Alloc() | View() | For() | Fill() | Barrier():
            return ()
        case _:
            assert_never(stmt)


def _of(ref: Ref | Separable) -> tuple[Lin, ...]:
    if isinstance(ref, Ref):
        return (ref.offset, *(g.index for g in ref.guards))
    return (ref.row_offset, ref.lane_offset, *ref.row_guards, *ref.lane_guards)


def with_body(loop: For, body: tuple[Stmt, ...]) -> For:
    return replace(loop, body=body)
