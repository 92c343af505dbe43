"""A workgroup of a GPU with matrix instructions: its waves multiply wave tiles.

A tile in LDS is seen as (k, m) or (k, n) through its layout (`view.stage.lds`); the layout decides where its
elements lie.  C stays in registers in the order of the instruction, and is put into the order of memory just
before it is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, SSAValue

from imbrex.chip import VECTOR_BYTES
from imbrex.config.block_plan import WavesBlock, WavesCopy
from imbrex.index.map import Dim, Layer, Map
from imbrex.ir.element import accumulator_type, element_bytes, in_lds, loaded
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.passes import gridwise_tiles, tiling
from imbrex.ir.passes.gridwise_reading_ahead import SIDES, ReadingAhead
from imbrex.ir.passes.gridwise_reduce import Reduction
from imbrex.ir.passes.gridwise_schedule import Part, finished, work_item_slots
from imbrex.ir.passes.gridwise_steps import BUFFERS, Operand, StepOf, Steps, buffers, stages
from imbrex.ir.passes.gridwise_tiles import StepTaps, Tiles, View
from imbrex.ir.passes.gridwise_workgroup import Workgroup
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, PRIVATE, element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.gemm import sliding_tile
from imbrex.view.gemm.product import overlap
from imbrex.view.gemm.sliding_tile import SlidingTile
from imbrex.view.gemm.tile import Taps
from imbrex.view.mma import wave
from imbrex.view.mma.wave import WaveTiles
from imbrex.view.stage import lds
from imbrex.view.stage.lds import LdsLayout


def taps_of(op: GridwiseGemmExOp, plan: WavesBlock) -> StepTaps | None:
    """Taps that a step of the plan takes together; InvalidOp where its numbers say nothing."""
    if not plan.taps:
        for name, given in (("a", plan.a), ("b", plan.b)):
            if given.tap_rows:
                key = f"matrix_{name}_tap_rows"
                raise InvalidOp(op, f"'{key}' are of a step of several taps, and 'taps' names none", key)
        return None
    k = shape_of(op.a)[-2]
    if len(plan.taps) != 2 or (k or 0) % prod(plan.taps) or plan.k_per_block % plan.taps[0]:
        message = f"'taps' are a count and the channels of each, which divide {k} of gemmK and a step of it"
        raise InvalidOp(op, f"{message}; got {list(plan.taps)}", "taps")
    count, channels = plan.taps
    if channels % plan.k_copied:
        message = (
            f"a step of {plan.k_per_block} of k has {count} taps with a part of {channels} channels each"
        )
        raise InvalidOp(op, message, "k_per_block")
    a = None if plan.copy == "ahead" else _sliding_tile(op, "a", count, plan.a, plan.m_per_block)
    return StepTaps(Taps(count, channels), a, _sliding_tile(op, "b", count, plan.b, plan.n_per_block))


def _sliding_tile(op: GridwiseGemmExOp, name: str, count: int, given: WavesCopy, own: int) -> SlidingTile:
    rows, step = given.tap_rows if len(given.tap_rows) == 2 else (0, 0)
    if rows < own + (count - 1) * abs(step) or step == 0:
        key = f"matrix_{name}_tap_rows"
        message = f"'{key}' are the rows of a tile of {count} taps and those from a tap to the next"
        raise InvalidOp(op, f"{message}; got {list(given.tap_rows)} for {own} rows", key)
    return SlidingTile(count, rows, step)


def workgroup(given: Workgroup, plan: WavesBlock) -> Reduction | None:
    """The body of the launch.  What a second launch adds up comes back."""
    op, tiles, run, item = given.op, given.tiles, given.body, given.item
    element = element_of(op.a)
    block, is_scaled = (plan.m_per_block, plan.n_per_block), bool(tiles.scales)
    cut = tiling.waves(op, plan.multiply, block, plan.k_per_block, is_scaled=is_scaled)
    operands = _operands(op, plan, tiles, cut, run)
    shape = [cut.m_tiles, cut.n_tiles, cut.instruction.c_elements]
    thread_c = run.alloc("thread_c", accumulator_type(element), shape, PRIVATE)
    waves = ReadingAhead(given, plan, cut, operands, thread_c)
    reduction = Reduction.of(op, plan, tiles.c, cut, given.sharing, given.before)
    slots = (
        None if reduction else work_item_slots(given.sharing, given.before, thread_c, plan.block_size, item)
    )

    def multiply(output: SSAValue, into: Run, a: SSAValue, b: SSAValue, step: StepOf) -> None:
        scales = [(of.value, [step(into), output]) for of in tiles.scales]
        into.add(gridwise_tiles.product(plan.multiply, a, b, thread_c, scales=scales))

    def one_tile(into: Run, part: Part) -> None:
        into.zero(thread_c)
        if plan.copy == "ahead" and plan.taps:
            waves.taps_ahead(part, into)
        elif plan.copy == "ahead":
            waves.ahead(part, into)
        elif plan.copy == "staged_ahead":
            waves.staged_ahead(part, into)
        else:
            Steps(part, plan.k_copied, operands, partial(multiply, part.output)).emit(into)
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
    def element(self) -> Attribute:
        """What the tile in LDS has of an element."""
        return in_lds(element_of(self.op.a if self.name == "a" else self.op.b))

    @property
    def own(self) -> int:
        """Rows of A or columns of B that the workgroup multiplies."""
        return self.plan.m_per_block if self.name == "a" else self.plan.n_per_block

    @property
    def taps(self) -> SlidingTile | None:
        """How the taps of a step lie in the tile, or what is multiplied of the rows that are copied."""
        if self.given.copied_rows:
            return SlidingTile(1, self.given.copied_rows, self.own)
        return SlidingTile(self.plan.taps[0], *self.given.tap_rows) if self.given.tap_rows else None

    @property
    def buffers(self) -> int:
        """Buffers in LDS."""
        return self.plan.buffers_of(self.given)

    @property
    def dims(self) -> tuple[Dim, Dim]:
        """The tile as it is copied, (k, m) or (k, n); of several taps, with the channels of one."""
        rows = self.own if self.taps is None else self.taps.rows
        return Dim("k", self.plan.k_copied), Dim(SIDES[self.name], rows)

    @property
    def multiplied(self) -> tuple[Layer, ...]:
        """The tile with k of all taps, over the one that is copied; no layer where that is the same."""
        taps = self.taps
        return (
            () if taps is None or self.plan.copy == "ahead" else sliding_tile.taps(self.dims, self.own, taps)
        )

    @property
    def stored(self) -> Map:
        """Where the elements of a tile lie in LDS."""
        kind, numbers = self.plan.lds_layout, self.given.lds_numbers
        if kind != "plain" and not numbers:
            raise self._lacking("lds_numbers")
        size, given = element_bytes(self.element), () if kind == "plain" else numbers
        layout = LdsLayout(kind, lds.pack_of(self.cut.kpack, size), given)
        order = wave.interleaved(self.dims, self.cut, SIDES[self.name])
        if self.name in self.plan.multiply.turned:
            layout, order = LdsLayout(kind, VECTOR_BYTES // size, given, "d"), ()
        try:
            return lds.stored(self.dims, layout, order)
        except ValueError as error:
            raise InvalidOp(self.op, f"no such layout in LDS: {error}", "lds_layout") from None

    def window(self, tile: View, run: Run) -> SSAValue:
        """The tile in global memory, grown to the rows that are copied, which do not exist there."""
        rows = self.given.copied_rows
        if not rows:
            return tile.value
        if rows < self.own:
            key = f"matrix_{self.name}_copied_rows"
            raise InvalidOp(self.op, f"{rows} rows are copied of a tile of {self.own}", key)
        return tile.under(overlap(tile.dims, SIDES[self.name], rows - self.own), "copied", run).value

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
        return self.plan.copy in ("direct", "ahead")

    def _lacking(self, key: str) -> InvalidOp:
        return InvalidOp(self.op, f"'matrix_{self.name}_{key}' is needed here; run 'affix-tuning' first")


def _operands(
    op: GridwiseGemmExOp, plan: WavesBlock, tiles: Tiles, cut: WaveTiles, run: Run
) -> list[Operand]:
    """A's buffers first, then B's, in one allocation of LDS."""
    matrices = [_Matrix(op, plan, name, cut) for name in SIDES]
    shapes = [[d.size for d in matrix.stored.lower] for matrix in matrices]
    sizes = [prod(shape) * element_bytes(of.element) for of, shape in zip(matrices, shapes, strict=True)]
    total = sum(matrix.buffers * size for matrix, size in zip(matrices, sizes, strict=True))
    shared = run.alloc("block_shared", i8, [total], LDS)
    operands: list[Operand] = []
    start = 0
    for matrix, shape, size in zip(matrices, shapes, sizes, strict=True):
        lies = memref(matrix.element, shape, LDS)
        raw = buffers(run, shared, matrix.name, start, lies, matrix.buffers)
        layers, hints = matrix.stored.layers, BUFFERS
        views = [run.view(r, layers, f"block_{matrix.name}_{hints[i]}") for i, r in enumerate(raw)]
        window = matrix.window(tiles.a if matrix.name == "a" else tiles.b, run)
        seen = [
            run.view(view, matrix.multiplied, f"taps_{matrix.name}_{hints[i]}") if matrix.multiplied else view
            for i, view in enumerate(views)
        ]
        operands.append(_operand(matrix, run, window, views, seen, tiles.grid.k_steps))
        start += matrix.buffers * size
    return operands


def _operand(
    matrix: _Matrix, run: Run, window: SSAValue, views: list[SSAValue], seen: list[SSAValue], steps: int
) -> Operand:
    staged: list[SSAValue] = []
    if not matrix.is_direct:
        ahead = BUFFERS[: matrix.plan.register_tiles] if matrix.plan.copy == "staged_ahead" else None
        split = tiling.slices(matrix.op, matrix.copy, [d.size for d in matrix.dims], matrix.cut.threads)
        shape = split.shape(*(d.size for d in matrix.dims))
        staged = [
            run.alloc(f"thread_{matrix.name}_{parity}", loaded(matrix.element), shape, PRIVATE)
            for parity in ahead or stages(steps, len(views))
        ]
    return Operand(window, views, staged, matrix.copy, seen)
