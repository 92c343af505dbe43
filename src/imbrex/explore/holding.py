"""Holding: which lane of which wave keeps an element of a tile of C, and in which of its registers, as a Map.

    (wave, lane, register) -> (row, column) of a workgroup's tile

A register counts the sums of a lane in the order in which they lie.  A wave is a warpgroup that consumes, and
on a CPU one register tile, whose lanes are those of a vector.
"""

from __future__ import annotations

from math import prod
from typing import Final, assert_never

from imbrex.chip import GpuMachine
from imbrex.config.cpu.plan import CpuPlan, CpuTuning
from imbrex.config.general.plan import GeneralPlan, GeneralTuning
from imbrex.config.halo.plan import HaloTuning, HaloWeightTuning, LinesTuning
from imbrex.config.tuning import Tuning
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.explore.products import Product
from imbrex.index.map import Dim, Layer, Map, joined_names, layer_over
from imbrex.index.rule import Broadcast, Fixed, Merge, PassThrough, Unmerge
from imbrex.lower.warpgroup.parts import PingPong, Plain, SplitRows
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.view.gemm import tile
from imbrex.view.mma import wave
from imbrex.view.mma.vector import CPU_UNITS

__all__ = ["held"]

PHASED: Final = "sums of several phases, or of several lines, share the lanes: no lane has one element of C"


def held(product: Product, tuning: Tuning, pipeline: Pipeline | None) -> Map | str:
    """The map, or why there is none that is drawn."""
    match tuning:
        case XdlopsTuning():
            assert isinstance(product.machine, GpuMachine)
            return _of_waves(tuning.plan(product.context, product.machine))
        case GeneralTuning():
            assert isinstance(product.machine, GpuMachine)
            return _of_items(tuning.plan(product.context, product.machine), product.machine.wave_size)
        case CpuTuning():
            return _of_panels(tuning.plan(product.context))
        case WarpgroupTuning() | HaloTuning() | LinesTuning() | HaloWeightTuning():
            return PHASED if pipeline is None else _of_warpgroups(pipeline)
        case _:
            assert_never(tuning)


def _of_waves(plan: XdlopsPlan) -> Map | str:
    """Waves of matrix instructions, whose registers are numbered (m_tile, n_tile, register)."""
    cut, t = plan.wave_tiles, plan.tuning
    if cut is None:
        return "no matrix instruction fits"
    computed = Map(wave.computed(_tile(t.m_per_block, t.n_per_block), cut))
    sizes = {"m_tile": cut.m_tiles, "n_tile": cut.n_tiles, "register": cut.instruction.c_elements}
    registers = Map(wave.held([Dim(*size) for size in sizes.items()], cut)).inverse()
    above = registers.with_leading(computed.upper[:2])
    return _numbered(above, plan.machine.wave_size).then(computed).then(_named(computed))


def _of_items(plan: GeneralPlan, lanes: int) -> Map:
    """Work items, whose sums are numbered as a row-major tile of their own."""
    t, ((m0, n0), (m1, n1)) = plan.tuning, plan.clusters
    m, n = tile.Clusters(t.m_per_thread, m0, m1), tile.Clusters(t.n_per_thread, n0, n1)
    computed = Map(tile.computed(_tile(t.m_per_block, t.n_per_block), m, n))
    sizes = dict(computed.upper)
    own = [
        Dim("m", sizes["m_repeat"] * sizes["m_thread"]),
        Dim("n", sizes["n_repeat"] * sizes["n_thread"]),
    ]
    registers = Map(tile.held(own, t.m_per_thread, t.n_per_thread)).inverse()
    above = registers.with_leading(computed.upper[:2])
    return _numbered(above, min(lanes, plan.block_size)).then(computed).then(_named(computed))


def _of_warpgroups(pipeline: Pipeline) -> Map | str:
    """Consumers that share a tile's rows, or have one each, by the instruction's layout."""
    tiles, team, sums = pipeline.tiles, pipeline.team, pipeline.sums
    if not isinstance(sums, Plain) or not isinstance(team, SplitRows | PingPong):
        return PHASED
    layout, consumers = sums.layout, 1 if isinstance(team, PingPong) else team.consumers
    sizes = {
        "wave": consumers, "row_block": tiles.rows // consumers // layout.m, "m": layout.m,
        "column_block": tiles.columns // layout.n, "n": layout.n,
    }  # fmt: skip
    if prod(sizes.values()) != tiles.rows * tiles.columns:
        return PHASED
    cut = layer_over(
        (Dim("row", tiles.rows), Dim("column", tiles.columns)),
        (Unmerge(), "wave row_block m", "row"),
        (Unmerge(), "column_block n", "column"),
        order=["wave", "row_block", "column_block", "m", "n"],
        **sizes,
    )
    whole = layer_over(
        cut.upper,
        *((PassThrough(), name, name) for name in ("wave", "row_block", "column_block", "m", "n")),
        (Broadcast(), "block", ""),
        order=["wave", "row_block", "column_block", "block", "m", "n"],
        block=1,
    )
    inner = layout.c.with_leading(whole.upper[:3])
    top = layer_over(
        inner.upper,
        (PassThrough(), "wave", "wave"),
        (PassThrough(), "lane", "lane"),
        (Merge(), "register", "row_block column_block register"),
        order=["wave", "lane", "register"],
    )
    return Map((top, *inner.layers, whole, cut))


def _of_panels(plan: CpuPlan) -> Map | str:
    """Register tiles of vectors, in the order in which they are multiplied."""
    t = plan.tuning
    unit = CPU_UNITS[t.unit]
    if unit.tiles is not None or unit.rows != 1:
        return f"{t.unit} computes in tiles of its own, not in vectors of one row"
    outer = "m" if t.stationary == "a" else "n"
    dims = (Dim("m", plan.block_rows), Dim("n", plan.block_columns))
    (cut,) = tile.paneled(dims, t.m_per_thread, t.n_per_thread, outer)
    panels = [d.name for d in cut.upper[:2]]
    vectors = layer_over(
        cut.upper,
        *((PassThrough(), name, name) for name in (*panels, "m_lane")),
        (Unmerge(), "vector lane", "n_lane"),
        order=[*panels, "m_lane", "vector", "lane"],
        vector=t.vectors,
        lane=t.vector_lanes,
    )
    top = layer_over(
        vectors.upper,
        (Merge(), "wave", " ".join(panels)),
        (PassThrough(), "lane", "lane"),
        (Merge(), "register", "m_lane vector"),
        order=["wave", "lane", "register"],
    )
    named = layer_over(
        (Dim("row", plan.block_rows), Dim("column", plan.block_columns)),
        (PassThrough(), "m", "row"),
        (PassThrough(), "n", "column"),
    )
    return Map((top, vectors, cut, named))


def _tile(rows: int, columns: int) -> tuple[Dim, Dim, Dim]:
    return Dim("workgroup", 1), Dim("m", rows), Dim("n", columns)


def _numbered(above: Map, lanes: int) -> Map:
    """(wave, lane, register) over (workgroup, workitem, what counts registers)."""
    (_, _), (_, items), *own = above.upper
    top = layer_over(
        above.upper,
        (Fixed(0), "", "workgroup"),
        (Unmerge(), "wave lane", "workitem"),
        (Merge(), "register", joined_names(own)),
        order=["wave", "lane", "register"],
        wave=items // lanes,
        lane=lanes,
    )
    return Map((top, *above.layers))


def _named(computed: Map) -> Map:
    """(workgroup, m, n) of one workgroup to (row, column)."""
    _, (_, rows), (_, columns) = computed.lower
    layer: Layer = layer_over(
        (Dim("row", rows), Dim("column", columns)),
        (Broadcast(), "workgroup", ""),
        (PassThrough(), "m", "row"),
        (PassThrough(), "n", "column"),
        workgroup=1,
    )
    return Map((layer,))
