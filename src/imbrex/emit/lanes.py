"""The lane-level form of a kernel: work items are a loop between barriers, registers are arrays over lanes.

Statements without a barrier run for all work items before the next statement with one, which is what a
barrier means.  Names (`Let`) are computed again in each such loop, since they may depend on the work item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from imbrex.emit import c
from imbrex.index.expr import Lin
from imbrex.lower.stmt import (
    Alloc,
    Barrier,
    Buffer,
    Comment,
    Fill,
    For,
    Kernel,
    Let,
    Meet,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Places,
    Product,
    Ref,
    Stmt,
    Unpack,
    View,
    has_barrier,
    indices,
    walk,
)


@dataclass
class LanePrinter:
    """Prints one kernel; `lets` are the names in sight."""

    kernel: Kernel
    lets: list[Let] = field(default_factory=lambda: list[Let]())

    def body(self, stmts: Sequence[Stmt]) -> list[str]:
        lines: list[str] = []
        phase: list[Stmt] = []
        outer = len(self.lets)
        for stmt in stmts:
            if isinstance(stmt, Let):
                self.lets.append(stmt)
            elif isinstance(stmt, Alloc | View):
                lines += self._declared(stmt)
            elif isinstance(stmt, Comment):
                lines += [*self._lanes(phase), *c.comment(stmt.text)]
                phase = []
            elif has_barrier(stmt):
                lines += [*self._lanes(phase), *self._uniform(stmt)]
                phase = []
            else:
                phase.append(stmt)
        lines += self._lanes(phase)
        del self.lets[outer:]
        return lines

    def _uniform(self, stmt: Stmt) -> list[str]:
        """A statement that the whole workgroup runs together."""
        if isinstance(stmt, Barrier):
            return ["// barrier: every work item has finished the loop above", ""]
        assert isinstance(stmt, For)
        return [c.loop(stmt), *c.indented(self.body(stmt.body)), "}"]

    def _lanes(self, phase: Sequence[Stmt]) -> list[str]:
        if not phase:
            return []
        lines = [line for stmt in phase for line in self._lane(stmt)]
        item, size = self.kernel.workitem, self.kernel.block_size
        lets = [c.let(s) for s in _used(self.lets, phase)]
        return [f"for (int32_t {item} = 0; {item} < {size}; ++{item}) {{", *c.indented([*lets, *lines]), "}"]

    def _lane(self, stmt: Stmt) -> list[str]:
        match stmt:
            case For():
                inner: list[str] = []
                for s in stmt.body:
                    inner += [c.let(s)] if isinstance(s, Let) else self._lane(s)
                return [c.loop(stmt), *c.indented(inner), "}"]
            case Move():
                return self._move(stmt)
            case MulAdd():
                a, b = (f"imbrex::widen({self._element(r)})" for r in (stmt.a, stmt.b))
                return [f"{self._element(stmt.c)} += {a} * {b};"]
            case Fill():
                at = self._at(stmt.buffer, "i")
                loop = f"for (int32_t i = 0; i < {stmt.buffer.elements}; ++i)"
                return [f"{loop} {stmt.buffer.name}[{at}] = {c.number(stmt.value)};"]
            case Comment():
                return c.comment(stmt.text)
            case Let() | Alloc() | View() | Barrier():
                raise AssertionError(f"{type(stmt).__name__} does not run for one work item")
            case Places() | Meet() | Pack() | PanelGemm() | Unpack() | Product():
                raise AssertionError(f"{type(stmt).__name__} does not run for one work item")
            case _:
                assert_never(stmt)

    def _move(self, stmt: Move) -> list[str]:
        dest, source = self._pointer(stmt.dest), self._pointer(stmt.source)
        w = stmt.width
        if stmt.dest.buffer.space != "global":
            assert not stmt.dest.guards, "only global memory is guarded"
            return [f"imbrex::move<{w}>({dest}, {source}, {c.guards(stmt.source.guards)});"]
        when = f"if ({c.guards(stmt.dest.guards)}) " if stmt.dest.guards else ""
        if stmt.method == "atomic_add":
            return [f"{when}imbrex::add<{w}>({dest}, {source});"]
        if (stmt.alpha, stmt.beta) != (1.0, 0.0):
            kind = c.type_name(stmt.source.buffer.dtype)
            factors = f"{kind}({c.number(stmt.alpha)}), {kind}({c.number(stmt.beta)})"
            return [f"{when}imbrex::scale<{w}>({dest}, {source}, {factors});"]
        return [f"{when}imbrex::store<{w}>({dest}, {source});"]

    def _declared(self, stmt: Alloc | View) -> list[str]:
        b, kind = stmt.buffer, c.type_name(stmt.buffer.dtype)
        if isinstance(stmt, View):
            return [
                f"{kind} *const {b.name} = reinterpret_cast<{kind} *>({stmt.base.name} + {stmt.byte_offset});"
            ]
        return [f"{kind} *const {b.name} = scratch.{b.name};"]

    def _at(self, buffer: Buffer, offset: str) -> str:
        if buffer.space != "private":
            return offset
        start = f"{self.kernel.workitem} * {buffer.elements}"
        return start if offset == "0" else f"{start} + {offset}"

    def _pointer(self, ref: Ref) -> str:
        at = self._at(ref.buffer, c.index(ref.offset))
        return ref.buffer.name if at == "0" else f"{ref.buffer.name} + ({at})"

    def _element(self, ref: Ref) -> str:
        return f"{ref.buffer.name}[{self._at(ref.buffer, c.index(ref.offset))}]"


def scratch_members(kernel: Kernel) -> list[str]:
    """LDS of a workgroup, and the registers of all its work items."""
    lines: list[str] = []
    for stmt in walk(kernel.body):
        if isinstance(stmt, Alloc):
            b = stmt.buffer
            lanes = f"{kernel.block_size} * " if b.space == "private" else ""
            lines.append(f"alignas(64) {c.type_name(b.dtype)} {b.name}[{lanes}{b.elements}];")
    return lines


def function_body(kernel: Kernel) -> list[str]:
    """The body of `void kernel(workgroup, arguments, scratch)`; scratch starts out poisoned."""
    return ["__builtin_memset(&scratch, 0xff, sizeof(scratch));", *LanePrinter(kernel).body(kernel.body)]


def _used(lets: Sequence[Let], phase: Sequence[Stmt]) -> list[Let]:
    """The names that these statements need, and the names that those need, in order."""
    needed: set[str] = set[str]().union(*(_mentioned(indices(s)) for s in walk(tuple(phase))))
    kept: list[Let] = []
    for let in reversed(lets):
        if let.name in needed:
            needed |= let.index.variables
            kept.append(let)
    return kept[::-1]


def _mentioned(indices: Sequence[Lin]) -> frozenset[str]:
    return frozenset[str]().union(*(i.variables for i in indices))
