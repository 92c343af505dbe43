"""A workgroup of a GPU without matrix instructions: work items multiply rows of A and B in registers."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Final

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, SSAValue

from imbrex.index.map import Dim, Layer
from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.passes import gridwise_tiles, tiling
from imbrex.ir.passes.gridwise_share import Part, Sharing, finished, work_item_slots
from imbrex.ir.passes.gridwise_steps import Operand, Steps, buffers, stages
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, PRIVATE, element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.gemm import tile
from imbrex.view.stage import lds

PARITIES: Final = ("even", "odd")


def workgroup(
    op: GridwiseGemmExOp, tiles: Tiles, sharing: Sharing, before: Run, run: Run, wg: SSAValue, item: SSAValue
) -> None:
    """The body of the launch; `before` stands outside of it."""
    element = element_of(op.a)
    m, n = tiling.clusters(op, (op.m_per_block.data, op.n_per_block.data), op.block_size.data)
    operands = _operands(op, tiles, run, element)
    rows, columns = op.m_per_block.data // m.per_repeat, op.n_per_block.data // n.per_repeat
    shape = [rows * m.per_thread, columns * n.per_thread]
    thread_c = run.alloc("thread_c", accumulator_type(element), shape, PRIVATE)
    slots = work_item_slots(sharing, before, thread_c, op.block_size.data, item)

    def multiply(into: Run, a: SSAValue, b: SSAValue) -> None:
        into.add(gridwise_tiles.product(op, a, b, thread_c))

    def one_tile(into: Run, part: Part) -> None:
        into.zero(thread_c)
        Steps(part, op.k_per_block.data, operands, multiply).emit(into)
        finished(into, part, thread_c, slots, partial(store, part.output))

    def store(output: SSAValue, into: Run) -> None:
        dims = [Dim(side, size) for side, size in zip("mn", shape, strict=True)]
        held = into.view(thread_c, tile.held(dims, m.per_thread, n.per_thread), "thread_c")
        c = tiles.c.under(tile.computed(tiles.c.dims, m, n), "c", into).value
        into.add(gridwise_tiles.store(op, held, c, [output, item], op.matrix_c_dest_data_per_write.data))

    sharing.each(run, wg, one_tile)


def _operands(op: GridwiseGemmExOp, tiles: Tiles, run: Run, element: Attribute) -> list[Operand]:
    """A's buffers first, then B's, in one allocation of LDS."""
    tile = {"a": op.m_per_block.data, "b": op.n_per_block.data}
    layers = {side: _stored(op, side, width) for side, width in tile.items()}
    shapes = {
        side: [d.size for d in layers[side][-1].lower] if layers[side] else [op.k_per_block.data, width]
        for side, width in tile.items()
    }
    sizes = {side: prod(shape) * element_bytes(element) for side, shape in shapes.items()}
    shared = run.alloc("block_shared", i8, [2 * sum(sizes.values())], LDS)
    operands: list[Operand] = []
    start = 0
    for side, window in (("a", tiles.a), ("b", tiles.b)):
        raw = buffers(run, shared, side, start, sizes[side], memref(element, shapes[side], LDS))
        seen = [
            run.view(r, layers[side], f"block_{side}_{parity}")
            for r, parity in zip(raw, PARITIES, strict=True)
        ]
        operands.append(_operand(op, run, side, window.value, seen, tiles.grid.k_steps))
        start += 2 * sizes[side]
    return operands


def _stored(op: GridwiseGemmExOp, side: str, width: int) -> tuple[Layer, ...]:
    """How a tile (k, m or n) lies in its buffer; () where it is the buffer."""
    numbers = op.matrix_a_lds_numbers if side == "a" else op.matrix_b_lds_numbers
    if numbers is None:
        return ()
    key, k = f"matrix_{side}_lds_numbers", op.k_per_block.data
    if len(numbers.data) != 2 or numbers.data[0] < 1 or numbers.data[1] < 0 or k % numbers.data[0]:
        raise InvalidOp(
            op, f"takes how many of the {k} rows lie together and a gap, got {list(numbers.data)}", key
        )
    return lds.spaced((Dim("k", k), Dim({"a": "m", "b": "n"}[side], width)), *numbers.data)


def _operand(
    op: GridwiseGemmExOp, run: Run, side: str, window: SSAValue, tile_buffers: list[SSAValue], steps: int
) -> Operand:
    is_a, key = side == "a", f"matrix_{side}_copy_cluster_lengths"
    lengths = op.matrix_a_copy_cluster_lengths if is_a else op.matrix_b_copy_cluster_lengths
    if lengths is None:
        raise InvalidOp(op, f"'{key}' is needed here; run 'affix-tuning' first")
    reads = op.matrix_a_source_data_per_read if is_a else op.matrix_b_source_data_per_read
    writes = op.matrix_a_dest_data_per_write_dim_m if is_a else op.matrix_b_dest_data_per_write_dim_n
    share = tiling.share(op, key, lengths.data, shape_of(tile_buffers[0]), op.block_size.data)
    staged = [
        run.alloc(f"thread_{side}_{parity}", element_of(tile_buffers[0]), share, PRIVATE)
        for parity in stages(steps, len(tile_buffers))
    ]
    lane_dim = op.matrix_a_copy_lane_dim if is_a else op.matrix_b_copy_lane_dim
    copy = {
        "cluster_lengths": lengths,
        "lane_dim": lane_dim,
        "source_data_per_read": reads,
        "dest_data_per_write": writes,
    }
    return Operand(window, tile_buffers, staged, properties(copy))
