"""What the IR says of a workgroup whose waves multiply by matrix instructions."""

from __future__ import annotations

from imbrex.config.block_plan import TURNED, WavesBlock, WavesCopy, WavesMultiply
from imbrex.config.xdlops.plan import XdlopsPlan
from imbrex.config.xdlops.stage import TileCopy
from imbrex.view.stage.lds import LdsLayout

__all__ = ["waves_block"]


def waves_block(plan: XdlopsPlan) -> WavesBlock:
    """All that the lowering of a workgroup reads."""
    t, tiles = plan.tuning, plan.wave_tiles
    name = tiles.instruction.name if tiles else t.instruction
    turned = TURNED[plan.turned(plan.a_copy) > 0, plan.turned(plan.b_copy) > 0]
    return WavesBlock(
        plan.block_size,
        t.m_per_block,
        t.n_per_block,
        t.tile[2],
        WavesMultiply(t.m_per_wave, t.n_per_wave, t.kpack, name, t.interleave, turned),
        _copied(plan, plan.a_copy, plan.lds_layouts[0], 0),
        _copied(plan, plan.b_copy, plan.lds_layouts[1], 1),
        plan.c_data_per_write,
        t.lds,
        t.buffers,
        t.copy,
        (t.taps, plan.context.taps.channels) if plan.taps and plan.context.taps else (),
    )


def _copied(plan: XdlopsPlan, copy: TileCopy, layout: LdsLayout, position: int) -> WavesCopy:
    """A copy as the IR says it, and the layout of its block in LDS.  position: 0 for A, 1 for B."""
    tile = plan.sliding_tile(position)
    rows = () if tile is None or plan.taps is None else (tile.rows, tile.step)
    if plan.tuning.is_direct:
        return WavesCopy(plan.direct_vector(copy) or 1, lds_numbers=layout.numbers, tap_rows=rows)
    split = copy.split
    return WavesCopy(
        copy.data_per_read,
        split.vector_dim,
        copy.data_per_write,
        split.clusters,
        split.items,
        split.lane_dim,
        split.lane_inner,
        layout.numbers,
        rows,
        0 if tile is None or plan.taps is not None else tile.rows,
    )
