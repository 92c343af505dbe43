"""Accesses to LDS that no barrier separates, though they must not meet.

Between two barriers, a part of LDS that is written is not read, nor is one that is read written; and no two
work items write one byte.  Reads are compared with writes by whole buffers, which is stricter than need be;
writes with writes exactly, byte by byte, since all work items write parts of one buffer.

A loop with a barrier in it is gone through twice, so that its second round meets what the first left behind,
or as often as it turns where what is written depends on its variable.  A direct move is a write like any
other: the barrier waits for it too, but for the last ones where it says that they may be under way, which
stay writes until a barrier that waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.index.expr import Lin
from imbrex.lower.stmt import (
    Alloc,
    Await,
    Barrier,
    Fill,
    For,
    Join,
    Kernel,
    Move,
    MulAdd,
    Ref,
    Signal,
    Stmt,
    View,
    meets,
    walk,
)

__all__ = ["free_of_races"]


def free_of_races(kernel: Kernel) -> None:
    """AssertionError with the statement where two accesses to LDS may meet."""
    values = {kernel.workgroup: 0}
    Interval(kernel.block_size, _parts(kernel.body), values, kernel.workitem).block(kernel.body)


@dataclass
class Interval:
    """What happened since the last barrier.

    parts: the bytes of LDS that each buffer covers; values: of the variables of the loops with barriers;
    writer: the work item that wrote each byte, -1 for none.  coming: direct moves that no barrier has waited
    for yet, in order, with the loops around each, and how many a work item makes.
    """

    items: int
    parts: dict[str, range]
    values: dict[str, int]
    item: str
    written: set[str] = field(default_factory=lambda: set[str]())
    read: set[str] = field(default_factory=lambda: set[str]())
    coming: list[tuple[Move, tuple[For, ...], int]] = field(
        default_factory=lambda: list[tuple[Move, tuple[For, ...], int]]()
    )
    writer: npt.NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self.writer = np.full(max((p.stop for p in self.parts.values()), default=0), -1, np.int32)

    def block(self, body: Sequence[Stmt], loops: tuple[For, ...] = ()) -> None:
        """The statements of a body; `loops` are those around it that have no barrier, outermost first."""
        for stmt in body:
            match stmt:
                case Barrier():
                    self._met(stmt.in_flight)
                case Signal() | Await() | Join():
                    self._met(0)
                case For():
                    self._loop(stmt, loops)
                case Move():
                    self._reads(stmt.source, stmt)
                    self._writes(stmt.dest, stmt)
                    self._owns(stmt, loops)
                    if stmt.direct:
                        self.coming.append((stmt, loops, prod(loop.count for loop in loops)))
                case MulAdd():
                    self._reads(stmt.a, stmt)
                    self._reads(stmt.b, stmt)
                case Fill():
                    self._writes(Ref(stmt.buffer, Lin((), 0)), stmt)
                case _:
                    pass

    def _met(self, in_flight: int) -> None:
        """Work items met; all is done but so many direct moves of each, the last ones."""
        self.written.clear()
        self.read.clear()
        self.writer[:] = -1
        while self.coming and sum(many for _, _, many in self.coming[1:]) >= in_flight:
            del self.coming[0]
        for move, loops, _ in self.coming:
            self._writes(move.dest, move)
            self._owns(move, loops)

    def _loop(self, stmt: For, loops: tuple[For, ...]) -> None:
        if not meets(stmt):
            self.block(stmt.body, (*loops, stmt))
            return
        writes = [s for s in walk(stmt.body) if isinstance(s, Move) and s.dest.buffer.space == "lds"]
        is_moving = any(s.dest.offset.mentions(stmt.var) for s in writes)
        for value in range(stmt.count if is_moving else min(stmt.count, 2)):
            self.values[stmt.var] = value
            self.block(stmt.body, loops)

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
        own = self.parts[name]
        for other in others:
            part = self.parts[other]
            if own.start < part.stop and part.start < own.stop:
                return other
        return None

    def _owns(self, stmt: Move, loops: tuple[For, ...]) -> None:
        """Each byte that the statement writes belongs to the work item that writes it, and to no other."""
        if stmt.dest.buffer.space != "lds":
            return
        used = [f for f in loops if stmt.dest.offset.mentions(f.var)]
        env: dict[str, Any] = dict(self.values)
        for axis, (name, count) in enumerate([(self.item, self.items), *((f.var, f.count) for f in used)]):
            env[name] = np.arange(count).reshape(-1, *[1] * (len(used) + 1 - axis))
        size = stmt.dest.buffer.dtype.bytes
        first = np.asarray(stmt.dest.offset.eval(env) * size + self.parts[stmt.dest.buffer.name].start)
        addresses, items = np.broadcast_arrays(first + np.arange(stmt.width * size), env[self.item])
        before = self.writer[addresses]
        self.writer[addresses] = items
        twice = ((before >= 0) & (before != items)) | (self.writer[addresses] != items)
        assert not twice.any(), (
            f"two work items write byte {addresses[twice][0]} of LDS with no barrier between: {stmt}"
        )


def _parts(body: tuple[Stmt, ...]) -> dict[str, range]:
    """The bytes that each buffer of LDS covers; allocations lie one after the other."""
    found: dict[str, range] = {}
    end = 0
    for stmt in walk(body):
        if not isinstance(stmt, Alloc | View) or stmt.buffer.space != "lds":
            continue
        start = found[stmt.base.name].start + stmt.byte_offset if isinstance(stmt, View) else end
        found[stmt.buffer.name] = range(start, start + stmt.buffer.elements * stmt.buffer.dtype.bytes)
        end = max(end, found[stmt.buffer.name].stop)
    return found
