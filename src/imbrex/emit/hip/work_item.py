"""The body of a kernel as one work item runs it.

Loops without a barrier are unrolled by the compiler, so that private buffers become registers and constants
become the immediate offsets of LDS instructions; a loop with a barrier stays one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from imbrex.emit import c
from imbrex.emit.hip.address import Arrays, arrays
from imbrex.emit.hip.schedule import in_order
from imbrex.emit.hip.turn import turn_of
from imbrex.emit.hip.waves import LANE
from imbrex.index.expr import lin
from imbrex.lower.stmt import (
    Alloc,
    Await,
    Barrier,
    Buffer,
    Comment,
    Exchange,
    Fill,
    For,
    Kernel,
    Let,
    Mark,
    MatrixMultiply,
    Meet,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Places,
    Product,
    Ref,
    Signal,
    Stmt,
    Unpack,
    View,
    meets,
    walk,
)


@dataclass(frozen=True)
class WorkItem:
    """Prints one kernel."""

    kernel: Kernel

    @cached_property
    def arrays(self) -> Arrays:
        return arrays(self.kernel)

    @cached_property
    def has_direct(self) -> bool:
        """Does it move anything to LDS past the registers?"""
        return any(isinstance(s, Move) and s.direct for s in walk(self.kernel.body))

    def lines(self) -> list[str]:
        return [*self._buffers(), *self._body(self.kernel.body)]

    def _buffers(self) -> list[str]:
        """The arguments that are reached as raw buffers."""
        moves = [s for s in walk(self.kernel.body) if isinstance(s, Move)]
        used = {s.source.buffer.name for s in moves}
        used |= {s.dest.buffer.name for s in moves if s.method != "atomic_add"}
        return [
            f"const imbrex::buffer {_buffer(b)} = imbrex::buffer_of({b.name}, {self.arrays.before[b.name]});"
            for b in self.kernel.arguments
            if b.name in used and self.arrays.has_buffer(b)
        ]

    def _body(self, stmts: Sequence[Stmt]) -> list[str]:
        return [line for stmt in stmts for line in self._statement(stmt)]

    def _statement(self, stmt: Stmt) -> list[str]:
        match stmt:
            case Comment():
                return c.comment(stmt.text)
            case Let():
                return [self._let(stmt)]
            case Alloc() | View():
                return [self._declared(stmt)]
            case For():
                return self._loop(stmt)
            case Fill():
                assert stmt.buffer.space == "private", f"work items share {stmt.buffer.name}: {stmt}"
                return [f"imbrex::fill<{stmt.buffer.elements}>({stmt.buffer.name}, {c.number(stmt.value)});"]
            case Move():
                return [self._move(stmt)]
            case Mark():
                fails, place = f"uint32_t(!({c.guards(stmt.guards)}))", c.index(stmt.place)
                return [f"{_element(stmt.word)} |= {fails} << ({place});"]
            case MulAdd():
                a, b = (f"imbrex::widen({_element(r)})" for r in (stmt.a, stmt.b))
                return [f"{_element(stmt.c)} += {a} * {b};"]
            case MatrixMultiply(one):
                operands = ", ".join(_pointer(r) for r in (stmt.c, stmt.a, stmt.b))
                return [f"imbrex::{one.name}({operands});"]
            case Barrier():
                return ["imbrex::barrier_after_direct();" if self.has_direct else "imbrex::barrier();"]
            case Signal() | Await():
                return [c.flag(stmt)]
            case Exchange() | Places() | Meet() | Pack() | PanelGemm() | Unpack() | Product():
                raise AssertionError(f"a GPU kernel has no {type(stmt).__name__}")
            case _:
                assert_never(stmt)

    def _loop(self, stmt: For) -> list[str]:
        if stmt.is_condition:
            return [c.loop(stmt), *c.indented(self._body(stmt.body)), "}"]
        if (turn := turn_of(stmt)) is not None:
            sizes = f"{turn.rows}, {turn.columns}"
            return [f"imbrex::turn<{sizes}>({_pointer(turn.dest)}, {_pointer(turn.source)});"]
        if not meets(stmt):
            return ["#pragma unroll", c.loop(stmt), *c.indented(self._body(stmt.body)), "}"]
        lines: list[str] = []
        for inner, stays in in_order(stmt.body):
            lines += ["imbrex::keep_order();"] if stays else []
            lines += self._statement(inner)
        return ["#pragma unroll 1", c.loop(stmt), *c.indented(lines), "}"]

    def _let(self, stmt: Let) -> str:
        """What depends on the work item and yet is the same in all lanes is read from the first."""
        if self.kernel.workitem in stmt.index.variables and stmt.name not in self.arrays.lanes:
            return f"const int32_t {stmt.name} = __builtin_amdgcn_readfirstlane({c.index(stmt.index)});"
        return c.let(stmt)

    def _declared(self, stmt: Alloc | View) -> str:
        b, kind = stmt.buffer, c.type_name(stmt.buffer.dtype)
        if isinstance(stmt, View):
            start = stmt.base.name if not stmt.byte_offset else f"({stmt.base.name} + {stmt.byte_offset})"
            return f"const auto {b.name} = (imbrex::lds<{kind}>){start};"
        if b.space == "lds":
            return f"__shared__ __attribute__((aligned(16))) {kind} {b.name}[{b.elements}];"
        return f"{kind} {b.name}[{b.elements}];"

    def _move(self, stmt: Move) -> str:
        match stmt.source.buffer.space, stmt.dest.buffer.space:
            case "global", "private" if stmt.beta:
                assert (stmt.alpha, stmt.beta) == (1.0, 1.0), f"registers add what they are given: {stmt}"
                return f"imbrex::gain<{stmt.width}>({_pointer(stmt.dest)}, {self._place(stmt.source)});"
            case "global", "private":
                return f"imbrex::load<{stmt.width}>({_pointer(stmt.dest)}, {self._place(stmt.source)});"
            case "global", "lds":
                assert stmt.direct, f"what passes no register is direct: {stmt}"
                first = _pointer(self._first_lane(stmt.dest))
                return f"imbrex::load_direct<{stmt.width}>({first}, {self._place(stmt.source)});"
            case "lds", "private":
                return f"imbrex::read<{stmt.width}>({_pointer(stmt.dest)}, {_pointer(stmt.source)});"
            case "private", "lds":
                return f"imbrex::write<{stmt.width}>({_pointer(stmt.dest)}, {_pointer(stmt.source)});"
            case "private", "private":
                return f"imbrex::copy<{stmt.width}>({_pointer(stmt.dest)}, {_pointer(stmt.source)});"
            case "private", "global":
                return self._stored(stmt)
            case spaces:
                raise AssertionError(f"nothing moves from {spaces[0]} to {spaces[1]}: {stmt}")

    def _stored(self, stmt: Move) -> str:
        kind, source = c.type_name(stmt.source.buffer.dtype), _pointer(stmt.source)
        if stmt.method == "atomic_add":
            return f"imbrex::add<{stmt.width}>({_far(stmt.dest)}, {source});"
        form, more = "store", ""
        if (stmt.alpha, stmt.beta) != (1.0, 0.0):
            form, more = "scale", f", {kind}({c.number(stmt.alpha)}), {kind}({c.number(stmt.beta)})"
        if self.arrays.is_far(stmt.dest.buffer):
            return f"imbrex::{form}<{stmt.width}>({_far(stmt.dest)}, {source}{more});"
        element = c.type_name(stmt.dest.buffer.dtype)
        return f"imbrex::{form}<{element}, {stmt.width}>({self._place(stmt.dest)}, {source}{more});"

    def _first_lane(self, ref: Ref) -> Ref:
        """The place of a wave's first lane."""
        first = ref.offset.subs({self.kernel.workitem: lin(0), LANE: lin(0)})
        assert not first.variables & self.arrays.lanes, f"lanes write {ref.offset}, not one after the other"
        return Ref(ref.buffer, first)

    def _place(self, ref: Ref) -> str:
        """The arguments that say where in global memory a move begins, and whether it does."""
        if self.arrays.is_far(ref.buffer):
            return _far(ref)
        address = self.arrays.address(ref)
        lane = c.index(address.lane)
        if ref.missing is not None:
            word = _element(Ref(ref.missing.buffer, ref.missing.offset))
            lane = f"imbrex::unless({word}, {c.index(ref.missing.place)}, {lane})"
        if ref.guards:
            lane = f"imbrex::where({c.guards(ref.guards)}, {lane})"
        wave = c.index(address.wave)
        if self.arrays.has_buffer(ref.buffer):
            return f"{_buffer(ref.buffer)}, {lane}, {wave}"
        return f"imbrex::buffer_from({ref.buffer.name}, {wave}), {lane}, 0"


def _buffer(buffer: Buffer) -> str:
    return f"{buffer.name}_memory"


def _far(ref: Ref) -> str:
    """A pointer, and whether there is something."""
    exists = [c.guard(g) for g in ref.guards]
    if ref.missing is not None:
        word = _element(Ref(ref.missing.buffer, ref.missing.offset))
        exists.append(f"!({word} >> ({c.index(ref.missing.place)}) & 1)")
    return f"{_pointer(ref)}, {' && '.join(exists) or 'true'}"


def _pointer(ref: Ref) -> str:
    at = c.index(ref.offset)
    if at == "0":
        return ref.buffer.name
    return f"{ref.buffer.name} + {at if at.isalnum() else f'({at})'}"


def _element(ref: Ref) -> str:
    return f"{ref.buffer.name}[{c.index(ref.offset)}]"
