"""The lane-level form of a kernel: work items are a loop between barriers, registers are arrays over lanes.

A phase is a run of statements in which work items do not meet: all work items run it, one after the other,
before anything after it.  A barrier ends a phase, which is all that it means.  So does a matrix instruction:
what is before it in the program all lanes of its wave have done.  It is a loop over waves, and the loops
around it stay loops.  Names (`Let`) are computed again in each phase, as they may depend on the work item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from imbrex.emit import c, epilogue
from imbrex.emit.emulate import matrix
from imbrex.index.expr import Lin, lin, var
from imbrex.lower.stmt import (
    Alloc,
    Await,
    AxisOffsets,
    Barrier,
    Buffer,
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
    Program,
    Ref,
    Signal,
    Stmt,
    Unpack,
    View,
    Windows,
    indices,
    is_collective,
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
            elif is_collective(stmt) or (isinstance(stmt, For) and stmt.end is not None):
                lines += [*self._lanes(phase), *self._collective(stmt)]
                phase = []
            else:
                phase.append(stmt)
        lines += self._lanes(phase)
        del self.lets[outer:]
        return lines

    def _collective(self, stmt: Stmt) -> list[str]:
        """A statement in which work items meet."""
        match stmt:
            case Barrier():
                return ["// barrier: every work item has finished the loop above", ""]
            case For():
                lines = [c.loop(stmt), *c.indented(self.body(stmt.body)), "}"]
                return self._named([stmt], lines)
            case Signal() | Await():
                return self._named([stmt], [c.flag(stmt)])
            case MatrixMultiply(one):
                scales = (Ref(r.buffer, r.offset + stmt.scale_place) for r in stmt.scales)
                refs = (stmt.c, stmt.a, stmt.b, *scales)
                rows = [(self._pointer(r), r.buffer.elements) for r in refs]
                operands = ", ".join(f"{pointer}, {pitch}" for pointer, pitch in rows)
                return self._items([stmt], [f"imbrex::multiply<{one.name}>({operands});"], step=one.wave)
            case Move(turned=True):
                return self._items([stmt], [self._turned(stmt)])
            case Move():
                first = f"{stmt.dest.buffer.dtype.c_name} *first = nullptr;"
                return ["{", *c.indented([first, *self._items([stmt], self._direct(stmt))]), "}"]
            case _:
                raise AssertionError(f"work items do not meet in {stmt}")

    def _named(self, stmts: Sequence[Stmt], lines: Sequence[str]) -> list[str]:
        """`lines`, the text of `stmts`, for the workgroup as a whole, in sight of the names they need."""
        lets = [c.let(s) for s in _mentioned_in(self.lets, indices(stmts[0]))]
        return ["{", *c.indented([*lets, *lines]), "}"] if lets else list(lines)

    def _lanes(self, phase: Sequence[Stmt]) -> list[str]:
        return self._items(phase, [line for stmt in phase for line in self._lane(stmt)]) if phase else []

    def _items(self, stmts: Sequence[Stmt], lines: Sequence[str], step: int = 1) -> list[str]:
        """`lines`, the text of `stmts`, for every work item, or for the first of every `step`."""
        item, size = self.kernel.workitem, self.kernel.block_size
        lets = [c.let(s) for s in _used(self.lets, stmts)]
        next_item = f"++{item}" if step == 1 else f"{item} += {step}"
        loop = f"for (int32_t {item} = 0; {item} < {size}; {next_item}) {{"
        return [loop, *c.indented([*lets, *lines]), "}"]

    def _lane(self, stmt: Stmt) -> list[str]:
        match stmt:
            case For():
                inner: list[str] = []
                for s in stmt.body:
                    inner += [c.let(s)] if isinstance(s, Let) else self._lane(s)
                return [c.loop(stmt), *c.indented(inner), "}"]
            case Move():
                return self._move(stmt)
            case Evaluate():
                return epilogue.lines(stmt, self._element, self._exists_if_guarded)
            case Mark():
                fails = f"uint32_t(!({c.guards(stmt.guards)}))"
                return [f"{self._element(stmt.mask)} |= {fails} << ({c.index(stmt.bit)});"]
            case MulAdd():
                a, b = (f"imbrex::widen({self._element(r)})" for r in (stmt.a, stmt.b))
                return [f"{self._element(stmt.c)} += {a} * {b};"]
            case Fill():
                first = self._pointer(Ref(stmt.buffer, lin(0)))
                value = c.number(stmt.value, stmt.buffer.dtype)
                return [f"imbrex::fill({first}, {stmt.buffer.elements}, {value});"]
            case Comment():
                return c.comment(stmt.text)
            case Let() | Alloc() | View() | Barrier() | MatrixMultiply() | Signal() | Await() | Join():
                raise AssertionError(f"{type(stmt).__name__} does not run for one work item")
            case (
                Exchange() | AxisOffsets() | Meet() | Pack() | PanelGemm() | Unpack() | Product() | Pipeline()
            ):
                raise AssertionError(f"{type(stmt).__name__} does not run for one work item")
            case Windows() | FilterSums():
                raise AssertionError(f"{type(stmt).__name__} does not run for one work item")
            case _:
                assert_never(stmt)

    def _move(self, stmt: Move) -> list[str]:
        dest, source = self._pointer(stmt.dest), self._pointer(stmt.source)
        w = stmt.width
        if stmt.dest.buffer.space != "global":
            assert not stmt.dest.guards, "only global memory is guarded"
            if stmt.beta:
                assert (stmt.alpha, stmt.beta) == (1.0, 1.0), f"registers add what they are given: {stmt}"
                return [f"imbrex::gain<{w}>({dest}, {source});"]
            return [f"imbrex::move<{w}>({dest}, {source}, {self._exists(stmt.source)});"]
        when = f"if ({c.guards(stmt.dest.guards)}) " if stmt.dest.guards else ""
        if stmt.method == "atomic_add":
            return [f"{when}imbrex::add<{w}>({dest}, {source});"]
        if (stmt.alpha, stmt.beta) != (1.0, 0.0):
            computed = stmt.source.buffer.dtype
            factors = f"{c.number(stmt.alpha, computed)}, {c.number(stmt.beta, computed)}"
            return [f"{when}imbrex::scale<{w}>({dest}, {source}, {factors});"]
        return [f"{when}imbrex::store<{w}>({dest}, {source});"]

    @property
    def _lane_number(self) -> str:
        """The lane of its wave that a work item is."""
        return c.index(var(self.kernel.workitem, self.kernel.block_size) % self.kernel.wave)

    def _direct(self, stmt: Move) -> list[str]:
        dest, source = self._pointer(stmt.dest), self._pointer(stmt.source)
        exists, lane = self._exists(stmt.source), self._lane_number
        return [f"imbrex::move_direct<{stmt.width}>({dest}, {source}, {exists}, {lane}, first);"]

    def _turned(self, stmt: Move) -> str:
        """A lane's share of a transposition; registers of another lane are a pitch away."""
        dest, source, pitch = self._pointer(stmt.dest), self._pointer(stmt.source), stmt.dest.buffer.elements
        lane = self._lane_number
        return f"imbrex::move_turned<{stmt.width}>({dest}, {pitch}, {source}, {lane});"

    def _declared(self, stmt: Alloc | View) -> list[str]:
        b, kind = stmt.buffer, stmt.buffer.dtype.c_name
        if isinstance(stmt, View):
            return [
                f"{kind} *const {b.name} = reinterpret_cast<{kind} *>({stmt.base.name} + {stmt.byte_offset});"
            ]
        return [f"{kind} *const {b.name} = scratch.{b.name};"]

    def _exists_if_guarded(self, ref: Ref) -> str:
        return self._exists(ref) if ref.guards or ref.missing is not None else ""

    def _exists(self, ref: Ref) -> str:
        """C text of the condition under which a source exists."""
        if ref.missing is None:
            return c.guards(ref.guards)
        word = self._element(Ref(ref.missing.buffer, ref.missing.offset))
        here = f"!({word} >> ({c.index(ref.missing.bit)}) & 1)"
        return f"{c.guards(ref.guards)} && {here}" if ref.guards else here

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


def models(program: Program, flushes_halves: bool) -> list[str]:
    """The matrix instructions that the program's kernels run; they stand before the kernels.

    flushes_halves: where a GPU takes subnormal halves as zeros.
    """
    stmts = (s for kernel in program.kernels for s in walk(kernel.body))
    used = {s.instruction: bool(s.scales) for s in stmts if isinstance(s, MatrixMultiply)}
    return [line for one, scaled in used.items() for line in ["", *matrix.model(one, flushes_halves, scaled)]]


def scratch_members(kernel: Kernel) -> list[str]:
    """LDS of a workgroup, and the registers of all its work items."""
    lines: list[str] = []
    for stmt in walk(kernel.body):
        if isinstance(stmt, Alloc):
            b = stmt.buffer
            lanes = f"{kernel.block_size} * " if b.space == "private" else ""
            lines.append(f"alignas(64) {b.dtype.c_name} {b.name}[{lanes}{b.elements}];")
    return lines


def function_body(kernel: Kernel) -> list[str]:
    """The body of `void kernel(workgroup, arguments, scratch)`; scratch starts out poisoned."""
    return ["__builtin_memset(&scratch, 0xff, sizeof(scratch));", *LanePrinter(kernel).body(kernel.body)]


def _used(lets: Sequence[Let], phase: Sequence[Stmt]) -> list[Let]:
    """The names that these statements need, and the names that those need, in order."""
    return _mentioned_in(lets, [i for s in walk(tuple(phase)) for i in indices(s)])


def _mentioned_in(lets: Sequence[Let], indices: Sequence[Lin]) -> list[Let]:
    """The names in these indices, and those that they need, in order."""
    needed = set(_mentioned(indices))
    kept: list[Let] = []
    for let in reversed(lets):
        if let.name in needed:
            needed |= let.index.variables
            kept.append(let)
    return kept[::-1]


def _mentioned(indices: Sequence[Lin]) -> frozenset[str]:
    return frozenset[str]().union(*(i.variables for i in indices))
