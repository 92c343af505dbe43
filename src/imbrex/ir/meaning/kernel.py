"""Meaning of the grid, block and thread levels, and of views and buffers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, assert_never

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Operation

from imbrex.config.block_plan import ItemsMultiply, ItemsProduct, PanelMultiply, WavesMultiply
from imbrex.dtype import DType
from imbrex.index.map import Dim, Map
from imbrex.ir.element import dtype_of
from imbrex.ir.meaning import matrix, memory, shared
from imbrex.ir.meaning.memory import Array, View
from imbrex.ir.meaning.parts import Parts, k_by_m
from imbrex.ir.meaning.problem import by_scales, multiplied, numbers, scaled
from imbrex.ir.meaning.races import Ledger
from imbrex.ir.meaning.warpgroup import Workgroup
from imbrex.ir.ops.block import BlockwiseCopyOp, BlockwiseGemmOp
from imbrex.ir.ops.finish import FinishOp
from imbrex.ir.ops.grid import GridwiseGemmExOp, GridwiseGemmOp, GridwiseOp, LaunchOp
from imbrex.ir.ops.matrix import MfmaOp
from imbrex.ir.ops.memory import AllocOp, FillOp, LdsBarrierOp, SubviewOp
from imbrex.ir.ops.schedule import AwaitOp, BoundOp, GroupOp, JoinOp, SegmentOp, SignalOp, TileOp, WithinOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp, ThreadwiseGemmOp
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.ir.ops.windows import ThreadwiseFilterSumsOp, ThreadwiseWindowsOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.passes import tiling
from imbrex.ir.shape import PRIVATE, memref_type, shape_of, space_of
from imbrex.view.gemm import tile
from imbrex.view.mma import instruction


@register_impls
@dataclass
class KernelFunctions(InterpreterFunctions):
    """Everything below the problem.

    items: work items of the launch that runs; ledgers: of the LDS buffers of its workgroup.  views: the maps
    of the views met so far, with the shapes that they give; starts: the first elements of copies; parts: what
    products take of a, b and c; buffers: what is allocated.  A loop asks for the same ones at each turn.
    """

    items: int = 1
    ledgers: list[Ledger] = field(default_factory=lambda: list[Ledger]())
    views: dict[TransformOp, tuple[Map, list[int]]] = field(
        default_factory=lambda: dict[TransformOp, tuple[Map, list[int]]]()
    )
    starts: dict[ThreadwiseCopyOp, tuple[int, int]] = field(
        default_factory=lambda: dict[ThreadwiseCopyOp, tuple[int, int]]()
    )
    parts: dict[ThreadwiseGemmOp, Parts] = field(default_factory=lambda: dict[ThreadwiseGemmOp, Parts]())
    buffers: dict[AllocOp, tuple[DType, list[int], int]] = field(
        default_factory=lambda: dict[AllocOp, tuple[DType, list[int], int]]()
    )

    @impl(TransformOp)
    def transform(self, interpreter: Interpreter, op: TransformOp, args: PythonValues) -> PythonValues:
        if op not in self.views:
            layer = op.layer
            self.views[op] = Map((layer,)), [d.size for d in layer.upper]
        return (args[0].seen_through(*self.views[op]),)

    @impl(FinishOp)
    def finish(self, interpreter: Interpreter, op: FinishOp, args: PythonValues) -> PythonValues:
        source, *arrays = args
        return (replace(source, finish=memory.Finish(op.epilogue, tuple(arrays))),)

    @impl(GridwiseGemmOp)
    def gridwise_gemm(self, interpreter: Interpreter, op: GridwiseGemmOp, args: PythonValues) -> PythonValues:
        return _gridwise(op, args)

    @impl(GridwiseGemmExOp)
    def gridwise_gemm_ex(
        self, interpreter: Interpreter, op: GridwiseGemmExOp, args: PythonValues
    ) -> PythonValues:
        return _gridwise(op, args)

    @impl(LaunchOp)
    def launch(self, interpreter: Interpreter, op: LaunchOp, args: PythonValues) -> PythonValues:
        self.items = op.block_size.data
        for workgroup in range(op.grid_size.data):
            self.ledgers.clear()
            interpreter.run_ssacfg_region(op.body, (workgroup, np.arange(self.items)), "workgroup")
        return ()

    @impl(AllocOp)
    def alloc(self, interpreter: Interpreter, op: AllocOp, args: PythonValues) -> PythonValues:
        if op not in self.buffers:
            self.buffers[op] = *_typed(op.result), space_of(op.result)
        dtype, shape, space = self.buffers[op]
        if space == PRIVATE:
            return (memory.private(dtype, shape, self.items),)
        made = memory.shared(dtype, shape, self.items)
        assert made.ledger is not None
        self.ledgers.append(made.ledger)
        return (made,)

    @impl(WorkspaceOp)
    def workspace(self, interpreter: Interpreter, op: WorkspaceOp, args: PythonValues) -> PythonValues:
        return (memory.workspace(*_typed(op.result), op.zeroed is not None and op.zeroed.data),)

    @impl(SegmentOp)
    def segment(self, interpreter: Interpreter, op: SegmentOp, args: PythonValues) -> PythonValues:
        return (shared.number(op, *args),)

    @impl(BoundOp)
    def bound(self, interpreter: Interpreter, op: BoundOp, args: PythonValues) -> PythonValues:
        return (shared.bound(op, *args),)

    @impl(GroupOp)
    def group(self, interpreter: Interpreter, op: GroupOp, args: PythonValues) -> PythonValues:
        return (shared.group(op, *args),)

    @impl(TileOp)
    def tile(self, interpreter: Interpreter, op: TileOp, args: PythonValues) -> PythonValues:
        return (shared.tile(op, *args),)

    @impl(WithinOp)
    def within(self, interpreter: Interpreter, op: WithinOp, args: PythonValues) -> PythonValues:
        return (int(args[0] in range(op.first.data, op.first.data + op.count.data)),)

    @impl(JoinOp)
    def join(self, interpreter: Interpreter, op: JoinOp, args: PythonValues) -> PythonValues:
        return ()  # the launch before has ended

    @impl(SignalOp)
    def signal(self, interpreter: Interpreter, op: SignalOp, args: PythonValues) -> PythonValues:
        flags, *index = args
        flags.store(np.int32(1), index)
        return ()

    @impl(AwaitOp)
    def await_(self, interpreter: Interpreter, op: AwaitOp, args: PythonValues) -> PythonValues:
        shared.all_lowered(*args)
        for ledger in self.ledgers:
            ledger.barrier()
        return ()

    @impl(SubviewOp)
    def subview(self, interpreter: Interpreter, op: SubviewOp, args: PythonValues) -> PythonValues:
        source, offset, *_ = args
        dtype, shape = _typed(op.result)
        return (source.part(offset * source.dtype.bytes, dtype, shape),)

    @impl(FillOp)
    def fill(self, interpreter: Interpreter, op: FillOp, args: PythonValues) -> PythonValues:
        args[0].store(np.asarray(args[1]))
        return ()

    @impl(LdsBarrierOp)
    def barrier(self, interpreter: Interpreter, op: LdsBarrierOp, args: PythonValues) -> PythonValues:
        for ledger in self.ledgers:
            ledger.barrier()
        return ()

    @impl(BlockwiseCopyOp)
    def blockwise_copy(
        self, interpreter: Interpreter, op: BlockwiseCopyOp, args: PythonValues
    ) -> PythonValues:
        source, source_index, dest, dest_index = _grouped(op, args)
        if op.move_source_offset is not None:
            k = source.remaining(source_index)[0]
            source_index[0] = source_index[0] + op.move_source_offset.data // k
        adds = op.store_method is not None and op.store_method.data == "atomic_add"
        if source.items is None and dest.items is None:
            dest.store(source.load(source_index), dest_index, add=adds)
        elif source.items is None:
            rows, columns = _shares(op, source.remaining(source_index), self.items)
            dest.store(source.load(source_index)[rows, columns], dest_index)
        else:
            rows, columns = _shares(op, dest.remaining(dest_index), self.items)
            block = np.empty(dest.remaining(dest_index), source.data.dtype)
            block[rows, columns] = source.load(source_index).reshape(rows.shape)
            dest.store(block, dest_index, add=adds)
        return ()

    @impl(BlockwiseGemmOp)
    def blockwise_gemm(
        self, interpreter: Interpreter, op: BlockwiseGemmOp, args: PythonValues
    ) -> PythonValues:
        a, a_index, b, b_index, c, c_index, *scales = _grouped(op, args)
        kind, pack = c.data.dtype, a.dtype.pack
        left, right = numbers(a.load(a_index), a.dtype, kind, 0), numbers(b.load(b_index), b.dtype, kind, 0)
        if scales:
            left = by_scales(left, scales[0], pack, scales[1])
            right = by_scales(right, scales[2], pack, scales[3])
        match multiply := op.multiply.data:
            case PanelMultiply():
                # one has its panels numbered; words of k add a dimension to each
                ranks = left.ndim + right.ndim
                left, right = k_by_m(left, blocked=ranks > 5), k_by_m(right, blocked=ranks > 6)
                product = (left.swapaxes(-1, -2) @ right)[None]
            case WavesMultiply():
                block = left.shape[1], right.shape[1]
                cut = tiling.waves(op, multiply, block, left.shape[0] // pack, self.items, bool(scales))
                rows, columns = matrix.owned(cut, block)
                product = (left.T @ right)[rows, columns]
            case ItemsProduct():
                rows, columns = _owned(op, multiply.multiply, left.shape[1], right.shape[1], self.items)
                product = (left.T @ right)[rows, columns].reshape(self.items, *c.shape)
            case _:
                assert_never(multiply)
        c.store(c.load(c_index) + product, c_index)
        return ()

    @impl(ThreadwiseCopyOp)
    def threadwise_copy(
        self, interpreter: Interpreter, op: ThreadwiseCopyOp, args: PythonValues
    ) -> PythonValues:
        source, source_index, dest, dest_index = _grouped(op, args)
        shapes = [source.remaining(source_index), dest.remaining(dest_index)]
        box = shapes[1] if source.map is None and not source_index else shapes[0]
        if op not in self.starts:
            self.starts[op] = op.source_start, op.dest_start
        source_start, dest_start = self.starts[op]
        values, written = source.copied(source_index, source_start, _plain(source, source_index, box))
        values = matrix.turned(values, source.dtype, dest.dtype)
        target = dest_index, dest_start, _plain(dest, dest_index, box)
        if op.alpha is not None or op.beta is not None:
            reads = op.beta is not None and op.beta.data != 0
            values = scaled(values, dest.load(*target) if reads else values, op.alpha, op.beta)
        adds = op.store_method is not None and op.store_method.data == "atomic_add"
        dest.store(values, *target, add=adds, written=written)
        return ()

    @impl(ThreadwiseGemmOp)
    def threadwise_gemm(
        self, interpreter: Interpreter, op: ThreadwiseGemmOp, args: PythonValues
    ) -> PythonValues:
        a, a_index, b, b_index, c, c_index = _grouped(op, args)
        kind = c.data.dtype
        (left, left_is), (right, right_is), (old, old_is) = (
            v.copied(i) for v, i in ((a, a_index), (b, b_index), (c, c_index))
        )
        left, right = (x if v.items is not None else x[None] for x, v in ((left, a), (right, b)))
        left, right = left.astype(kind), right.astype(kind)
        if op not in self.parts:
            self.parts[op] = Parts.of(op)
        part = self.parts[op]
        written: Any = np.True_
        if not (left_is.all() and right_is.all() and old_is.all()):
            marked = ((left, left_is), (right, right_is), (old, old_is))
            x, y, z = (np.broadcast_to(~np.asarray(known), v.shape).astype(kind) for v, known in marked)
            z = part.multiplied(x, np.ones_like(right), z)
            written = part.multiplied(np.ones_like(left), y, z) == 0
        c.store(part.multiplied(left, right, old), c_index, written=written)
        return ()

    @impl(ThreadwiseWindowsOp)
    def windows(self, interpreter: Interpreter, op: ThreadwiseWindowsOp, args: PythonValues) -> PythonValues:
        taps, taps_index, seen, seen_index, c, c_index = _grouped(op, args)
        kind = seen.dtype.accumulator.numpy
        values = taps.load(taps_index).astype(kind), seen.load(seen_index).astype(kind)
        c.store(np.einsum("iyxds,irycxds->ircs", *values), c_index)
        return ()

    @impl(ThreadwiseFilterSumsOp)
    def filter_sums(
        self, interpreter: Interpreter, op: ThreadwiseFilterSumsOp, args: PythonValues
    ) -> PythonValues:
        met, met_index, seen, seen_index, sums, sums_index = _grouped(op, args)
        kind = seen.dtype.accumulator.numpy
        values = met.load(met_index).astype(kind), seen.load(seen_index).astype(kind)
        sums.store(np.einsum("inrcs,inrycxds->iyxds", *values), sums_index)
        return ()

    @impl(WarpgroupGemmOp)
    def warpgroup_gemm(
        self, interpreter: Interpreter, op: WarpgroupGemmOp, args: PythonValues
    ) -> PythonValues:
        a, b, c, workgroup, *slots = args
        partials, flags = slots or (None, None)
        Workgroup(op, workgroup, a, b, c, partials, flags).run()
        return ()

    @impl(MfmaOp)
    def mfma(self, interpreter: Interpreter, op: MfmaOp, args: PythonValues) -> PythonValues:
        a, a_index, b, b_index, c, c_index, *further = _grouped(op, args)
        kind, used = c.data.dtype, instruction(op.instruction.data)
        old, pairs = c.load(c_index), ((a, a_index), (b, b_index))
        of_a, of_b = (numbers(v.load(i).reshape(self.items, -1), v.dtype, kind) for v, i in pairs)
        flat = of_a, of_b, old.reshape(self.items, -1)
        held = (v.load(i).reshape(self.items, -1) for v, i in zip(further[::2], further[1::2], strict=True))
        scales = [x[:, op.scale_place.data :][:, :1] for x in held if op.scale_place is not None]
        c.store(matrix.multiplied(used, *flat, scales=scales).reshape(old.shape), c_index)
        return ()


def _gridwise(op: GridwiseOp, args: PythonValues) -> PythonValues:
    a, b, c, *scales = args
    kind = a.dtype.accumulator.numpy
    left, right = numbers(a.load(), a.dtype, kind, -2), numbers(b.load(), b.dtype, kind, -2)
    if scales:
        left, right = (by_scales(x, s, a.dtype.pack) for x, s in zip((left, right), scales, strict=True))
    product = multiplied(left, right, op.phases)
    old = c.load() if op.beta is not None else product
    c.store(scaled(product, old, op.alpha, op.beta), add=op.adds_atomically)
    return ()


def _grouped(op: Operation, args: PythonValues) -> list[Any]:
    """Arguments as (view, index list) pairs, flattened, in the order of the operands."""
    out: list[Any] = []
    for arg in args:
        if isinstance(arg, View):
            out += [arg, []]
        else:
            out[-1].append(arg)
    return out


def _typed(value: Any) -> tuple[DType, list[int]]:
    shape = [s for s in shape_of(value) if s is not None]
    return dtype_of(memref_type(value).get_element_type()), shape


def _shares(op: BlockwiseCopyOp, tile_shape: tuple[int, ...], items: int) -> tuple[Array, Array]:
    """Tile coordinates (k, m) of each work item's elements: arrays (workitem, k_item, m_item)."""
    assert op.cluster_lengths is not None
    dims = [Dim(n, s) for n, s in zip("km", tile_shape, strict=True)]
    if op.slice_lengths is not None:
        split = tiling.slices(op, op.properties, tile_shape, items)
        map = Map(tile.copy_slices(dims, "m", split))
    else:
        k, m = op.cluster_lengths.data
        map = Map(tile.copied(dims, "m", (k, m)))
    coords, _ = map.evaluate(list(np.indices([d.size for d in map.upper])))
    return coords[0], coords[1]


def _owned(
    op: BlockwiseGemmOp, multiply: ItemsMultiply, m_size: int, n_size: int, items: int
) -> tuple[Array, Array]:
    """Tile coordinates (m, n) of each work item's part of C."""
    m, n = tiling.clusters(op, multiply, (m_size, n_size), items)
    map = Map(tile.computed([Dim("workgroup", 1), Dim("m", m_size), Dim("n", n_size)], m, n))
    _, *sizes = [d.size for d in map.upper]
    coords, _ = map.evaluate([0, *np.indices(sizes)])
    return coords[1], coords[2]


def _plain(view: View, index: list[Any], box: tuple[int, ...]) -> tuple[int, ...] | None:
    """The box, where a plain buffer is read as a run of elements."""
    return box if view.map is None and not index and view.shape != box else None
