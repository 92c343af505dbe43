"""Statements: what a kernel does, with every address an index expression of the algebra.

The set is closed.  A target prints it; nothing is optimised after this level.  A statement runs for one
work item of one workgroup, unless its docstring says that the whole workgroup runs it together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from imbrex.index.expr import Lin
from imbrex.lower.packed import (
    InPlace,
    Meet,
    Pack,
    PanelGemm,
    Places,
    Product,
    RunsInPlace,
    Unpack,
    Window,
)
from imbrex.lower.place import Buffer, Let, Ref, Space, StoreMethod

__all__ = [
    "Alloc", "Barrier", "Buffer", "Comment", "Fill", "For", "InPlace", "Kernel", "Let", "Meet", "Move",
    "MulAdd", "Pack", "PanelGemm", "Places", "Product", "Program", "Ref", "RunsInPlace", "Space", "Stmt",
    "StoreMethod", "Unpack", "View", "Window", "ZeroFill", "has_barrier", "indices", "walk",
]  # fmt: skip


@dataclass(frozen=True)
class Comment:
    """A line for the reader: mostly the map that the next statements implement."""

    text: str


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
