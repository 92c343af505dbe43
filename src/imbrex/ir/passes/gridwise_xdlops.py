"""A workgroup of a GPU with matrix instructions: its waves multiply wave tiles.

A tile in LDS is seen as (k, m) or (k, n) through its layout (`view.stage.lds`); the layout decides where its
elements lie.  C stays in registers in the order of the instruction, and is put into the order of memory just
before it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Final

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, SSAValue

from imbrex.chip import VECTOR_BYTES
from imbrex.config.block_plan import WavesBlock, WavesCopy
from imbrex.index.map import Dim, Map
from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.passes import gridwise_tiles, tiling
from imbrex.ir.passes.gridwise_ahead import Ahead
from imbrex.ir.passes.gridwise_reduce import Reduction
from imbrex.ir.passes.gridwise_schedule import Part, finished, work_item_slots
from imbrex.ir.passes.gridwise_steps import BUFFERS, Operand, StepOf, Steps, buffers, stages
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.passes.gridwise_workgroup import Workgroup
from imbrex.ir.passes.threadwise_waves import Fragments, Scales, fragments_of
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, PRIVATE, element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.mma import wave
from imbrex.view.mma.wave import Side, WaveTiles
from imbrex.view.stage import lds
from imbrex.view.stage.lds import LdsLayout

SIDES: Final[Mapping[str, Side]] = {"a": "m", "b": "n"}


def workgroup(given: Workgroup, plan: WavesBlock) -> Reduction | None:
    """The body of the launch.  What a second launch adds up comes back."""
    op, tiles, run, item = given.op, given.tiles, given.body, given.item
    element = element_of(op.a)
    block, is_scaled = (plan.m_per_block, plan.n_per_block), bool(tiles.scales)
    cut = tiling.waves(op, plan.multiply, block, plan.k_per_block, is_scaled=is_scaled)
    operands = _operands(op, plan, tiles, cut, run)
    shape = [cut.m_tiles, cut.n_tiles, cut.instruction.c_elements]
    thread_c = run.alloc("thread_c", accumulator_type(element), shape, PRIVATE)
    waves = _Waves(given, plan, cut, operands, thread_c)
    reduction = Reduction.of(op, plan, tiles.c, cut, given.sharing, given.before)
    slots = (
        None if reduction else work_item_slots(given.sharing, given.before, thread_c, plan.block_size, item)
    )

    def multiply(output: SSAValue, into: Run, a: SSAValue, b: SSAValue, step: StepOf) -> None:
        scales = [(of.value, [step(into), output]) for of in tiles.scales]
        into.add(gridwise_tiles.product(plan.multiply, a, b, thread_c, scales=scales))

    def one_tile(into: Run, part: Part) -> None:
        into.zero(thread_c)
        if plan.copy == "ahead":
            waves.ahead(part, into)
        else:
            Steps(part, plan.k_per_block, operands, partial(multiply, part.output)).emit(into)
        if reduction is None:
            finished(into, part, thread_c, slots, partial(store, part.output))
        else:
            into.add(reduction.leave(_ordered(thread_c, cut, into), part.slot, item))

    def store(output: SSAValue, into: Run) -> None:
        thread_out = _ordered(thread_c, cut, into)
        c = tiles.c.under(wave.computed(tiles.c.dims, cut), "c", into).value
        width = plan.matrix_c_dest_data_per_write
        into.add(gridwise_tiles.store(op, thread_out, c, [output, item], width))

    given.sharing.each(run, given.number, one_tile)
    return reduction


def _ordered(thread_c: SSAValue, cut: WaveTiles, into: Run) -> SSAValue:
    """Registers of C in the order in which `wave.computed` numbers a work item's elements."""
    names = ("m_tile", "n_tile", "register")
    dims = [Dim(name, size or 0) for name, size in zip(names, shape_of(thread_c), strict=True)]
    held = into.view(thread_c, wave.held(dims, cut), "thread_c")
    sizes = [size for size in shape_of(held) if size is not None]
    thread_out = into.alloc("thread_out", element_of(thread_c), sizes, PRIVATE)
    into.add(ThreadwiseCopyOp.build(operands=[held, [], thread_out, []]))
    return thread_out


@dataclass(frozen=True)
class _Waves:
    """What the waves of a workgroup multiply, and the registers of their sums."""

    given: Workgroup
    plan: WavesBlock
    cut: WaveTiles
    operands: Sequence[Operand]
    c: SSAValue

    def ahead(self, part: Part, run: Run) -> None:
        """The loop that reads LDS ahead of its products."""
        plan, cut, op = self.plan, self.cut, self.given.op
        halves = plan.k_per_block // cut.k_step
        parts = wave.parts_of(halves)
        buffers = zip(*(o.lds for o in self.operands), strict=True)
        views = [(fragments_of(a, "m", cut, run), fragments_of(b, "n", cut, run)) for a, b in buffers]
        elements = element_of(op.a), element_of(op.b)
        even, odd = (
            Fragments.of(elements, cut, halves // parts, plan.multiply.turned, name, run)
            for name in ("even", "odd")
        )
        loads = sum(
            plan.k_per_block * size // (given.source_data_per_read * plan.block_size)
            for given, size in ((plan.a, plan.m_per_block), (plan.b, plan.n_per_block))
        )
        scales = self._scales("even", run), self._scales("odd", run)
        Ahead(
            part, plan.k_per_block, self.operands, views, cut, self.given.item, self.c, loads,
            (even, odd), parts, halves // parts, scales,
        ).emit(run)  # fmt: skip

    def _scales(self, name: str, run: Run) -> list[Scales]:
        return [
            Scales.of(of.value, side, self.cut, f"_{name}", run.view, run)
            for side, of in zip(SIDES.values(), self.given.tiles.scales, strict=False)
        ]


@dataclass(frozen=True)
class _Matrix:
    """A or B of a gridwise product: the numbers of its copy and of its layout in LDS."""

    op: GridwiseGemmExOp
    plan: WavesBlock
    name: str
    cut: WaveTiles

    @property
    def given(self) -> WavesCopy:
        return self.plan.a if self.name == "a" else self.plan.b

    @property
    def dims(self) -> tuple[Dim, Dim]:
        """The tile, (k, m) or (k, n)."""
        size = self.plan.m_per_block if self.name == "a" else self.plan.n_per_block
        return Dim("k", self.plan.k_per_block), Dim(SIDES[self.name], size)

    @property
    def stored(self) -> Map:
        """Where the elements of a tile lie in LDS."""
        kind, numbers = self.plan.lds_layout, self.given.lds_numbers
        if kind != "plain" and not numbers:
            raise self._lacking("lds_numbers")
        size, given = element_bytes(element_of(self.op.a)), () if kind == "plain" else numbers
        layout = LdsLayout(kind, lds.pack_of(self.cut.kpack, size), given)
        order = wave.interleaved(self.dims, self.cut, SIDES[self.name])
        if self.name in self.plan.multiply.turned:
            layout, order = LdsLayout(kind, VECTOR_BYTES // size, given, "d"), ()
        try:
            return lds.stored(self.dims, layout, order)
        except ValueError as error:
            raise InvalidOp(self.op, f"no such layout in LDS: {error}", "lds_layout") from None

    @property
    def copy(self) -> dict[str, Attribute]:
        """What every copy of this matrix has."""
        given = self.given
        if self.is_direct:
            return properties({"direct": True, "source_data_per_read": given.source_data_per_read})
        for key in ("copy_cluster_lengths", "copy_slice_lengths"):
            if not getattr(given, key):
                raise self._lacking(key)
        return properties(
            {
                "cluster_lengths": given.copy_cluster_lengths,
                "slice_lengths": given.copy_slice_lengths,
                "vector_dim": given.source_vector_read_dim,
                "lane_dim": given.copy_lane_dim,
                "lane_inner": given.copy_lane_inner,
                "source_data_per_read": given.source_data_per_read,
                "dest_data_per_write": given.dest_data_per_write,
            }
        )

    @property
    def is_direct(self) -> bool:
        return self.plan.copy != "staged"

    def _lacking(self, key: str) -> InvalidOp:
        return InvalidOp(self.op, f"'matrix_{self.name}_{key}' is needed here; run 'affix-tuning' first")


def _operands(
    op: GridwiseGemmExOp, plan: WavesBlock, tiles: Tiles, cut: WaveTiles, run: Run
) -> list[Operand]:
    """A's buffers first, then B's, in one allocation of LDS."""
    element = element_of(op.a)
    count = plan.lds_buffers
    matrices = [_Matrix(op, plan, name, cut) for name in SIDES]
    shapes = [[d.size for d in matrix.stored.lower] for matrix in matrices]
    sizes = [prod(shape) * element_bytes(element) for shape in shapes]
    shared = run.alloc("block_shared", i8, [count * sum(sizes)], LDS)
    operands: list[Operand] = []
    start = 0
    for matrix, shape, size in zip(matrices, shapes, sizes, strict=True):
        lies = memref(element_of(op.a if matrix.name == "a" else op.b), shape, LDS)
        raw = buffers(run, shared, matrix.name, start, lies, count)
        layers, hints = matrix.stored.layers, BUFFERS
        views = [run.view(r, layers, f"block_{matrix.name}_{hints[i]}") for i, r in enumerate(raw)]
        window = (tiles.a if matrix.name == "a" else tiles.b).value
        operands.append(_operand(matrix, run, window, views, tiles.grid.k_steps))
        start += count * size
    return operands


def _operand(matrix: _Matrix, run: Run, window: SSAValue, views: list[SSAValue], steps: int) -> Operand:
    staged: list[SSAValue] = []
    if not matrix.is_direct:
        split = tiling.slices(matrix.op, matrix.copy, [d.size for d in matrix.dims], matrix.cut.threads)
        shape = split.shape(*(d.size for d in matrix.dims))
        staged = [
            run.alloc(f"thread_{matrix.name}_{parity}", element_of(views[0]), shape, PRIVATE)
            for parity in stages(steps, len(views))
        ]
    return Operand(window, views, staged, matrix.copy)
