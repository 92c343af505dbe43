"""blockwise-to-threadwise: what a workgroup does together becomes what each work item does.

A copy between global memory and LDS goes through registers; a copy on a CPU stays whole.  A product reads
rows of A and of B from LDS into registers for each k, and multiplies them there:

    naive   for k: read A, read B, C += A B
    2x2     A and B in two halves each; the reads of step k + 1 stand between the four products of step k, so
            that each read has two products to arrive in
    ahead   the rows of step k + 1 go to registers of their own before the whole product of step k
    cpu     for each panel of the operand that is not stationary: C's register tile += panel A * panel B
    xdlops  for each k: read packs of A and of B; every matrix instruction of the wave tile
    (`threadwise_waves`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from imbrex.config.block_plan import ItemsProduct, PanelMultiply, WavesMultiply
from imbrex.index.map import Dim, Layer
from imbrex.ir.attrs import Offset
from imbrex.ir.chain import names_of
from imbrex.ir.element import dtype_of
from imbrex.ir.ops.block import BlockwiseCopyOp, BlockwiseGemmOp
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp, ThreadwiseGemmOp
from imbrex.ir.passes import threadwise_slices, threadwise_waves, tiling
from imbrex.ir.rewrite import Run, insert, properties, require_static, rewrite_each
from imbrex.ir.shape import PRIVATE, element_of, shape_of, space_of
from imbrex.ir.source import InvalidOp
from imbrex.ir.unit import unit_of
from imbrex.view.gemm import tile
from imbrex.view.gemm.tile import Clusters
from imbrex.view.mma.vector import FMA

Indexed = tuple[SSAValue, Sequence[SSAValue]]
"""A view and the leading coordinates that are fixed."""


@dataclass(frozen=True)
class BlockwiseToThreadwise(ModulePass):
    """See the module's first lines."""

    name = "blockwise-to-threadwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for launch in [o for o in op.walk() if isinstance(o, LaunchOp)]:
            found = [o for o in launch.walk() if isinstance(o, BlockwiseCopyOp | BlockwiseGemmOp)]
            lowering = Lowering(launch, _sides(found))
            rewrite_each(found, lowering.rewrite)


@dataclass
class Lowering:
    """One launch; a buffer is viewed once for each way in which work items share it."""

    launch: LaunchOp
    sides: Mapping[SSAValue, str]
    views: dict[tuple[SSAValue, str], SSAValue] = field(
        default_factory=lambda: dict[tuple[SSAValue, str], SSAValue]()
    )

    @property
    def item(self) -> SSAValue:
        return self.launch.item

    def rewrite(self, op: BlockwiseCopyOp | BlockwiseGemmOp, run: Run) -> None:
        if isinstance(op, BlockwiseCopyOp):
            self.copy(op, run)
        else:
            self.product(op, run)

    def copy(self, op: BlockwiseCopyOp, run: Run) -> None:
        require_static(op, (op.source, op.dest))
        source_index, items = _moved(op, run), self.launch.block_size.data
        if op.direct is not None and op.direct.data:
            threadwise_slices.direct(op, source_index, self.item, items, run)
            return
        if op.slice_lengths is not None:
            threadwise_slices.staged(op, source_index, self.item, items, self.viewed, run)
            return
        if op.cluster_lengths is None:
            if items > 1:
                raise InvalidOp(op, f"'cluster_lengths' is needed: {items} work items share the copy")
            method = properties({"store_method": op.store_method})
            run.add(_copy(op.source, source_index, op.dest, list(op.dest_index), method))
            return
        cluster, lane_dim = op.cluster_lengths.data, tiling.number(op, "lane_dim", 1)
        source_is_own, dest_is_own = (space_of(v) == PRIVATE for v in (op.source, op.dest))
        shared, index = (op.dest, op.dest_index) if source_is_own else (op.source, op.source_index)
        own_lengths = tiling.item_lengths(
            op, "cluster_lengths", cluster, shape_of(shared)[len(index) :], items
        )
        staged = op.dest if dest_is_own else op.source
        if not source_is_own:
            if not dest_is_own:
                staged = run.alloc("thread_staged", element_of(op.dest), own_lengths, PRIVATE)
            read = properties({"vector": op.source_data_per_read})
            run.add(
                _copy(
                    self._shared(op.source, cluster, lane_dim), [*source_index, self.item], staged, [], read
                )
            )
        if not dest_is_own:
            write = properties({"vector": op.dest_data_per_write, "store_method": op.store_method})
            at = [*op.dest_index, self.item]
            run.add(_copy(staged, [], self._shared(op.dest, cluster, lane_dim), at, write))

    def product(self, op: BlockwiseGemmOp, run: Run) -> None:
        require_static(op, (op.a, op.b, op.c))
        match multiply := op.multiply.data:
            case PanelMultiply():
                _panels(op, multiply, run)
            case WavesMultiply():
                items = self.launch.block_size.data
                threadwise_waves.product(op, multiply, self.item, items, self.viewed, run)
            case ItemsProduct():
                self._by_items(op, multiply, run)
            case _:
                assert_never(multiply)

    def _by_items(self, op: BlockwiseGemmOp, given: ItemsProduct, run: Run) -> None:
        _expect_reads(op, given)
        block = shape_of(op.a)[-1], shape_of(op.b)[-1]
        m, n = tiling.clusters(op, given.multiply, block, self.launch.block_size.data)
        reads = given.matrix_a_source_data_per_read, given.matrix_b_source_data_per_read
        a = self._operand(op.a, "m", m, n, reads[0], run)
        b = self._operand(op.b, "n", n, m, reads[1], run)
        part = Part(op, self.item, a, b, run)
        match pipeline := given.multiply.pipeline:
            case "naive":
                run.loop("k", 0, part.k, 1, part.naive)
            case "ahead":
                next_a = self._operand(op.a, "m", m, n, reads[0], run)
                part.ahead(replace(part, a=next_a, b=self._operand(op.b, "n", n, m, reads[1], run)))
            case "2x2":
                if (a.repeats, b.repeats) != (2, 2):
                    have = f"{a.repeats} x {b.repeats}"
                    raise InvalidOp(op, f"the 2x2 pipeline needs 2 x 2 thread tiles a work item, got {have}")
                part.pipelined()
            case _:
                assert_never(pipeline)

    def _shared(self, value: SSAValue, cluster: Sequence[int], lane_dim: int) -> SSAValue:
        """A tile (k, m or n) as (workitem, k_item, m_item), after its leading dims."""
        last = names_of(value)[-1]
        side = last if last in tile.OTHER else self.sides.get(value, "m")
        dims = _dims(value, side)
        return self.viewed(
            value, tile.copied(dims, side, (cluster[0], cluster[1]), lane_dim), f"items_{side}"
        )

    def _operand(
        self, value: SSAValue, side: str, own: Clusters, other: Clusters, per_read: int, run: Run
    ) -> Rows:
        layers = tile.operand(_dims(value, side), side, own, other)
        view = self.viewed(value, layers, f"rows_{side}")
        repeats = dict(layers[0].upper)[f"{side}_repeat"]
        hint = {"m": "thread_a", "n": "thread_b"}[side]
        registers = run.alloc(hint, element_of(value), [1, repeats * own.per_thread], PRIVATE)
        return Rows(view, registers, own.per_thread, repeats, per_read)

    def viewed(self, value: SSAValue, layers: Sequence[Layer], what: str) -> SSAValue:
        """The view, made right after the value that it views."""
        if (value, what) not in self.views:
            run = Run()
            self.views[value, what] = run.view(value, layers, what)
            owner = value.owner
            at = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
            insert(run.ops, at, self.launch)
        return self.views[value, what]


@dataclass(frozen=True)
class Rows:
    """An operand in LDS as a work item sees it, and the registers for one k of it."""

    view: SSAValue
    registers: SSAValue
    per_thread: int
    repeats: int
    per_read: int


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
        self._read_all(into, k)
        self._multiply_all(into)

    def ahead(self, odd: Part) -> None:
        """The even steps use these registers, the odd ones those of `odd`."""
        self._read_all(self.run, self.run.index(0))

        def two(into: Run, k: SSAValue) -> None:
            odd._read_all(into, into.sum(k, 1))
            self._multiply_all(into)
            self._read_all(into, into.sum(k, 2))
            odd._multiply_all(into)

        self.run.loop("k", 0, 2 * ((self.k - 1) // 2), 2, two)
        if self.k % 2 == 0:
            odd._read_all(self.run, self.run.index(self.k - 1))
        self._multiply_all(self.run)
        if self.k % 2 == 0:
            odd._multiply_all(self.run)

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

    def _read_all(self, into: Run, k: SSAValue) -> None:
        for rows in (self.a, self.b):
            for half in range(rows.repeats):
                self._read(into, rows, k, half)

    def _multiply_all(self, into: Run) -> None:
        into.add(_product((self.a.registers, []), (self.b.registers, []), (self.op.c, [])))

    def _read(self, into: Run, rows: Rows, k: SSAValue, half: int) -> None:
        given = {"offset_dest": _offset(half * rows.per_thread), "vector": rows.per_read}
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


def _expect_reads(op: BlockwiseGemmOp, given: ItemsProduct) -> None:
    """InvalidOp where a product says of its reads from LDS what it would not do."""
    if given.multiply.k_per_thread != 1:
        raise InvalidOp(op, "work items take one k at a time: write 1", "k_per_thread")
    rows = (
        ("a", given.multiply.m_per_thread, given.matrix_a_source_data_per_read),
        ("b", given.multiply.n_per_thread, given.matrix_b_source_data_per_read),
    )
    for matrix, own, reads in rows:
        if own % reads:
            message = f"{reads} elements are read at a time; it divides the {own} of a row"
            raise InvalidOp(op, message, f"matrix_{matrix}_source_data_per_read")


def _sides(ops: Sequence[Operation]) -> dict[SSAValue, str]:
    """The gemm dim, m or n, of each tile in LDS."""
    products = [op for op in ops if isinstance(op, BlockwiseGemmOp)]
    return {tile: side for op in products for tile, side in ((op.a, "m"), (op.b, "n"))}


def _panels(op: BlockwiseGemmOp, multiply: PanelMultiply, run: Run) -> None:
    """c_index holds the stationary panel; the other operand's panels go past it."""
    (stationary,) = op.c_index
    unit = unit_of(op, multiply.instruction, dtype_of(element_of(op.a)))
    a_moves = len(shape_of(op.b)) == (3 if unit.packed > 1 else 2)
    given = properties({"instruction": None if unit == FMA else unit.name})
    moving = op.a if a_moves else op.b
    count = shape_of(moving)[0]
    assert count is not None

    def tile_product(into: Run, panel: SSAValue) -> None:
        a_index, b_index = ([panel], []) if a_moves else ([], [panel])
        into.add(_product((op.a, a_index), (op.b, b_index), (op.c, [stationary, panel]), given))

    run.loop("m_panel" if a_moves else "n_panel", 0, count, 1, tile_product)


def _offset(elements: int) -> Offset | None:
    """An offset, left out where it is 0."""
    return Offset(elements) if elements else None


def _moved(op: BlockwiseCopyOp, run: Run) -> list[SSAValue]:
    """The index of the source, `move_source_offset` further along k: a window moves by whole tiles."""
    index = list(op.source_index)
    if op.move_source_offset is None or not op.move_source_offset.data:
        return index
    moved, k = op.move_source_offset.data, shape_of(op.source)[len(index)]
    if not index or k is None or moved % k:
        message = f"moves by {moved}, which is not whole steps of a source with {k} of k a step"
        raise InvalidOp(op, message, "move_source_offset")
    return [run.sum(index[0], moved // k), *index[1:]]


def _dims(value: SSAValue, side: str) -> tuple[Dim, ...]:
    """The dims of a tile; the last two are named k and m or n, as `view.gemm.tile` wants them."""
    names = (*names_of(value)[:-2], "k", side)
    return tuple(Dim(n, s) for n, s in zip(names, shape_of(value), strict=True) if s is not None)


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
