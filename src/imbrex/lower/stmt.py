"""Statements: what a kernel does, with every address an index expression of the algebra.

The set is closed.  A target prints it; nothing is optimised after this level.  A statement runs for one
work item of one workgroup, unless its docstring says that the whole workgroup runs it together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
class Window:
    """A two-dimensional piece of a global buffer, its rows and lanes placed by `Places`.

    Element (row, lane) lies at rows.offset + lanes.offset and exists where, for each guard, 0 <=
    rows.guard + lanes.guard < size.  lanes: the direction in which vectors run; `panel` of them belong
    together, a whole vector where panel is None.
    """

    name: str
    buffer: Buffer
    computed: DType
    rows: int
    lanes: int
    sizes: tuple[int, ...]
    panel: int | None = None


@dataclass(frozen=True)
class Places:
    """Offsets and guards of a window along one axis, for var = 0 .. count - 1; what lies beyond does not
    exist.
    """

    window: Window
    axis: Literal["rows", "lanes"]
    var: str
    count: Lin
    offset: Lin
    guards: tuple[Lin, ...]
    lets: tuple[Let, ...] = ()


@dataclass(frozen=True)
class Meet:
    """The masks of a window, once both axes are placed."""

    window: Window


@dataclass(frozen=True)
class Pack:
    """Panel number `panel` of a window, converted to the computed type.

    along_lanes: dest[row][lane]; blocked: dest[lane / W][row][lane % W]; transposed: dest[lane][row].
    width: rows or lanes of a panel.  stays: its loop packs a panel, then multiplies it.  Runs only where
    the guards hold: a panel wholly beyond the edge is skipped.
    """

    window: Window
    dest: Ref
    panel: Lin
    width: int
    form: Literal["along_lanes", "blocked", "transposed"]
    guards: tuple[Guard, ...] = ()
    stays: bool = False


@dataclass(frozen=True)
class PanelGemm:
    """c[m][n] = (first ? 0 : c[m][n]) + sum over k < `k` of a[k][m] * b[k][n], held in vector registers.

    Runs only where the guards hold: they skip panels that lie wholly beyond the edge of the matrix.
    """

    c: Ref
    a: Ref
    b: Ref
    k: Lin
    m: int
    n: int
    c_step: int
    first: Guard | None
    a_is_blocked: bool
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True)
class Unpack:
    """A row-major tile to a window: dest = alpha * tile + beta * dest, or added atomically.

    transposed: the window's rows are the tile's columns.
    """

    window: Window
    tile: Ref
    tile_step: int
    is_transposed: bool
    method: StoreMethod = "set"
    alpha: float = 1.0
    beta: float = 0.0


@dataclass(frozen=True)
class InPlace:
    """A matrix that is read where it lies: element (m, k) at base + m * pitch + k."""

    base: Ref
    pitch: int


@dataclass(frozen=True)
class RunsInPlace:
    """A window of which every `run` neighbouring k lie together and exist together: read there, run by
    run.
    """

    window: Window
    run: int


@dataclass(frozen=True)
class Product:
    """A workgroup's whole tile, all of K in one pass: c[m][n] = alpha * sum over k of a[m][k] * b[k][n] +
    beta * c.

    The device does what `Pack`, `PanelGemm` and `Unpack` say, and leaves out the copies that would change
    nothing. a: rows m, lanes k.  b: rows k and lanes n, or, transposed, rows n and lanes k.  c: rows m
    and lanes n, or the other way round.  b_stride: 1, or 2 where every second element of memory is a
    lane.  m_sizes, n_sizes: the extents that m_count and n_count take.
    """

    a: Window | InPlace | RunsInPlace
    b: Window
    c: Window
    m_count: Lin
    n_count: Lin
    m_sizes: tuple[int, ...]
    n_sizes: tuple[int, ...]
    k: int
    rows: int
    lanes: int
    b_is_transposed: bool
    c_is_transposed: bool
    b_in_place: bool
    b_stride: int
    stationary: Literal["a", "b"]
    alpha: float = 1.0
    beta: float = 0.0


Stmt: TypeAlias = (
    Comment
    | Let
    | Alloc
    | View
    | For
    | Fill
    | Move
    | MulAdd
    | Barrier
    | Places
    | Meet
    | Pack
    | PanelGemm
    | Unpack
    | Product
)


@dataclass(frozen=True)
class Kernel:
    """One launch: `grid_size` workgroups of `block_size` work items run `body`.

    `workgroup` and `workitem` are the variables that number them; `maps` are the views of the arguments
    that the body addresses, as text.
    """

    name: str
    arguments: tuple[Buffer, ...]
    outputs: frozenset[str]
    grid_size: int
    block_size: int
    body: tuple[Stmt, ...]
    maps: tuple[tuple[str, str], ...] = ()
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
    outputs: frozenset[str]

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
        case MulAdd():
            return (*_of(stmt.c), *_of(stmt.a), *_of(stmt.b))
        case PanelGemm():
            first = (stmt.first.index,) if stmt.first is not None else ()
            refs = (*_of(stmt.c), *_of(stmt.a), *_of(stmt.b))
            return (*refs, stmt.k, *first, *(g.index for g in stmt.guards))
        case Pack():
            return (*_of(stmt.dest), stmt.panel, *(g.index for g in stmt.guards))
        case Places():
            return (stmt.count, stmt.offset, *stmt.guards)
        case Unpack():
            return _of(stmt.tile)
        case Product():
            base = _of(stmt.a.base) if isinstance(stmt.a, InPlace) else ()
            return (*base, stmt.m_count, stmt.n_count)
        case Comment() | Alloc() | View() | For() | Fill() | Barrier() | Meet():
            return ()
        case _:
            assert_never(stmt)


def _of(ref: Ref) -> tuple[Lin, ...]:
    return (ref.offset, *(g.index for g in ref.guards))
