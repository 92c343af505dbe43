"""What every kernel keeps: accesses inside their buffers, a barrier between LDS accesses that depend.

A fault here is a broken promise of the levels above, never bad input: it is an AssertionError with the
statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from imbrex.index.expr import Lin
from imbrex.lower.stmt import (
    Barrier,
    Fill,
    For,
    Kernel,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Ref,
    Stmt,
    Unpack,
    View,
    walk,
)


def checked(kernel: Kernel) -> Kernel:
    """The kernel itself; AssertionError where it breaks a promise.  Run it before `share`."""
    for stmt in walk(kernel.body):
        for ref, width in _accesses(stmt):
            _inside(ref, width, stmt)
    if kernel.block_size > 1:
        Hazards(_aliases(kernel.body)).block(kernel.body)
    return kernel


def _inside(ref: Ref, width: int, stmt: Stmt) -> None:
    """An access that no guard protects lies in its buffer for every value of the variables."""
    if ref.guards:
        return
    low, high = ref.offset.bounds
    assert low >= 0 and high + width <= ref.buffer.elements, (
        f"elements {low} to {high + width - 1} of {ref.buffer.name}, of {ref.buffer.elements}, in {stmt}"
    )


def _accesses(stmt: Stmt) -> list[tuple[Ref, int]]:
    match stmt:
        case Move():
            return [(stmt.dest, stmt.width), (stmt.source, stmt.width)]
        case MulAdd():
            return [(r, 1) for r in (stmt.c, stmt.a, stmt.b)]
        case PanelGemm():
            last = (stmt.m - 1) * stmt.c_step + stmt.n
            return (
                [(stmt.a, stmt.m), (stmt.b, stmt.n)]
                if stmt.guards
                else [(stmt.c, last), (stmt.a, 1), (stmt.b, 1)]
            )
        case Pack():
            return [(stmt.dest, 1)]
        case Unpack():
            return [(stmt.tile, 1)]
        case _:
            return []


@dataclass
class Hazards:
    """LDS accesses since the last barrier.  `parts` says which bytes of LDS a buffer covers."""

    parts: dict[str, tuple[int, int]]
    written: set[str] = field(default_factory=lambda: set[str]())
    read: set[str] = field(default_factory=lambda: set[str]())

    def block(self, body: Sequence[Stmt]) -> None:
        for stmt in body:
            match stmt:
                case Barrier():
                    self.written.clear()
                    self.read.clear()
                case For():
                    for _ in range(min(stmt.count, 2)):  # the second round meets what the first left behind
                        self.block(stmt.body)
                case Move():
                    self._reads(stmt.source, stmt)
                    self._writes(stmt.dest, stmt)
                case MulAdd():
                    self._reads(stmt.a, stmt)
                    self._reads(stmt.b, stmt)
                case Fill() if stmt.buffer.space == "lds":
                    self._writes(Ref(stmt.buffer, Lin((), 0)), stmt)
                case _:
                    pass

    def _reads(self, ref: Ref, stmt: Stmt) -> None:
        if ref.buffer.space == "lds":
            other = self._overlapping(ref.buffer.name, self.written)
            assert other is None, f"no barrier between a write of {other} and this read of LDS: {stmt}"
            self.read.add(ref.buffer.name)

    def _writes(self, ref: Ref, stmt: Stmt) -> None:
        if ref.buffer.space == "lds":
            other = self._overlapping(ref.buffer.name, self.read)
            assert other is None, f"no barrier between a read of {other} and this write of LDS: {stmt}"
            self.written.add(ref.buffer.name)

    def _overlapping(self, name: str, others: set[str]) -> str | None:
        start, end = self.parts.get(name, (0, 1 << 62))
        for other in others:
            first, last = self.parts.get(other, (0, 1 << 62))
            if start < last and first < end:
                return other
        return None


def _aliases(body: Sequence[Stmt]) -> dict[str, tuple[int, int]]:
    """The bytes of its allocation that each view of LDS covers."""
    found: dict[str, tuple[int, int]] = {}
    for stmt in walk(tuple(body)):
        if isinstance(stmt, View):
            start = found.get(stmt.base.name, (0, 0))[0] + stmt.byte_offset
            found[stmt.buffer.name] = (start, start + stmt.buffer.elements * stmt.buffer.dtype.bytes)
    return found
