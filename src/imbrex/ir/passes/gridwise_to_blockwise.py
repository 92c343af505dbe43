"""gridwise-to-blockwise: a gridwise_gemm_ex becomes a launch whose workgroups copy, multiply and store tiles.

On a GPU schedule the tiles of A and B go through an even and an odd LDS buffer, and the loop over K is unrolled by
two: while one buffer is multiplied, the next tile travels to registers, then to the other buffer.

    copy tile 0 -> even
    for step = 0, 2, .. while two more tiles follow:
        barrier; load tile step + 1; multiply even; store it -> odd
        barrier; load tile step + 2; multiply odd;  store it -> even
    an odd number of tiles leaves one:  barrier; multiply even
    an even number leaves two:          barrier; load the last; multiply even; store it -> odd; barrier; multiply odd

On a CPU (pipeline "cpu") a workgroup is one work item: the panels of one operand are packed, those of the other are
packed one by one just before use, and the tile of C is stored once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, i8
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.passes import ModulePass

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Unmerge
from imbrex.ir.element import accumulator_type, element_bytes, zero_of
from imbrex.ir.attrs import Extents
from imbrex.ir.ops.block import BlockwiseCopyOp, BlockwiseGemmOp
from imbrex.ir.ops.grid import GridwiseGemmExOp, LaunchOp
from imbrex.ir.ops.memory import AllocOp, FillOp, LdsBarrierOp, SubviewOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.rewrite import Run, properties, replace_with
from imbrex.ir.shape import LDS, PRIVATE, memref, memref_type, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view import gemm, tile
from imbrex.view.tile import Clusters, Grid


@dataclass(frozen=True)
class GridwiseToBlockwise(ModulePass):
    """See the module's first lines."""

    name = "gridwise-to-blockwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in [o for o in op.walk() if isinstance(o, GridwiseGemmExOp)]:
            run = Run()
            tiles = Tiles.of(product, run)
            body = Run()
            block = Block(arg_types=[IndexType(), IndexType()])
            block.args[0].name_hint, block.args[1].name_hint = "wg", "item"
            is_cpu = product.pipeline is not None and product.pipeline.data == "cpu"
            lower = _cpu if is_cpu else _gpu
            lower(product, tiles, body, block.args[0], block.args[1])
            block.add_ops(body.ops)
            sizes = {"grid_size": tiles.grid.workgroups, "block_size": product.block_size.data}
            run.add(LaunchOp.build(regions=[Region(block)], properties=properties(sizes)))
            replace_with(product, run.ops)


@dataclass(frozen=True)
class View:
    """A value, and its dims under the names that the tiles use."""

    value: SSAValue
    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class Tiles:
    """The operands as tiles: a and b (step, workgroup, k, m or n), c (workgroup, m, n)."""

    grid: Grid
    a: View
    b: View
    c: View

    @staticmethod
    def of(op: GridwiseGemmExOp, run: Run) -> Tiles:
        m, n, k = op.m_per_block.data, op.n_per_block.data, op.k_per_block.data
        sizes = {"gemmM": m, "gemmN": n, "gemmK": k}
        a = _grown(op, op.a, ("gemmG", "gemmK", "gemmM"), sizes, run)
        b = _grown(op, op.b, ("gemmG", "gemmK", "gemmN"), sizes, run)
        c = _grown(op, op.c, ("gemmG", "gemmM", "gemmN"), sizes, run)
        have = dict(a.dims) | dict(c.dims)
        grid = Grid(have.get("gemmG", 1), have["gemmM"] // m, have["gemmN"] // n, have["gemmK"] // k, m, n, k)
        return Tiles(
            grid,
            laid_over(a, tile.window(a.dims, grid, "m"), "a", run),
            laid_over(b, tile.window(b.dims, grid, "n"), "b", run),
            laid_over(c, tile.result(c.dims, grid), "c", run),
        )


def laid_over(view: View, layers: Sequence[Layer], hint: str, run: Run) -> View:
    """The view through more layers, topmost first."""
    return View(run.view(view.value, layers, hint), layers[0].upper)


def _grown(op: GridwiseGemmExOp, value: SSAValue, names: Sequence[str], sizes: dict[str, int], run: Run) -> View:
    """The operand grown to whole tiles."""
    shape = shape_of(value)
    if None in shape:
        raise InvalidOp(op, "sizes are not known here; run 'specialise' first")
    dims = tuple(Dim(n, s) for n, s in zip(names[-len(shape) :], shape, strict=True) if s is not None)
    layers = gemm.overhang(dims, **sizes)
    return View(run.view(value, layers, "padded"), layers[0].upper if layers else dims)


@dataclass(frozen=True)
class Operand:
    """One matrix on its way: its window, its LDS buffers (even, odd) and its staging registers (even, odd)."""

    window: SSAValue
    lds: tuple[SSAValue, SSAValue]
    staged: tuple[SSAValue, SSAValue]
    copy: dict[str, Attribute]


def _gpu(op: GridwiseGemmExOp, tiles: Tiles, run: Run, wg: SSAValue, item: SSAValue) -> None:
    element = memref_type(op.a).get_element_type()
    sides = {"a": (tiles.a, op.m_per_block.data), "b": (tiles.b, op.n_per_block.data)}
    sizes = [op.k_per_block.data * width * element_bytes(element) for _, width in sides.values()]
    shared = run.add(AllocOp.build(operands=[[], []], result_types=[memref(i8, [2 * sum(sizes)], LDS)])).result
    shared.name_hint = "block_shared"
    operands: list[Operand] = []
    start = 0
    for (side, (window, width)), size in zip(sides.items(), sizes, strict=True):
        lds = _buffers(run, shared, side, start, size, memref(element, [op.k_per_block.data, width], LDS))
        operands.append(_operand(op, run, side, window.value, lds, element))
        start += 2 * size
    m, n = _clusters(op, "m"), _clusters(op, "n")
    rows, columns = op.m_per_block.data // m.per_repeat, op.n_per_block.data // n.per_repeat
    shape = [rows * m.per_thread, columns * n.per_thread]
    thread_c = _private(run, "thread_c", accumulator_type(element), shape)
    _fill(run, thread_c)
    _double_buffered(op, tiles.grid.k_steps, operands, run, wg, thread_c)
    c_items = laid_over(tiles.c, tile.computed(tiles.c.dims, m, n), "c", run)
    store = {"store_method": op.store_method, "alpha": op.alpha, "beta": op.beta}
    store["vector"] = op.matrix_c_dest_data_per_write
    split = {"m_repeat": rows, "m_thread": m.per_thread, "n_repeat": columns, "n_thread": n.per_thread}
    source = run.view(thread_c, (_split(shape, split),), "thread_c")
    run.add(ThreadwiseCopyOp.build(operands=[source, [], c_items.value, [wg, item]], properties=properties(store)))


def _double_buffered(
    op: GridwiseGemmExOp, steps: int, operands: Sequence[Operand], run: Run, wg: SSAValue, thread_c: SSAValue
) -> None:
    k = op.k_per_block.data

    def load(into: Run, step: SSAValue, ahead: int, parity: int) -> None:
        for o in operands:
            moved = properties({"move_source_offset": ahead * k})
            into.add(_copy(o.window, [step, wg], o.staged[parity], [], o.copy | moved))

    def store(into: Run, parity: int) -> None:
        for o in operands:
            into.add(_copy(o.staged[1 - parity], [], o.lds[parity], [], o.copy))

    def multiply(into: Run, parity: int) -> None:
        into.add(_block_gemm(op, operands[0].lds[parity], operands[1].lds[parity], thread_c))

    def both_halves(into: Run, step: SSAValue) -> None:
        for parity in (0, 1):
            into.add(LdsBarrierOp.build())
            load(into, step, 1 + parity, parity)
            multiply(into, parity)
            store(into, 1 - parity)

    first = run.index(0)
    for o in operands:
        run.add(_copy(o.window, [first, wg], o.lds[0], [], o.copy))
    pairs = (steps - 1) // 2
    run.loop("step", 0, 2 * pairs, 2, both_halves)
    run.add(LdsBarrierOp.build())
    if steps % 2 == 0:
        load(run, run.index(steps - 2), 1, 0)
        multiply(run, 0)
        store(run, 1)
        run.add(LdsBarrierOp.build())
        multiply(run, 1)
    else:
        multiply(run, 0)


def _cpu(op: GridwiseGemmExOp, tiles: Tiles, run: Run, wg: SSAValue, item: SSAValue) -> None:
    computed = accumulator_type(memref_type(op.a).get_element_type())
    widths = {"a": op.m_per_thread.data, "b": op.n_per_thread.data}
    inner = op.k_inner.data if op.k_inner is not None else 1
    stationary = op.stationary.data if op.stationary is not None else "a"
    views = {
        "a": run.view(tiles.a.value, tile.panels(tiles.a.dims, "m", widths["a"], inner), "a"),
        "b": run.view(tiles.b.value, tile.panels(tiles.b.dims, "n", widths["b"]), "b"),
    }
    lds: dict[str, SSAValue] = {}
    for side, view in views.items():
        dims = shape_of(view)[3 if side == stationary else 2 :]
        lds[side] = run.add(AllocOp.build(operands=[[], []], result_types=[memref(computed, dims, LDS)])).result
        lds[side].name_hint = f"panel_{side}" if side == stationary else f"panels_{side}"
    thread_c = _private(run, "tile_c", computed, [op.m_per_block.data, op.n_per_block.data])
    panels = {"m_panel": op.m_per_block.data // widths["a"], "m_lane": widths["a"]}
    panels |= {"n_panel": op.n_per_block.data // widths["b"], "n_lane": widths["b"]}
    order = ["m_panel", "n_panel", "m_lane", "n_lane"]
    if stationary == "b":
        order[:2] = ["n_panel", "m_panel"]
    c_tiles = run.view(thread_c, (_split([op.m_per_block.data, op.n_per_block.data], panels, order),), "c")
    _fill(run, thread_c)
    other = "b" if stationary == "a" else "a"
    count = panels["m_panel" if stationary == "a" else "n_panel"]

    def one_panel(step: SSAValue, into: Run, panel: SSAValue) -> None:
        into.add(_copy(views[stationary], [step, wg, panel], lds[stationary], [], {}))
        into.add(_block_gemm(op, lds["a"], lds["b"], c_tiles, [panel]))

    def one_step(into: Run, step: SSAValue) -> None:
        into.add(_copy(views[other], [step, wg], lds[other], [], {}))
        into.loop(f"{'m' if stationary == 'a' else 'n'}_panel", 0, count, 1, partial(one_panel, step))

    run.loop("step", 0, tiles.grid.k_steps, 1, one_step)
    store = properties({"store_method": op.store_method, "alpha": op.alpha, "beta": op.beta})
    run.add(ThreadwiseCopyOp.build(operands=[thread_c, [], tiles.c.value, [wg]], properties=store))


def _operand(
    op: GridwiseGemmExOp, run: Run, side: str, window: SSAValue, lds: tuple[SSAValue, SSAValue], element: Attribute
) -> Operand:
    lengths = op.matrix_a_copy_cluster_lengths if side == "a" else op.matrix_b_copy_cluster_lengths
    if lengths is None:
        raise InvalidOp(op, f"'matrix_{side}_copy_cluster_lengths' is needed here; run 'affix-tuning' first")
    reads = op.matrix_a_source_data_per_read if side == "a" else op.matrix_b_source_data_per_read
    writes = op.matrix_a_dest_data_per_write_dim_m if side == "a" else op.matrix_b_dest_data_per_write_dim_n
    slice_sizes = [size // count for size, count in zip(shape_of(lds[0]), lengths.data, strict=True) if size]
    even, odd = (_private(run, f"thread_{side}_{parity}", element, slice_sizes) for parity in ("even", "odd"))
    copy = {"cluster_lengths": lengths, "source_data_per_read": reads, "dest_data_per_write": writes}
    return Operand(window, lds, (even, odd), properties(copy))


def _buffers(
    run: Run, shared: SSAValue, side: str, start: int, size: int, matrix: MemRefType
) -> tuple[SSAValue, SSAValue]:
    """The seeds' views of LDS: bytes of a matrix, its even and odd halves, and each half as a matrix."""

    def part(of: SSAValue, at: int, ty: Attribute, hint: str, dimension: Sequence[int] | None = None) -> SSAValue:
        given: dict[str, Attribute] = {} if dimension is None else {"dimension": Extents(tuple(dimension))}
        made = run.add(SubviewOp.build(operands=[of, run.index(at), []], result_types=[ty], properties=given)).result
        made.name_hint = hint
        return made

    whole = part(shared, start, memref(i8, [2 * size], LDS), f"block_{side}")
    halves: list[SSAValue] = []
    for parity, at in (("even", 0), ("odd", size)):
        bytes_ = part(whole, at, memref(i8, [size], LDS), f"block_{side}_{parity}")
        shape = [s for s in shape_of(matrix) if s is not None]
        halves.append(part(bytes_, 0, matrix, f"matrix_block_{side}_{parity}", shape))
    return halves[0], halves[1]


def _clusters(op: GridwiseGemmExOp, side: str) -> Clusters:
    if side == "m":
        return Clusters(op.m_per_thread.data, op.m_level0_cluster.data, op.m_level1_cluster.data)
    return Clusters(op.n_per_thread.data, op.n_level0_cluster.data, op.n_level1_cluster.data)


def _split(shape: Sequence[int], sizes: dict[str, int], order: Sequence[str] | None = None) -> Layer:
    """A row-major [m, n] buffer with each dim in two parts, in the order of `sizes` or in `order`."""
    dims = [Dim(name, size) for name, size in zip("mn", shape, strict=True)]
    names = list(sizes)
    entries = ((Unmerge(), " ".join(names[:2]), "m"), (Unmerge(), " ".join(names[2:]), "n"))
    return layer_over(dims, *entries, order=order or names, **sizes)


def _private(run: Run, hint: str, element: Attribute, shape: Sequence[int]) -> SSAValue:
    value = run.add(AllocOp.build(operands=[[], []], result_types=[memref(element, shape, PRIVATE)])).result
    value.name_hint = hint
    return value


def _fill(run: Run, buffer: SSAValue) -> None:
    zero = arith.ConstantOp(zero_of(memref_type(buffer).get_element_type()))
    run.add(FillOp.build(operands=[buffer, run.add(zero).result]))


def _copy(
    source: SSAValue,
    source_index: Sequence[SSAValue],
    dest: SSAValue,
    dest_index: Sequence[SSAValue],
    given: dict[str, Attribute],
) -> BlockwiseCopyOp:
    return BlockwiseCopyOp.build(operands=[source, source_index, dest, dest_index], properties=dict(given))


def _block_gemm(
    op: GridwiseGemmExOp, a: SSAValue, b: SSAValue, c: SSAValue, index: Sequence[SSAValue] = ()
) -> BlockwiseGemmOp:
    names = ("m_per_thread", "n_per_thread", "k_per_thread", "m_level0_cluster", "n_level0_cluster")
    names = (*names, "m_level1_cluster", "n_level1_cluster", "pipeline")
    given = {name: op.properties[name] for name in names if name in op.properties}
    reads = {"matrix_a_source_data_per_read": op.m_per_thread, "matrix_b_source_data_per_read": op.n_per_thread}
    return BlockwiseGemmOp.build(operands=[a, [], b, [], c, index], properties=given | properties(reads))
