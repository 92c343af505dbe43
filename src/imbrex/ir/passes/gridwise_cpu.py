"""A workgroup of a CPU: one work item that packs panels, multiplies them, and stores its tile of C once.

    for each step over K:
        pack all panels of the operand that streams
        for each panel of the operand that is stationary:
            pack it; multiply it with every panel of the other
    store the tile

Panels hold what the unit multiplies: mostly the accumulator's type, to which narrow elements are widened
while they are packed, else the elements themselves, neighbours along k together as the unit's maps say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from imbrex.config.block_plan import PanelBlock
from imbrex.index.map import Dim
from imbrex.ir.element import accumulator_type, dtype_of
from imbrex.ir.element import element_of as type_of
from imbrex.ir.ops.grid import GridwiseGemmExOp
from imbrex.ir.passes import gridwise_tiles
from imbrex.ir.passes.gridwise_schedule import Part, finished
from imbrex.ir.passes.gridwise_tiles import Tiles
from imbrex.ir.passes.gridwise_workgroup import Workgroup
from imbrex.ir.passes.partial_sums import Slots
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import LDS, PRIVATE, element_of, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.ir.unit import unit_of
from imbrex.view.gemm import tile


def workgroup(given: Workgroup, plan: PanelBlock) -> None:
    """The body of the launch."""
    op, tiles, sharing, run = given.op, given.tiles, given.sharing, given.body
    computed = accumulator_type(element_of(op.a))
    rows, columns, stationary = plan.m_per_block, plan.n_per_block, plan.stationary
    _expect_whole(op, plan)
    m_lanes, n_lanes = plan.m_per_thread, plan.n_per_thread
    outer = "m" if stationary == "a" else "n"
    panels = _Panels.of(op, plan, tiles, run)
    tile_c = run.alloc("tile_c" if sharing.plan is None else "sums", computed, [rows, columns], PRIVATE)
    c = run.view(tile_c, tile.paneled([Dim("m", rows), Dim("n", columns)], m_lanes, n_lanes, outer), "c")
    slots = None
    if sharing.has_parts:
        slots = Slots(*sharing.workspace(given.before, computed, [rows, columns]), [])

    def one_panel(step: SSAValue, output: SSAValue, into: Run, panel: SSAValue) -> None:
        index = [step, output, panel]
        into.add(gridwise_tiles.copy(panels.windows[stationary], index, panels.lds[stationary]))
        into.add(gridwise_tiles.product(plan.multiply, panels.lds["a"], panels.lds["b"], c, [panel]))

    def one_step(output: SSAValue, into: Run, step: SSAValue) -> None:
        index = [step, output]
        into.add(gridwise_tiles.copy(panels.windows[panels.streams], index, panels.lds[panels.streams]))
        count = rows // m_lanes if stationary == "a" else columns // n_lanes
        into.loop(f"{outer}_panel", 0, count, 1, partial(one_panel, step, output))

    def one_tile(into: Run, part: Part) -> None:
        into.zero(tile_c)
        part.loop(into, partial(one_step, part.output))
        finished(into, part, tile_c, slots, partial(store, part.output))

    def store(output: SSAValue, into: Run) -> None:
        into.add(gridwise_tiles.store(op, tile_c, tiles.c.value, [output]))

    sharing.each(run, given.number, one_tile)


def _expect_whole(op: GridwiseGemmExOp, plan: PanelBlock) -> None:
    """InvalidOp unless register tiles cover a block."""
    sides = (("m", plan.m_per_block, plan.m_per_thread), ("n", plan.n_per_block, plan.n_per_thread))
    for side, size, lanes in sides:
        if size % lanes:
            raise InvalidOp(
                op, f"a block's {side} is {size}, not a multiple of {lanes}", f"{side}_per_thread"
            )


@dataclass(frozen=True)
class _Panels:
    """Panels by operand: its window as panels, its buffer of one panel (stationary) or of all (the other)."""

    windows: dict[str, SSAValue]
    lds: dict[str, SSAValue]
    streams: str

    @staticmethod
    def of(op: GridwiseGemmExOp, plan: PanelBlock, tiles: Tiles, run: Run) -> _Panels:
        dtype = dtype_of(element_of(op.a))
        unit = unit_of(op, plan.multiply.instruction, dtype)
        held = type_of(unit.panel(dtype))
        inner, stationary = plan.k_inner, plan.stationary
        if inner % unit.packed:
            message = f"{unit} multiplies {unit.packed} neighbours along k, got 'k_inner' {inner}"
            raise InvalidOp(op, message, "k_inner")
        if plan.k_per_block % inner:
            raise InvalidOp(op, f"k_per_block {plan.k_per_block} is not a multiple of {inner}", "k_inner")
        a = tiles.a.under(tile.panels(tiles.a.dims, "m", plan.m_per_thread, inner), "a", run)
        b = tiles.b.under(tile.panels(tiles.b.dims, "n", plan.n_per_thread, unit.packed), "b", run)
        windows = {"a": a.value, "b": b.value}
        lds: dict[str, SSAValue] = {}
        for side, window in windows.items():
            shape = [s for s in shape_of(window) if s is not None]
            is_stationary = side == stationary
            hint = f"panel_{side}" if is_stationary else f"panels_{side}"
            lds[side] = run.alloc(hint, held, shape[3 if is_stationary else 2 :], LDS)
        return _Panels(windows, lds, "b" if stationary == "a" else "a")
