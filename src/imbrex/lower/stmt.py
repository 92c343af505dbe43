"""Statements: what a kernel does, with every address an index expression of the algebra.

The set is closed.  A target prints it; nothing is optimised after this level.  A statement runs for one
work item of one workgroup, unless its docstring says that the whole workgroup runs it together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from imbrex.cached import cached_property
from imbrex.chip import WAVES
from imbrex.dtype import DType
from imbrex.index.atom import Param
from imbrex.index.expr import Lin
from imbrex.index.rule import Guard
from imbrex.lower.buffer import Bit, Buffer, Let, Ref, Space, StoreMethod
from imbrex.lower.cpu.operands import InPlace, RunsInPlace, Window
from imbrex.lower.cpu.packed import (
    AxisOffsets,
    Exchange,
    FilterSums,
    Meet,
    Pack,
    PanelGemm,
    Product,
    Unpack,
    Windows,
)
from imbrex.lower.matrix import MatrixMultiply
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.problem.epilogue import Expression

__all__ = [
    "Alloc", "Await", "AxisOffsets", "Barrier", "Bit", "Buffer", "Comment", "Evaluate", "Exchange", "Fill",
    "FilterSums", "For", "InPlace", "Join", "Kernel", "Let", "Mark", "MatrixMultiply", "Meet", "Move",
    "MulAdd", "Pack", "PanelGemm", "Pipeline", "Product", "Program", "Ref", "RunsInPlace", "Signal", "Space",
    "Stmt", "StoreMethod", "Unpack", "View", "Window", "Windows", "ZeroFill", "has_flags", "indices",
    "is_collective", "meets", "walk",
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
    """`body` for var = 0 .. count - 1, in order.

    Where `end` is given, only for var = start, start + stride, .. below end, which are some of these values.
    rolled: it stays a loop, where others of a GPU's work item are written out.
    """

    var: str
    count: int
    body: tuple[Stmt, ...]
    start: Lin | None = None
    end: Lin | None = None
    stride: int = 1
    rolled: bool = False

    @property
    def is_condition(self) -> bool:
        """Does it run its body once, or not at all?"""
        return self.end is not None and self.start is None and self.count == 1


@dataclass(frozen=True)
class Fill:
    """Every element of a private or LDS buffer."""

    buffer: Buffer
    value: float


@dataclass(frozen=True)
class Move:
    """dest = source for `width` neighbours, converting the type.

    With alpha or beta: dest = alpha * source + beta * dest.  Adds atomically where the method says so.

    direct: from global memory to LDS past the registers, by the lanes of a wave together: lane l of a wave
    writes its `width` elements, zeros where the source does not exist, `l * width` elements past the place
    of lane 0.  They are there after the next Barrier that does not leave them in flight, not before.

    turned: from LDS to registers, by 16 lanes together, which transpose what they read: a matrix of `width`
    rows of 16, of which each reads `width` neighbours, row by row; lane l gets column l.
    """

    dest: Ref
    source: Ref
    width: int = 1
    method: StoreMethod = "set"
    alpha: float = 1.0
    beta: float = 0.0
    direct: bool = False
    turned: bool = False


@dataclass(frozen=True)
class Evaluate:
    """dest[i] = expression of every value[i * step], for `width` neighbours, by the names in the expression.

    Computed in f64 where the dest holds f64, else in f32.  Values of global memory are 0 where they do not
    exist; the dest is private.  stored: the type of the result in memory; integers are rounded to it here.
    """

    dest: Ref
    expression: Expression
    values: tuple[tuple[str, Ref, int], ...]
    stored: DType
    width: int = 1


@dataclass(frozen=True)
class Mark:
    """Sets bit `place` of a private word where a guard fails."""

    mask: Ref
    bit: Lin
    guards: tuple[Guard, ...]


@dataclass(frozen=True)
class MulAdd:
    """c += a * b, in c's type."""

    c: Ref
    a: Ref
    b: Ref


@dataclass(frozen=True)
class Barrier:
    """All work items of the workgroup have finished their LDS accesses, direct moves too, before any goes
    on.

    in_flight: direct moves of a work item, the last that it began, that may still be under way.
    """

    in_flight: int = 0


@dataclass(frozen=True)
class Signal:
    """The flag becomes 1, after all that the work items of the workgroup wrote before: they meet here."""

    flag: Ref


@dataclass(frozen=True)
class Await:
    """Work items meet, wait until the flag is 1, and see what was written before that; it becomes 0.  count:
    of neighbouring flags from that one on, which may be none and less; None for that one alone.
    """

    flag: Ref
    count: Lin | None = None


@dataclass(frozen=True)
class Join:
    """Goes on where `count` workgroups of the launch before have ended; where both launches are one, these
    meet, and see what all of them wrote before.  flag: the number of arrivals, zero before and after.
    """

    flag: Ref
    count: int


Stmt: TypeAlias = (
    Comment | Let | Alloc | View | For | Fill | Move | Evaluate | Mark | MulAdd | MatrixMultiply | Barrier
    | Signal | Await | Join | Exchange | AxisOffsets | Meet | Pack | PanelGemm | Unpack | Product
    | Windows | FilterSums | Pipeline
)  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """One launch: `grid_size` workgroups of `block_size` work items run `body`.

    `workgroup` and `workitem` are the variables that number them; `maps` are the views of the arguments
    that the body addresses, as text.  lanes: of a wave of the machine.  most_threads: of a CPU, how many it
    has use for; None: any number.  grid: of a run-time size, how many workgroups there are; grid_size is the
    most.  when: the run-time sizes, from and to, of which it is launched alone; None of all.
    kept_waves: of a SIMD that the compiler is told to leave registers for.
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
    lanes: int = WAVES.wave_size
    most_threads: int | None = None
    grid: Lin | None = None
    when: tuple[int, int] | None = None
    kept_waves: int | None = None

    @cached_property
    def wave(self) -> int:
        """Lanes of a wave: as many as its matrix instructions run on, the machine's where it has none."""
        found = {s.instruction.wave for s in walk(self.body) if isinstance(s, MatrixMultiply)}
        assert len(found) <= 1, f"one kernel, waves of {sorted(found)} lanes"
        return found.pop() if found else self.lanes

    @property
    def pipeline(self) -> Pipeline | None:
        """The product of warpgroups that is all of its body, where it is one."""
        return next((s for s in self.body if isinstance(s, Pipeline)), None)


@dataclass(frozen=True)
class ZeroFill:
    """A launch that sets every element of an argument to zero."""

    buffer: Buffer


@dataclass(frozen=True)
class Program:
    """Launches in order; each sees what the ones before it wrote.

    workspace: the last of the arguments, whose contents matter to nobody before and after; but those in
    `zeroed` start as zeros, and every run leaves zeros.  count: the run-time size.
    """

    name: str
    arguments: tuple[Buffer, ...]
    launches: tuple[Kernel | ZeroFill, ...]
    outputs: frozenset[str]
    workspace: tuple[Buffer, ...] = ()
    zeroed: frozenset[str] = frozenset()
    count: Param | None = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(k for k in self.launches if isinstance(k, Kernel))


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outermost first."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from walk(stmt.body)


def is_collective(stmt: Stmt) -> bool:
    """Does it hold a statement for which work items meet: a barrier, a matrix instruction, a direct move or
    one that transposes?
    """
    match stmt:
        case For():
            return any(is_collective(s) for s in stmt.body)
        case Move():
            return stmt.direct or stmt.turned
        case _:
            return isinstance(stmt, Barrier | Signal | Await | Join | MatrixMultiply | Pipeline)


def has_flags(kernel: Kernel) -> bool:
    """Do workgroups of it wait for each other?"""
    return any(
        isinstance(s, Signal | Await | Join) or (isinstance(s, Pipeline) and s.workspace is not None)
        for s in walk(kernel.body)
    )


def meets(stmt: Stmt) -> bool:
    """Does it hold a statement that no access to LDS crosses?"""
    return any(isinstance(s, Barrier | Signal | Await | Join | Pipeline) for s in walk((stmt,)))


def indices(stmt: Stmt) -> tuple[Lin, ...]:
    """Every index that a statement itself evaluates, a loop's bounds too; its body is asked by statement.

    A Pipeline names the variables of its indices itself, and so has none that others could.
    """
    match stmt:
        case Let():
            return (stmt.index,)
        case Move() | Exchange():
            return (*_of(stmt.dest), *_of(stmt.source))
        case Evaluate():
            return (*_of(stmt.dest), *(index for _, ref, _ in stmt.values for index in _of(ref)))
        case Mark():
            return (*_of(stmt.mask), stmt.bit, *(g.index for g in stmt.guards))
        case MulAdd():
            return (*_of(stmt.c), *_of(stmt.a), *_of(stmt.b))
        case MatrixMultiply():
            return tuple(index for ref in (stmt.c, *stmt.read) for index in _of(ref))
        case PanelGemm():
            first = (stmt.first.index,) if stmt.first is not None else ()
            refs = (*_of(stmt.c), *_of(stmt.a), *_of(stmt.b))
            return (*refs, stmt.k, *first, *(g.index for g in stmt.guards))
        case Pack():
            return (*_of(stmt.dest), stmt.panel, *(g.index for g in stmt.guards))
        case AxisOffsets():
            return (stmt.count, stmt.offset, *stmt.guards)
        case Unpack():
            return (*_of(stmt.tile), *(stmt.finish.indices if stmt.finish is not None else ()))
        case Product() | Windows() | FilterSums():
            return stmt.indices
        case Signal() | Join():
            return _of(stmt.flag)
        case Await():
            return (*_of(stmt.flag), *(() if stmt.count is None else (stmt.count,)))
        case For():
            return tuple(x for x in (stmt.start, stmt.end) if x is not None)
        case Comment() | Alloc() | View() | Fill() | Barrier() | Meet() | Pipeline():
            return ()
        case _:
            assert_never(stmt)


def _of(ref: Ref) -> tuple[Lin, ...]:
    missing = (ref.missing.offset, ref.missing.bit) if ref.missing is not None else ()
    return (ref.offset, *(g.index for g in ref.guards), *missing)
