"""The body of a kernel as one work item runs it.

Loops without a barrier are unrolled by the compiler, so that private buffers become registers and constants
become the immediate offsets of LDS instructions; a loop with a barrier stays one.  What a language says in
its own way are its `Dialect`; the functions that the statements call have the same names in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from imbrex.emit import c, epilogue
from imbrex.emit.gpu.dialect import Dialect
from imbrex.emit.gpu.outer import outer_of
from imbrex.emit.gpu.reference import element, guarded_pointer, pointer
from imbrex.emit.gpu.schedule import in_order
from imbrex.emit.gpu.turn import turn_of
from imbrex.emit.gpu.weave import Nest, Woven, global_load, woven
from imbrex.lower.stmt import (
    Alloc,
    Await,
    AxisOffsets,
    Barrier,
    Comment,
    Evaluate,
    Exchange,
    Fill,
    FilterSums,
    For,
    Join,
    Kernel,
    Let,
    Mark,
    MatrixMultiply,
    Meet,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Pipeline,
    Product,
    Signal,
    Stmt,
    Unpack,
    View,
    Windows,
    meets,
)


@dataclass(frozen=True)
class WorkItem:
    """Prints one kernel."""

    kernel: Kernel
    dialect: Dialect

    def lines(self) -> list[str]:
        return [*self.dialect.opening(), *self._body(self.kernel.body)]

    def _body(self, stmts: Sequence[Stmt]) -> list[str]:
        return [line for part in woven(stmts) for line in self._part(part)]

    def _in_blocks(self, stmts: Sequence[Stmt]) -> list[str]:
        """The same, where a compiler minds how long a basic block is: one may begin with each load."""
        lines, loads = list[str](), 0
        for part in woven(stmts):
            load = None if isinstance(part, Woven) else global_load(part)
            if load is not None:
                lines += self.dialect.next_block(loads, load.width)
                loads += 1
            lines += self._part(part)
        return lines

    def _part(self, part: Stmt | Woven) -> list[str]:
        if not isinstance(part, Woven):
            return self._statement(part)
        writes = (part.writes,) if part.writes else ()
        parts = (part.loads, part.reads, *writes, part.products)
        counts = ", ".join(str(sum(nest.count for nest in nests)) for nests in parts)
        lambdas = [[f"  {line}" for line in self._numbered(nests)] for nests in parts]
        for lines in lambdas[:-1]:
            lines[-1] += ","
        lambdas[-1][-1] += ");"
        declared = [line for stmt in part.declared for line in self._statement(stmt)]
        return [*declared, f"imbrex::weave<{counts}>(", *(line for lines in lambdas for line in lines)]

    def _numbered(self, nests: Sequence[Nest]) -> list[str]:
        """A function of the number of an access or a product, in nests of loops one after the other."""
        lines, before = ["[&](auto at) IMBREX_LAMBDA {"], 0
        for nest in nests:
            lines.append(f"  if constexpr ({before} <= at.value && at.value < {before + nest.count}) {{")
            at = f"at.value - {before}" if before else "at.value"
            names = [f"constexpr int32_t number = {at};"] if nest.loops else []
            names += [
                f"constexpr int32_t {name} = {c.index(index)};"
                for name, index in nest.variables("number").items()
            ]
            body = [line for stmt in nest.body for line in self._statement(stmt)]
            lines += [f"    {line}" for line in (*names, *body)] + ["  }"]
            before += nest.count
        return [*lines, "}"]

    def _statement(self, stmt: Stmt) -> list[str]:
        match stmt:
            case Comment():
                return c.comment(stmt.text)
            case Let():
                return [self.dialect.let(stmt)]
            case Alloc() | View():
                return [self._declared(stmt)]
            case For():
                return self._loop(stmt)
            case Fill():
                assert stmt.buffer.space == "private", f"work items share {stmt.buffer.name}: {stmt}"
                value = c.number(stmt.value, stmt.buffer.dtype)
                return [f"imbrex::fill<{stmt.buffer.elements}>({stmt.buffer.name}, {value});"]
            case Move():
                return [self._move(stmt)]
            case Evaluate():
                return epilogue.lines(stmt, element, lambda ref: "")
            case Mark():
                fails = f"uint32_t(!({c.guards(stmt.guards)}))"
                return [f"{element(stmt.mask)} |= {fails} << ({c.index(stmt.bit)});"]
            case MulAdd():
                a, b = (f"imbrex::widen({element(r)})" for r in (stmt.a, stmt.b))
                return [f"{element(stmt.c)} += {a} * {b};"]
            case MatrixMultiply(one):
                operands = ", ".join(pointer(r) for r in (stmt.c, *stmt.read))
                held = f"<{stmt.scale_count}, {stmt.scale_place}>" if stmt.scales else ""
                return [f"imbrex::{one.name}{held}({operands});"]
            case Barrier():
                return [self.dialect.barrier(stmt.in_flight)]
            case Signal() | Await() | Join():
                return [c.flag(stmt)]
            case Exchange() | AxisOffsets() | Meet() | Pack() | PanelGemm() | Unpack():
                raise AssertionError(f"a work item does no {type(stmt).__name__}")
            case Product() | Windows() | FilterSums() | Pipeline():
                raise AssertionError(f"a work item does no {type(stmt).__name__}")
            case _:
                assert_never(stmt)

    def _loop(self, stmt: For) -> list[str]:
        if stmt.is_condition:
            return [c.loop(stmt), *c.indented(self._body(stmt.body)), "}"]
        if (turn := turn_of(stmt)) is not None:
            sizes = f"{turn.rows}, {turn.columns}"
            return [f"imbrex::turn<{sizes}>({pointer(turn.dest)}, {pointer(turn.source)});"]
        if self.dialect.has_products and (outer := outer_of(stmt)) is not None:
            sizes = f"{outer.rows}, {outer.columns}, {outer.pitch}"
            operands = ", ".join(pointer(r) for r in (outer.c, outer.a, outer.b))
            return [f"imbrex::multiply<{sizes}>({operands});"]
        if not meets(stmt):
            unrolled = "#pragma unroll 1" if stmt.rolled else "#pragma unroll"
            body = self._in_blocks(stmt.body) if stmt.rolled else self._body(stmt.body)
            return [unrolled, c.loop(stmt), *c.indented(body), "}"]
        parts, lines = woven(stmt.body), list[str]()
        if any(isinstance(part, Woven) for part in parts):
            lines = [line for part in parts for line in self._part(part)]
            return ["#pragma unroll 1", c.loop(stmt), *c.indented(lines), "}"]
        for inner, stays in in_order(stmt.body):
            lines += ["imbrex::keep_order();"] if stays else []
            lines += self._statement(inner)
        return ["#pragma unroll 1", c.loop(stmt), *c.indented(lines), "}"]

    def _declared(self, stmt: Alloc | View) -> str:
        if isinstance(stmt, View):
            return self.dialect.view(stmt)
        b = stmt.buffer
        return self.dialect.shared(b) if b.space == "lds" else f"{b.dtype.c_name} {b.name}[{b.elements}];"

    def _move(self, stmt: Move) -> str:
        match stmt.source.buffer.space, stmt.dest.buffer.space:
            case "global", "private" if stmt.beta:
                assert (stmt.alpha, stmt.beta) == (1.0, 1.0), f"registers add what they are given: {stmt}"
                source = self.dialect.global_arguments(stmt.source)
                return f"imbrex::gain<{stmt.width}>({pointer(stmt.dest)}, {source});"
            case "global", "private":
                source = self.dialect.global_arguments(stmt.source)
                return f"imbrex::load<{stmt.width}>({pointer(stmt.dest)}, {source});"
            case "global", "lds":
                assert stmt.direct, f"what passes no register is direct: {stmt}"
                start, source = self.dialect.direct(stmt), self.dialect.global_arguments(stmt.source)
                return f"imbrex::load_direct<{stmt.width}>({start}, {source});"
            case "lds", "private" if stmt.turned:
                return f"imbrex::read_turned<{stmt.width}>({pointer(stmt.dest)}, {pointer(stmt.source)});"
            case "lds", "private":
                return f"imbrex::read<{stmt.width}>({pointer(stmt.dest)}, {pointer(stmt.source)});"
            case "private", "lds":
                return f"imbrex::write<{stmt.width}>({pointer(stmt.dest)}, {pointer(stmt.source)});"
            case "private", "private" if stmt.beta:
                assert (stmt.alpha, stmt.beta) == (1.0, 1.0), f"registers add what they are given: {stmt}"
                return f"imbrex::gain<{stmt.width}>({pointer(stmt.dest)}, {pointer(stmt.source)});"
            case "private", "private":
                return f"imbrex::copy<{stmt.width}>({pointer(stmt.dest)}, {pointer(stmt.source)});"
            case "private", "global":
                return self._stored(stmt)
            case spaces:
                raise AssertionError(f"nothing moves from {spaces[0]} to {spaces[1]}: {stmt}")

    def _stored(self, stmt: Move) -> str:
        computed, source = stmt.source.buffer.dtype, pointer(stmt.source)
        if stmt.method == "atomic_add":
            return f"imbrex::add<{stmt.width}>({guarded_pointer(stmt.dest)}, {source});"
        form, more = "store", ""
        if (stmt.alpha, stmt.beta) != (1.0, 0.0):
            form, more = "scale", f", {c.number(stmt.alpha, computed)}, {c.number(stmt.beta, computed)}"
        template, where = self.dialect.target(stmt.dest, stmt.width)
        return f"imbrex::{form}<{template}>({where}, {source}{more});"
