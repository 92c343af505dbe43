"""A workgroup of a GPU without matrix instructions: work items multiply rows of A and B in registers."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Final

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, SSAValue

from imbrex.config.block_plan import ItemsBlock, ItemsCopy, ItemsProduct
from imbrex.index.map import Dim, Layer
from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.passes import gridwise_tiles, tiling
from imbrex.ir.passes.gridwise_schedule import Part, finished, work_item_slots
from imbrex.ir.passes.gridwise_steps import Operand, StepOf, Steps, buffers, stages
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.passes.gridwise_workgroup import Workgroup
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, PRIVATE, element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.gemm import tile
from imbrex.view.stage import lds

PARITIES: Final = ("even", "odd")


def workgroup(given: Workgroup, plan: ItemsBlock) -> None:
    """The body of the launch."""
    op, tiles, run, item = given.op, given.tiles, given.body, given.item
    element = element_of(op.a)
    block = plan.m_per_block, plan.n_per_block
    m, n = tiling.clusters(op, plan.multiply, block, plan.block_size)
    operands = _operands(op, plan, tiles, run, element)
    rows, columns = block[0] // m.per_repeat, block[1] // n.per_repeat
    shape = [rows * m.per_thread, columns * n.per_thread]
    thread_c = run.alloc("thread_c", accumulator_type(element), shape, PRIVATE)
    slots = work_item_slots(given.sharing, given.before, thread_c, plan.block_size, item)
    multiplied = ItemsProduct(plan.multiply, plan.multiply.m_per_thread, plan.multiply.n_per_thread)

    def multiply(into: Run, a: SSAValue, b: SSAValue, step: StepOf) -> None:
        into.add(gridwise_tiles.product(multiplied, a, b, thread_c))

    def one_tile(into: Run, part: Part) -> None:
        into.zero(thread_c)
        Steps(part, plan.k_per_block, operands, multiply).emit(into)
        finished(into, part, thread_c, slots, partial(store, part.output), at_once=True)

    def store(output: SSAValue, into: Run) -> None:
        dims = [Dim(side, size) for side, size in zip("mn", shape, strict=True)]
        held = into.view(thread_c, tile.held(dims, m.per_thread, n.per_thread), "thread_c")
        c = tiles.c.under(tile.computed(tiles.c.dims, m, n), "c", into).value
        into.add(gridwise_tiles.store(op, held, c, [output, item], plan.matrix_c_dest_data_per_write))

    given.sharing.each(run, given.number, one_tile)


def _operands(
    op: GridwiseGemmExOp, plan: ItemsBlock, tiles: Tiles, run: Run, element: Attribute
) -> list[Operand]:
    """A's buffers first, then B's, in one allocation of LDS."""
    tile = {"a": plan.m_per_block, "b": plan.n_per_block}
    layers = {side: _stored(op, plan, side, width) for side, width in tile.items()}
    shapes = {
        side: [d.size for d in layers[side][-1].lower] if layers[side] else [plan.k_per_block, width]
        for side, width in tile.items()
    }
    sizes = {side: prod(shape) * element_bytes(element) for side, shape in shapes.items()}
    shared = run.alloc("block_shared", i8, [2 * sum(sizes.values())], LDS)
    operands: list[Operand] = []
    start = 0
    for side, window in (("a", tiles.a), ("b", tiles.b)):
        raw = buffers(run, shared, side, start, memref(element, shapes[side], LDS))
        seen = [
            run.view(r, layers[side], f"block_{side}_{parity}")
            for r, parity in zip(raw, PARITIES, strict=True)
        ]
        lengths = _item_lengths(op, plan, side, seen[0])
        staged = [
            run.alloc(f"thread_{side}_{parity}", element_of(seen[0]), lengths, PRIVATE)
            for parity in stages(tiles.grid.k_steps, len(seen))
        ]
        operands.append(Operand(window.value, seen, staged, _copy(plan, side), seen))
        start += 2 * sizes[side]
    return operands


def _stored(op: GridwiseGemmExOp, plan: ItemsBlock, side: str, width: int) -> tuple[Layer, ...]:
    """How a tile (k, m or n) lies in its buffer; () where it is the buffer."""
    numbers, k = _given(plan, side).lds_numbers, plan.k_per_block
    if not numbers:
        return ()
    if len(numbers) != 2 or numbers[0] < 1 or numbers[1] < 0 or k % numbers[0]:
        message = f"takes how many of the {k} rows lie together and a gap, got {list(numbers)}"
        raise InvalidOp(op, message, f"matrix_{side}_lds_numbers")
    return lds.spaced((Dim("k", k), Dim({"a": "m", "b": "n"}[side], width)), *numbers)


def _item_lengths(op: GridwiseGemmExOp, plan: ItemsBlock, side: str, tile: SSAValue) -> list[int]:
    """What a work item copies of a tile."""
    lengths, key = _given(plan, side).copy_cluster_lengths, f"matrix_{side}_copy_cluster_lengths"
    if not lengths:
        raise InvalidOp(op, f"'{key}' is needed here; run 'affix-tuning' first")
    return tiling.item_lengths(op, key, lengths, shape_of(tile), plan.block_size)


def _copy(plan: ItemsBlock, side: str) -> dict[str, Attribute]:
    """What every copy of a matrix has."""
    given = _given(plan, side)
    return properties(
        {
            "cluster_lengths": given.copy_cluster_lengths,
            "lane_dim": 0 if given.copy_lane_dim == 0 else None,
            "source_data_per_read": given.source_data_per_read,
            "dest_data_per_write": given.dest_data_per_write,
        }
    )


def _given(plan: ItemsBlock, side: str) -> ItemsCopy:
    return plan.a if side == "a" else plan.b
