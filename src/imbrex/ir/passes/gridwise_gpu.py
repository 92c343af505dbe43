"""A workgroup of a GPU: tiles of A and B go through an even and an odd LDS buffer.

The loop over K is unrolled by two: while one buffer is multiplied, the next tile travels to registers, then
to the other buffer.

    copy tile 0 -> even
    for step = 0, 2, .. while two more tiles follow:
        barrier; load tile step + 1; multiply even; store it -> odd
        barrier; load tile step + 2; multiply odd;  store it -> even
    an odd number of tiles leaves one:   barrier; multiply even
    an even number leaves two:           barrier; load the last; multiply even; store it -> odd
                                         barrier; multiply odd
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Attribute, SSAValue

from imbrex.index.map import Dim
from imbrex.ir.attrs import Extents
from imbrex.ir.element import accumulator_type, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.ops.memory import LdsBarrierOp, SubviewOp
from imbrex.ir.passes import gridwise_tiles, tiling
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, PRIVATE, element_of, memref, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view import tile


@dataclass(frozen=True)
class Operand:
    """One matrix on its way: its window, its LDS buffers and its staging registers.

    lds: (even, odd).  staged: the registers of as many of (even, odd) as the loop needs.
    """

    window: SSAValue
    lds: tuple[SSAValue, SSAValue]
    staged: tuple[SSAValue, ...]
    copy: dict[str, Attribute]


def workgroup(op: GridwiseGemmExOp, tiles: Tiles, run: Run, wg: SSAValue, item: SSAValue) -> None:
    """The body of the launch."""
    element = element_of(op.a)
    m, n = tiling.clusters(op, (op.m_per_block.data, op.n_per_block.data), op.block_size.data)
    operands = _operands(op, tiles, run, element)
    rows, columns = op.m_per_block.data // m.per_repeat, op.n_per_block.data // n.per_repeat
    shape = [rows * m.per_thread, columns * n.per_thread]
    thread_c = run.alloc("thread_c", accumulator_type(element), shape, PRIVATE)
    run.zero(thread_c)
    _Loop(op, tiles.grid.k_steps, operands, wg, thread_c).emit(run)
    dims = [Dim(side, size) for side, size in zip("mn", shape, strict=True)]
    held = run.view(thread_c, tile.held(dims, m.per_thread, n.per_thread), "thread_c")
    c = tiles.c.under(tile.computed(tiles.c.dims, m, n), "c", run).value
    run.add(gridwise_tiles.store(op, held, c, [wg, item], op.matrix_c_dest_data_per_write.data))


@dataclass(frozen=True)
class _Loop:
    """The loop over K; parity 0 is even, 1 is odd."""

    op: GridwiseGemmExOp
    steps: int
    operands: Sequence[Operand]
    wg: SSAValue
    thread_c: SSAValue

    def emit(self, run: Run) -> None:
        first = run.index(0)
        for o in self.operands:
            run.add(gridwise_tiles.copy(o.window, [first, self.wg], o.lds[0], o.copy))
        run.loop("step", 0, 2 * ((self.steps - 1) // 2), 2, self._both)
        if self.steps % 2 == 0:
            self._half(run, run.index(self.steps - 2), 0)
        run.add(LdsBarrierOp.build())
        self._multiply(run, 1 - self.steps % 2)

    def _both(self, into: Run, step: SSAValue) -> None:
        self._half(into, step, 0)
        self._half(into, step, 1)

    def _half(self, into: Run, step: SSAValue, parity: int) -> None:
        """Multiply one buffer while the tile after it goes to the other."""
        into.add(LdsBarrierOp.build())
        moved = properties({"move_source_offset": (1 + parity) * self.op.k_per_block.data})
        for o in self.operands:
            into.add(gridwise_tiles.copy(o.window, [step, self.wg], o.staged[parity], o.copy | moved))
        self._multiply(into, parity)
        for o in self.operands:
            into.add(gridwise_tiles.copy(o.staged[parity], [], o.lds[1 - parity], o.copy))

    def _multiply(self, into: Run, parity: int) -> None:
        a, b = self.operands
        into.add(gridwise_tiles.product(self.op, a.lds[parity], b.lds[parity], self.thread_c))


def _operands(op: GridwiseGemmExOp, tiles: Tiles, run: Run, element: Attribute) -> list[Operand]:
    """A's buffers first, then B's, in one allocation of LDS."""
    sides = {"a": (tiles.a, op.m_per_block.data), "b": (tiles.b, op.n_per_block.data)}
    sizes = [op.k_per_block.data * width * element_bytes(element) for _, width in sides.values()]
    shared = run.alloc("block_shared", i8, [2 * sum(sizes)], LDS)
    operands: list[Operand] = []
    start = 0
    for (side, (window, width)), size in zip(sides.items(), sizes, strict=True):
        lds = _buffers(run, shared, side, start, size, memref(element, [op.k_per_block.data, width], LDS))
        operands.append(_operand(op, run, side, window.value, lds, tiles.grid.k_steps))
        start += 2 * size
    return operands


def _operand(
    op: GridwiseGemmExOp, run: Run, side: str, window: SSAValue, lds: tuple[SSAValue, SSAValue], steps: int
) -> Operand:
    is_a, key = side == "a", f"matrix_{side}_copy_cluster_lengths"
    lengths = op.matrix_a_copy_cluster_lengths if is_a else op.matrix_b_copy_cluster_lengths
    if lengths is None:
        raise InvalidOp(op, f"'{key}' is needed here; run 'affix-tuning' first")
    reads = op.matrix_a_source_data_per_read if is_a else op.matrix_b_source_data_per_read
    writes = op.matrix_a_dest_data_per_write_dim_m if is_a else op.matrix_b_dest_data_per_write_dim_n
    share = tiling.share(op, key, lengths.data, shape_of(lds[0]), op.block_size.data)
    parities = ("even", "odd")[: steps - 1]
    staged = [run.alloc(f"thread_{side}_{parity}", element_of(lds[0]), share, PRIVATE) for parity in parities]
    copy = {"cluster_lengths": lengths, "source_data_per_read": reads, "dest_data_per_write": writes}
    return Operand(window, lds, tuple(staged), properties(copy))


def _buffers(
    run: Run, shared: SSAValue, side: str, start: int, size: int, matrix: MemRefType
) -> tuple[SSAValue, SSAValue]:
    """The seeds' views of LDS: bytes of a matrix, its even and odd halves, and each half as a matrix."""
    whole = _part(run, shared, start, memref(i8, [2 * size], LDS), f"block_{side}")
    shape = [s for s in shape_of(matrix) if s is not None]
    halves: list[SSAValue] = []
    for parity, at in (("even", 0), ("odd", size)):
        half = _part(run, whole, at, memref(i8, [size], LDS), f"block_{side}_{parity}")
        halves.append(_part(run, half, 0, matrix, f"matrix_block_{side}_{parity}", shape))
    return halves[0], halves[1]


def _part(
    run: Run, of: SSAValue, at: int, ty: Attribute, hint: str, dimension: Sequence[int] | None = None
) -> SSAValue:
    """The bytes of a buffer from `at` on, as another type."""
    given: dict[str, Attribute] = {} if dimension is None else {"dimension": Extents(tuple(dimension))}
    op = SubviewOp.build(operands=[of, run.index(at), []], result_types=[ty], properties=given)
    op.result.name_hint = hint
    return run.add(op).result
