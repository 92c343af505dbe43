"""The operands of a gridwise_gemm_ex as tiles, and what both forms of its lowering do with a tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from imbrex.config.block_plan import Multiply
from imbrex.index.expr import lin
from imbrex.index.map import Dim, Layer
from imbrex.index.rule import COUNT
from imbrex.ir.chain import map_of
from imbrex.ir.ops.block import BlockwiseCopyOp, BlockwiseGemmOp
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.rewrite import Run, properties, require_static
from imbrex.ir.shape import shape_of
from imbrex.view.gemm import tile
from imbrex.view.gemm.product import overhang, overlap
from imbrex.view.gemm.sliding_tile import SlidingTile, loaded
from imbrex.view.gemm.tile import Grid, Taps


@dataclass(frozen=True)
class View:
    """A value, and its dims under the names that the tiles use."""

    value: SSAValue
    dims: tuple[Dim, ...]

    def under(self, layers: Sequence[Layer], hint: str, run: Run) -> View:
        """This view through more layers, topmost first."""
        return View(run.view(self.value, layers, hint), layers[0].upper)


@dataclass(frozen=True)
class Tiles:
    """a and b are (step, workgroup, k, m or n), c is (workgroup, m, n).  scales: of a and of b, seen as they
    are, of a microscaled product.  Of steps of several taps, a and b are those of `view.gemm.sliding_tile`.
    """

    grid: Grid
    a: View
    b: View
    c: View
    scales: tuple[View, ...] = ()

    @staticmethod
    def of(
        op: GridwiseGemmExOp, block: tuple[int, int, int], run: Run, taps: StepTaps | None = None
    ) -> Tiles:
        """block: the tile of a workgroup, (m, n, k).  taps: that a step takes together."""
        require_static(op, (op.a, op.b, op.c))
        m, n, k = block
        sizes = {"gemmM": m, "gemmN": n, "gemmK": k}
        a = _grown(op.a, ("gemmG", "gemmK", "gemmM"), sizes, run)
        b = _grown(op.b, ("gemmG", "gemmK", "gemmN"), sizes, run)
        c = _grown(op.c, ("gemmG", "gemmM", "gemmN"), sizes, run)
        have = dict(a.dims) | dict(c.dims)
        blocks = have["gemmM"] // m, have["gemmN"] // n, have["gemmK"] // k
        grid = Grid(have.get("gemmG", 1), *blocks, m, n, k, _slowest(op), None if taps is None else taps.of)
        scales = tuple(
            grown.under(tile.window(grown.dims, grid, side), f"scale_{name}", run)
            for name, side, value, of in zip("ab", "mn", op.scales, (a, b), strict=False)
            for grown in (_grown(value, [d.name for d in of.dims], sizes, run),)
        )
        return Tiles(
            grid,
            _window(a, grid, "m", None if taps is None else taps.a, run),
            _window(b, grid, "n", None if taps is None else taps.b, run),
            c.under(tile.result(c.dims, grid), "c", run),
            scales,
        )


@dataclass(frozen=True)
class StepTaps:
    """Taps that a step takes together, and how their rows lie in the tiles of A and of B; None where each tap
    of A has a tile of its own.
    """

    of: Taps
    a: SlidingTile | None
    b: SlidingTile


def _window(seen: View, grid: Grid, side: str, rows: SlidingTile | None, run: Run) -> View:
    """A's tile of each step of each workgroup, or B's; what overhangs the matrix does not exist."""
    name = "a" if side == "m" else "b"
    if grid.taps is None:
        return seen.under(tile.window(seen.dims, grid, side), name, run)
    if rows is not None and not rows.is_apart(grid.own(side)):
        beyond = overlap(seen.dims, f"gemm{side.upper()}", rows.rows - grid.own(side))
        seen = seen.under(beyond, "padded", run)
    return seen.under(loaded(seen.dims, grid, side, rows), name, run)


def _slowest(op: GridwiseGemmExOp) -> str:
    """The slowest digit: blocks along a run-time size, so that those that exist come first."""
    _, map = map_of(op.c)
    if map is None:
        return "g"
    guards = [guard for guard in map.symbolic.guards if lin(guard.size).mentions(COUNT)]
    names = frozenset[str]().union(*(guard.index.variables for guard in guards))
    *_, m, n = map.variables
    return "m_block" if m in names else "n_block" if n in names else "g"


def _grown(value: SSAValue, names: Sequence[str], sizes: Mapping[str, int], run: Run) -> View:
    """The operand grown to whole tiles."""
    shape = [s for s in shape_of(value) if s is not None]
    dims = tuple(Dim(n, s) for n, s in zip(names[-len(shape) :], shape, strict=True))
    layers = overhang(dims, **sizes)
    return View(run.view(value, layers, "padded"), layers[0].upper if layers else dims)


def copy(
    source: SSAValue,
    source_index: Sequence[SSAValue],
    dest: SSAValue,
    given: Mapping[str, Attribute] | None = None,
) -> BlockwiseCopyOp:
    """A tile at an index, to the whole of `dest`."""
    return BlockwiseCopyOp.build(operands=[source, source_index, dest, []], properties=dict(given or {}))


def product(
    multiply: Multiply,
    a: SSAValue,
    b: SSAValue,
    c: SSAValue,
    index: Sequence[SSAValue] = (),
    scales: Sequence[tuple[SSAValue, Sequence[SSAValue]]] = (),
) -> BlockwiseGemmOp:
    """c[index] += a * b.  scales: of a and of b, with indices, or none."""
    given = properties({"multiply": multiply})
    further = [x for value, at in scales for x in ([value], at)] or [[], [], [], []]
    return BlockwiseGemmOp.build(operands=[a, [], b, [], c, index, *further], properties=given)


def store(
    op: GridwiseGemmExOp,
    source: SSAValue,
    dest: SSAValue,
    index: Sequence[SSAValue],
    vector: int | None = None,
) -> ThreadwiseCopyOp:
    """Registers to C at an index, as the product says: set or added atomically, with its alpha and beta."""
    given = properties(
        {"store_method": op.store_method, "alpha": op.alpha, "beta": op.beta, "vector": vector}
    )
    return ThreadwiseCopyOp.build(operands=[source, [], dest, index], properties=given)
