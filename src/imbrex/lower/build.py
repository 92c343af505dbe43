"""Threadwise IR to statements: a program is the launches of one function, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from imbrex.chip import WAVES, GpuMachine, Machine
from imbrex.index.atom import Param
from imbrex.index.expr import Lin, lin, param, select, var
from imbrex.index.rule import COUNT, Guard, Prefix
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.matrix import MfmaOp
from imbrex.ir.ops.memory import AllocOp, FillOp, LdsBarrierOp, SubviewOp, constant_of, filled_with
from imbrex.ir.ops.schedule import AwaitOp, BoundOp, GroupOp, JoinOp, SegmentOp, SignalOp, TileOp, WithinOp
from imbrex.ir.ops.standard import (
    ROLLED,
    AddiOp,
    Block,
    ConstantOp,
    ForOp,
    FuncOp,
    ModuleOp,
    Operation,
    SSAValue,
)
from imbrex.ir.ops.thread import ThreadwiseCopyOp, ThreadwiseGemmOp
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.ir.ops.windows import ThreadwiseFilterSumsOp, ThreadwiseWindowsOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.lower import lane
from imbrex.lower.buffer import first_of
from imbrex.lower.check import checked
from imbrex.lower.cpu import panel, windows
from imbrex.lower.cpu.fuse import fused
from imbrex.lower.cpu.fuse_parts import fused_parts
from imbrex.lower.grid import grid_of, is_of_count
from imbrex.lower.prune import pruned
from imbrex.lower.reader import Reader, sizes
from imbrex.lower.stmt import (
    Alloc,
    Await,
    Barrier,
    Buffer,
    Comment,
    Exchange,
    Fill,
    For,
    Join,
    Kernel,
    Let,
    Program,
    Ref,
    Signal,
    Stmt,
    View,
    ZeroFill,
)
from imbrex.lower.warpgroup.families import pipeline
from imbrex.symbol import symbol_of
from imbrex.view.work import pairs


def program(module: ModuleOp, outputs: frozenset[int], machine: Machine = WAVES, first: int = 0) -> Program:
    """The one function of a module, for a machine; `outputs` numbers the arguments that it writes.

    first: the number of its first launch.
    """
    (function,) = [f for f in module.walk() if isinstance(f, FuncOp)]
    reader = Reader(machine)
    own = tuple(reader.declare(arg, f"argument{i}") for i, arg in enumerate(function.args))
    scratch = [op for op in function.body.block.ops if isinstance(op, WorkspaceOp)]
    workspace = tuple(reader.declare(op.result, "workspace") for op in scratch)
    arguments = (*own, *workspace)
    zeroed = frozenset(
        buffer.name
        for op, buffer in zip(scratch, workspace, strict=True)
        if op.zeroed is not None and op.zeroed.data
    )
    written = frozenset((*(own[i].name for i in outputs), *(buffer.name for buffer in workspace)))
    name, count = function.sym_name.data, _count(function)
    launches: list[Kernel | ZeroFill] = []
    for op in function.body.block.ops:
        if isinstance(op, FillOp):
            launches.append(ZeroFill(reader.buffers[op.buffer]))
        elif isinstance(op, LaunchOp):
            made = kernel(op, f"{symbol_of(name)}_{first + len(launches)}", reader, arguments, written)
            lanes = machine.wave_size if isinstance(machine, GpuMachine) else 1
            launches.append(pruned(checked(replace(made, lanes=lanes))))
    return Program(name, arguments, tuple(launches), written, workspace, zeroed, count)


def _count(function: FuncOp) -> Param | None:
    """The run-time size of the arrays of a function: that of any prefix."""
    views = (use.operation for arg in function.args for use in arg.uses)
    steps = (
        (view.layer, step) for view in views if isinstance(view, TransformOp) for step in view.layer.steps
    )
    found = (
        Param(COUNT, step.rule.least, layer.upper_sizes(step)[0])
        for layer, step in steps
        if isinstance(step.rule, Prefix)
    )
    return next(found, None)


def kernel(
    op: LaunchOp, name: str, reader: Reader, arguments: tuple[Buffer, ...], outputs: frozenset[str]
) -> Kernel:
    """One launch as a kernel."""
    builder = Builder(reader, is_cpu=op.block_size.data == 1)
    grid, block = op.grid_size.data, op.block_size.data
    reader.indices |= {op.workgroup: var("workgroup", grid), op.item: var("workitem", block)}
    body = builder.block(op.body.block)
    most = grid_of(dict.fromkeys(builder.ends), grid)
    if op.block_size.data == 1:
        body = fused(body) if builder.inner is None else fused_parts(body)
    maps = tuple(builder.maps.items())
    made = Kernel(name, arguments, outputs, grid, block, tuple(body), maps, grid=most)
    return made if made.pipeline is None else replace(made, grid=made.pipeline.tiles.started)


MOST_INT = (1 << 31) - 1


@dataclass
class Builder:
    """One launch.  `scopes` are the statement lists of the loops around the current operation, outermost
    first; inner: how many of them are around a part of an output tile, where workgroups share tiles.  ends:
    guards of what is stored in an array, by the run-time size.
    """

    reader: Reader
    is_cpu: bool
    scopes: list[panel.Scope] = field(default_factory=lambda: list[panel.Scope]())
    clips: dict[str, Lin] = field(default_factory=lambda: dict[str, Lin]())
    maps: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    inner: int | None = None
    ends: list[Guard] = field(default_factory=lambda: list[Guard]())

    def block(self, block: Block, loop: str = "", index: Lin | None = None) -> list[Stmt]:
        """Statements of a block; `loop` is the variable that the block's loop adds."""
        scope = panel.Scope(loop, [], index, {loop} if loop else set())
        self.scopes.append(scope)
        for op in block.ops:
            self._operation(op)
        self.scopes.pop()
        return scope.body

    def _operation(self, op: Operation) -> None:
        body = self.scopes[-1].body
        match op:
            case ConstantOp():
                if (value := constant_of(op.result)) is not None:
                    self.reader.indices[op.result] = lin(value)
            case AddiOp():
                self.reader.indices[op.result] = self.reader.indices[op.lhs] + self.reader.indices[op.rhs]
            case ForOp():
                self._loop(op)
            case SegmentOp() | BoundOp() | GroupOp() | TileOp() | WithinOp():
                self._number(op)
            case AllocOp():
                body.append(Alloc(self.reader.declare(op.result, "buffer")))
            case SubviewOp():
                body.append(self._subview(op))
            case FillOp() if not self.is_cpu:  # a CPU's first product overwrites its tile instead
                body.append(Fill(self.reader.buffers[op.buffer], filled_with(op)))
            case LdsBarrierOp():
                body.append(Barrier(op.in_flight.data if op.in_flight is not None else 0))
            case SignalOp() | AwaitOp() | JoinOp():
                body.append(self._met(op))
            case ThreadwiseCopyOp():
                self._copy(op)
            case ThreadwiseGemmOp():
                if self.is_cpu:
                    body.append(panel.product(op, self.reader, self.clips, self._step()))
                else:
                    body += lane.product(op, self.reader)
            case ThreadwiseWindowsOp():
                self._see(op.filter, op.window, op.c)
                self._end(op.c, op.c_index)
                body.append(windows.windows(op, self.reader))
            case ThreadwiseFilterSumsOp():
                self._see(op.output, op.window, op.filter)
                self._end(op.filter, op.filter_index)
                body.append(windows.filter_sums(op, self.reader))
            case WarpgroupGemmOp():
                self._pipeline(op)
            case MfmaOp():
                body += lane.matrix_multiply(op, self.reader)
            case _:
                pass

    def _loop(self, op: ForOp) -> None:
        low, high, step = (self._bound(v) for v in (op.lb, op.ub, op.step))
        assert step.is_constant, "loops have constant steps"
        argument = op.body.block.args[0]
        name = self.reader.fresh(argument.name_hint or "i")
        if low.is_constant and high.is_constant:
            count = len(range(low.const, high.const, step.const))
            if not count:
                return
            index = self.reader.indices[argument] = var(name, count) * step + low
            body = self.block(op.body.block, name, index)
            self.scopes[-1].body.append(For(name, count, tuple(body), rolled=ROLLED in op.attributes))
        elif (count := high.bounds[1]) > 0:
            index = self.reader.indices[argument] = var(name, count)
            body = tuple(self.block(op.body.block, name, index - low))
            start = None if low == lin(0) else low
            self.scopes[-1].body.append(For(name, count, body, start, high, step.const))

    def _bound(self, value: SSAValue) -> Lin:
        """A constant, which may stand outside of the launch, or a number of a plan."""
        found = constant_of(value)
        return self.reader.indices[value] if found is None else lin(found)

    def _number(self, op: SegmentOp | BoundOp | GroupOp | TileOp | WithinOp) -> None:
        """A number of a workgroup's own: what a plan or an order says."""
        match op:
            case SegmentOp():
                self._segment(op)
            case BoundOp():
                first, count = self.reader.index([op.first, op.count])
                index = pairs.bound(op.bound_, first, count, op.turn_)
                self._named(op.result, op.bound_, index, pairs.size(op.bound_, op.k_tiles.data))
            case GroupOp():
                self._group(op)
            case TileOp():
                rows = None if op.rows is None else self.reader.indices[op.rows]
                ((index,), _) = op.map_(rows).at(self.reader.index([op.position]))
                self._named(op.result, "tile", index, op.count)
            case WithinOp():
                (number,) = self.reader.index([op.number])
                past = select(op.first.data + op.count.data - 1 - number, 1, 0)
                self._named(op.result, "within", select(number - op.first.data, past, 0), 2)

    def _segment(self, op: SegmentOp) -> None:
        """What the plan says of a workgroup."""
        walk, quantity = op.walk_, op.quantity_
        workgroup, position = self.reader.index([op.workgroup, op.position])
        index = walk.index(quantity, workgroup, position)
        self._named(op.result, quantity, index, walk.size(quantity))
        self.inner = len(self.scopes)

    def _named(self, value: SSAValue, hint: str, index: Lin, size: int) -> None:
        """A name for a number below `size`, which nobody looks behind: its parts know no closer bound."""
        if not index.is_constant:
            name = self.reader.fresh(value.name_hint or hint)
            self.scopes[-1].body.append(Let(name, index))
            self.scopes[-1].names.add(name)
            index = var(name, size)
        self.reader.indices[value] = index

    def _group(self, op: GroupOp) -> None:
        """A name for a number that memory gives."""
        found, most = param(first_of(self.reader.buffers[op.given]), 0, MOST_INT), op.most.data
        wanted = select(found - 1, found, lin(op.usual.data))
        name = self.reader.fresh("rows")
        self.scopes[-1].body.append(Let(name, select(most - wanted, wanted, lin(most))))
        self.scopes[-1].names.add(name)
        self.reader.indices[op.result] = param(name, 1, most)

    def _met(self, op: SignalOp | AwaitOp | JoinOp) -> Signal | Await | Join:
        """What workgroups tell each other."""
        ref = self.reader.ref(op.flags, self.reader.index(op.flags_index))
        flag = Ref(ref.buffer, ref.offset)
        match op:
            case SignalOp():
                return Signal(flag)
            case JoinOp():
                return Join(flag, op.count.data)
            case AwaitOp(end=None):
                return Await(flag)
            case AwaitOp():
                assert op.end is not None, op
                (end,), (first,) = (self.reader.index(values) for values in ([op.end], op.flags_index))
                return Await(flag, end - first)

    def _subview(self, op: SubviewOp) -> View:
        offset, base = constant_of(op.offset), self.reader.buffers[op.source]
        assert offset is not None, "views of LDS have constant offsets"
        made = self.reader.declare(op.result, "view")
        return View(made, base, offset * base.dtype.bytes)

    def _copy(self, op: ThreadwiseCopyOp) -> None:
        for value in (op.source, op.dest):
            buffer, _, map = self.reader.root(value)
            if map is not None and buffer.space == "global":
                self.maps[buffer.name] = str(map)
        if self.reader.root(op.dest)[0].space == "global":
            self._end(op.dest, op.dest_index)
        if self.is_cpu:
            panel.expect_whole(op)
        if self.is_cpu and self._is_exchange(op):
            self.scopes[-1].body.append(self._exchange(op))
        elif not self.is_cpu:
            self.scopes[-1].body.extend([Comment(self._described(op)), *lane.copy(op, self.reader)])
        elif self.reader.root(op.dest)[0].space == "lds":
            panel.pack(op, self.reader, self.scopes, self.clips)
        else:
            panel.unpack(op, self.reader, self.scopes)

    def _end(self, dest: SSAValue, index: Sequence[SSAValue]) -> None:
        """Keep the guards by the run-time size of what is stored."""
        fixed = self.reader.index(index)
        rest = [var(f"{position}'", size) for position, size in enumerate(sizes(dest)[len(fixed) :])]
        self.ends += filter(is_of_count, self.reader.ref(dest, [*fixed, *rest]).guards)

    def _pipeline(self, op: WarpgroupGemmOp) -> None:
        """The product, and what its operands are views of."""
        self.scopes[-1].body.append(pipeline(op, self.reader))
        self._see(op.a, op.b, op.c)

    def _see(self, *values: SSAValue) -> None:
        """Keep the maps of views, for whoever reads the source."""
        for value in values:
            buffer, _, map = self.reader.root(value)
            if map is not None:
                self.maps[buffer.name] = str(map)

    def _step(self) -> Lin | None:
        """How far the loop over K has come; it is the outermost one, or that around segments is."""
        return next((s.index for s in self.scopes[self.inner or 0 :] if s.loop), None)

    def _is_exchange(self, op: ThreadwiseCopyOp) -> bool:
        """A tile of C and its slot in the workspace, both plain buffers."""
        ends = [self.reader.root(v) for v in (op.source, op.dest)]
        spaces = {buffer.space for buffer, _, _ in ends}
        return spaces == {"private", "global"} and all(map is None for _, _, map in ends)

    def _exchange(self, op: ThreadwiseCopyOp) -> Exchange:
        refs: list[Ref] = []
        for value, index in ((op.source, op.source_index), (op.dest, op.dest_index)):
            rest = [lin(0)] * (len(sizes(value)) - len(index))
            ref = self.reader.ref(value, [*self.reader.index(index), *rest])
            refs.append(Ref(ref.buffer, ref.offset))
        tile = op.source if op.dest_index else op.dest
        return Exchange(refs[1], refs[0], prod(sizes(tile)), op.beta is not None)

    def _described(self, op: ThreadwiseCopyOp) -> str:
        """What a copy does, in terms of the maps that address it."""
        parts: list[str] = []
        for value, index in ((op.source, op.source_index), (op.dest, op.dest_index)):
            buffer, _, map = self.reader.root(value)
            if map is None:
                parts.append(buffer.name)
            else:
                dims = ", ".join(map.variables[len(index) :])
                fixed = ", ".join(str(i) for i in self.reader.index(index))
                parts.append(f"{buffer.name}[{fixed}; {dims}]")
        return f"{parts[0]} -> {parts[1]}"
