"""blockwise-to-threadwise: what a workgroup does together becomes what each work item does.

A copy between global memory and LDS goes through registers; a copy on a CPU stays whole.  A product reads
rows of A and of B from LDS into registers for each k, and multiplies them there:

    naive   for k: read A, read B, C += A B
    2x2     A and B in two halves each; the reads of step k + 1 stand between the four products of step k, so
            that each read has two products to arrive in
    cpu     for each panel of the operand that is not stationary: C's register tile += panel A * panel B
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from imbrex.index.map import Dim, Layer
from imbrex.ir.attrs import Offset
from imbrex.ir.ops.block import BlockwiseCopyOp, BlockwiseGemmOp
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp, ThreadwiseGemmOp
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.rewrite import Run, properties, replace_with
from imbrex.ir.shape import PRIVATE, element_of, shape_of, space_of
from imbrex.ir.source import InvalidOp
from imbrex.view import tile
from imbrex.view.tile import Clusters

Indexed = tuple[SSAValue, Sequence[SSAValue]]
"""A view and the leading coordinates that are fixed."""


@dataclass(frozen=True)
class BlockwiseToThreadwise(ModulePass):
    """See the module's first lines."""

    name = "blockwise-to-threadwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for launch in [o for o in op.walk() if isinstance(o, LaunchOp)]:
            found = [o for o in launch.walk() if isinstance(o, BlockwiseCopyOp | BlockwiseGemmOp)]
            lowering = Lowering(launch.item, _sides(found))
            for inner in found:
                run = Run()
                if isinstance(inner, BlockwiseCopyOp):
                    lowering.copy(inner, run)
                else:
                    lowering.product(inner, run)
                replace_with(inner, run.ops)


@dataclass
class Lowering:
    """One launch; a buffer is viewed once for each way in which work items share it."""

    item: SSAValue
    sides: Mapping[SSAValue, str]
    views: dict[tuple[SSAValue, str], SSAValue] = field(
        default_factory=lambda: dict[tuple[SSAValue, str], SSAValue]()
    )

    def copy(self, op: BlockwiseCopyOp, run: Run) -> None:
        spaces = space_of(op.source), space_of(op.dest)
        source_index = list(op.source_index)
        if op.move_source_offset is not None and op.move_source_offset.data:
            k = shape_of(op.source)[len(source_index)]
            assert k is not None and op.move_source_offset.data % k == 0, "a window moves by whole tiles"
            source_index[0] = run.sum(source_index[0], op.move_source_offset.data // k)
        if op.cluster_lengths is None:
            run.add(_copy(op.source, source_index, op.dest, list(op.dest_index), {}))
            return
        cluster = op.cluster_lengths.data
        read, write = (
            properties({"vector": op.source_data_per_read}),
            properties({"vector": op.dest_data_per_write}),
        )
        staged = op.dest if spaces[1] == PRIVATE else op.source
        if PRIVATE not in spaces:
            staged = _registers(run, op.dest, cluster)
        if spaces[0] != PRIVATE:
            view = self._shared(op.source, cluster)
            run.add(_copy(view, [*source_index, self.item], staged, [], read))
        if spaces[1] != PRIVATE:
            run.add(_copy(staged, [], self._shared(op.dest, cluster), [self.item], write))

    def product(self, op: BlockwiseGemmOp, run: Run) -> None:
        pipeline = op.pipeline.data if op.pipeline is not None else "naive"
        if pipeline == "cpu":
            _panels(op, run)
            return
        m = Clusters(op.m_per_thread.data, op.m_level0_cluster.data, op.m_level1_cluster.data)
        n = Clusters(op.n_per_thread.data, op.n_level0_cluster.data, op.n_level1_cluster.data)
        a = self._operand(op.a, "m", m, n, run)
        b = self._operand(op.b, "n", n, m, run)
        part = Part(op, self.item, a, b, run)
        if pipeline == "naive":
            run.loop("k", 0, part.k, 1, part.naive)
            return
        if (a.repeats, b.repeats) != (2, 2):
            have = f"{a.repeats} x {b.repeats}"
            raise InvalidOp(op, f"the 2x2 pipeline needs 2 x 2 thread tiles a work item, got {have}")
        part.pipelined()

    def _shared(self, value: SSAValue, cluster: Sequence[int]) -> SSAValue:
        """A tile (k, m or n) as (workitem, k_item, m_item), after its leading dims."""
        side = value.owner.names[-1] if isinstance(value.owner, TransformOp) else self.sides[value]
        dims = _dims(value, ("k", side))
        return self._viewed(value, tile.copied(dims, side, (cluster[0], cluster[1])), f"items_{side}")

    def _operand(self, value: SSAValue, side: str, own: Clusters, other: Clusters, run: Run) -> Rows:
        layers = tile.operand(_dims(value, ("k", side)), side, own, other)
        view = self._viewed(value, layers, f"rows_{side}")
        repeats = dict(layers[0].upper)[f"{side}_repeat"]
        hint = {"m": "thread_a", "n": "thread_b"}[side]
        registers = run.alloc(hint, element_of(value), [1, repeats * own.per_thread], PRIVATE)
        return Rows(view, registers, own.per_thread, repeats)

    def _viewed(self, value: SSAValue, layers: Sequence[Layer], what: str) -> SSAValue:
        """The view, made right after the value that it views."""
        if (value, what) not in self.views:
            run = Run()
            self.views[value, what] = run.view(value, layers, what)
            assert isinstance(value.owner, Operation)
            Rewriter.insert_op(run.ops, InsertPoint.after(value.owner))
        return self.views[value, what]


@dataclass(frozen=True)
class Rows:
    """An operand in LDS as a work item sees it, and the registers for one k of it."""

    view: SSAValue
    registers: SSAValue
    per_thread: int
    repeats: int


@dataclass(frozen=True)
class Part:
    """The product of one work item; sub-tiles are numbered by (row half, column half)."""

    op: BlockwiseGemmOp
    item: SSAValue
    a: Rows
    b: Rows
    run: Run

    @property
    def k(self) -> int:
        size = shape_of(self.op.a)[0]
        assert size is not None
        return size

    def naive(self, into: Run, k: SSAValue) -> None:
        for rows in (self.a, self.b):
            for half in range(rows.repeats):
                self._read(into, rows, k, half)
        into.add(_product((self.a.registers, []), (self.b.registers, []), (self.op.c, [])))

    def pipelined(self) -> None:
        first = self.run.index(0)
        for rows, half in ((self.a, 0), (self.b, 0), (self.b, 1), (self.a, 1)):
            self._read(self.run, rows, first, half)
        self._multiply(self.run, 0, 0)
        self._multiply(self.run, 0, 1)
        self.run.loop("k", 1, self.k, 1, self._step)
        self._multiply(self.run, 1, 0)
        self._multiply(self.run, 1, 1)

    def _step(self, into: Run, k: SSAValue) -> None:
        self._read(into, self.a, k, 0)
        self._multiply(into, 1, 0)
        self._read(into, self.b, k, 0)
        self._multiply(into, 1, 1)
        self._read(into, self.b, k, 1)
        self._read(into, self.a, k, 1)
        self._multiply(into, 0, 0)
        self._multiply(into, 0, 1)

    def _read(self, into: Run, rows: Rows, k: SSAValue, half: int) -> None:
        given = {"offset_dest": _offset(half * rows.per_thread), "vector": rows.per_thread}
        index = [self.item, k, into.index(half)]
        into.add(_copy(rows.view, index, rows.registers, [], properties(given)))

    def _multiply(self, into: Run, row: int, column: int) -> None:
        width = self.b.per_thread * self.b.repeats
        given = {
            "offset_a": _offset(row * self.a.per_thread),
            "offset_b": _offset(column * self.b.per_thread),
            "offset_c": _offset(row * self.a.per_thread * width + column * self.b.per_thread),
            "m_per_thread": self.a.per_thread,
            "n_per_thread": self.b.per_thread,
        }
        into.add(_product((self.a.registers, []), (self.b.registers, []), (self.op.c, []), properties(given)))


def _sides(ops: Sequence[Operation]) -> dict[SSAValue, str]:
    """The gemm dim, m or n, of each tile in LDS."""
    products = [op for op in ops if isinstance(op, BlockwiseGemmOp)]
    return {tile: side for op in products for tile, side in ((op.a, "m"), (op.b, "n"))}


def _panels(op: BlockwiseGemmOp, run: Run) -> None:
    """c_index holds the stationary panel; the other operand's panels go past it."""
    (stationary,) = op.c_index
    a_moves = len(shape_of(op.b)) == 2
    moving = op.a if a_moves else op.b
    count = shape_of(moving)[0]
    assert count is not None

    def tile_product(into: Run, panel: SSAValue) -> None:
        a_index, b_index = ([panel], []) if a_moves else ([], [panel])
        into.add(_product((op.a, a_index), (op.b, b_index), (op.c, [stationary, panel])))

    run.loop("m_panel" if a_moves else "n_panel", 0, count, 1, tile_product)


def _offset(elements: int) -> Offset | None:
    """An offset, left out where it is 0."""
    return Offset(elements) if elements else None


def _registers(run: Run, dest: SSAValue, cluster: Sequence[int]) -> SSAValue:
    sizes = [size // count for size, count in zip(shape_of(dest), cluster, strict=True) if size is not None]
    return run.alloc("thread_staged", element_of(dest), sizes, PRIVATE)


def _dims(value: SSAValue, last: tuple[str, str]) -> tuple[Dim, ...]:
    """The dims of a tile under the names that `imbrex.view.tile` uses."""
    shape = [s for s in shape_of(value) if s is not None]
    names = (("step", "workgroup", *last) if len(shape) == 4 else last)[-len(shape) :]
    return tuple(Dim(n, s) for n, s in zip(names, shape, strict=True))


def _product(
    a: Indexed, b: Indexed, c: Indexed, given: Mapping[str, Attribute] | None = None
) -> ThreadwiseGemmOp:
    return ThreadwiseGemmOp.build(operands=[*a, *b, *c], properties=dict(given or {}))


def _copy(
    source: SSAValue,
    source_index: Sequence[SSAValue],
    dest: SSAValue,
    dest_index: Sequence[SSAValue],
    given: dict[str, Attribute],
) -> ThreadwiseCopyOp:
    return ThreadwiseCopyOp.build(operands=[source, source_index, dest, dest_index], properties=dict(given))
