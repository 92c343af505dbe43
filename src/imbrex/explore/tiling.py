"""Tiling: how C is cut into tiles, in which order they are begun, and which workgroup computes which part.

Rows are gemmM and columns gemmN, or the other way round where a tuning swaps them; the tiles' own axes are
named after the gemm's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from imbrex.cached import cached_property
from imbrex.chip import GpuMachine
from imbrex.config.configuration import TunedProduct
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.tiles import resident
from imbrex.config.tuning import is_pipelined
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.explore.products import Product
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge, PassThrough, Rule, Slice
from imbrex.lower.warpgroup.parts import ClusterK, Dealt, LineWork, Planned
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.view.work.streamk import Plan, Tiles
from imbrex.view.work.workgroup import RasterOrder, begun

__all__ = ["Tiling", "tiling"]

CORNER = 64
"""Rows and columns of tiles that panels draw, at most; of fewer rows more columns, and the reverse."""


@dataclass(frozen=True)
class Tiling:
    """rows, columns: of C, of all phases.  tile: rows and columns of a workgroup's tile.  depth: of a step.

    blocks: tiles along rows and columns.  order: position -> (batch, m_tile, n_tile), m being rows.  cluster:
    tiles of a unit along rows and columns; a position is a unit's.  plan: who computes which part, where
    several workgroups may have parts of a tile or one has several; at_a_time: workgroups, or clusters.
    is_dealt: those that there are have all positions in turn.
    """

    rows: int
    columns: int
    depth: int
    tile: tuple[int, int]
    blocks: tuple[int, int]
    batches: int
    steps: int
    swapped: bool
    order: Map
    cluster: tuple[int, int]
    plan: Plan | None
    workgroups: int
    at_a_time: int
    xcds: int
    raster: RasterOrder
    is_dealt: bool = False

    @property
    def axes(self) -> tuple[str, str]:
        """Names of the gemm's dims that rows and columns are."""
        return ("n", "m") if self.swapped else ("m", "n")

    @cached_property
    def cuts(self) -> tuple[Map, Map]:
        """(row) -> (m_tile, tm) and (column) -> (n_tile, tn), m being rows."""
        (tile_m, tile_n), (m, n) = self.tile, self.blocks
        return _cut_of("row", self.rows, "m", m, tile_m), _cut_of("column", self.columns, "n", n, tile_n)

    @property
    def is_one_each(self) -> bool:
        """Does workgroup i compute the one tile at position i?"""
        return self.plan is None and not self.is_dealt and self.cluster == (1, 1)

    @cached_property
    def corner(self) -> npt.NDArray[np.int64]:
        """Places of the first tiles of the first batch: [m_tile][n_tile], in units of a cluster."""
        _, *grid = (d.size for d in self.order.lower)
        most = [CORNER * CORNER // min(CORNER, other) for other in reversed(grid)]
        m, n = np.indices([min(count, limit) for count, limit in zip(grid, most, strict=True)])
        (position,), _ = self.order.inverse().evaluate([np.zeros_like(m), m, n])
        return np.broadcast_to(position, m.shape)

    def begun_first(self, count: int) -> list[tuple[int, int, int]]:
        """The first so many positions with their tiles, of the first batch."""
        (positions,) = (d.size for d in self.order.upper)
        first = np.arange(min(count, positions))
        found, _ = self.order.evaluate([first])
        batch, m, n = (np.broadcast_to(x, first.shape).tolist() for x in found)
        return [
            (position, i, j) for position, (g, i, j) in enumerate(zip(batch, m, n, strict=True)) if g == 0
        ]

    def die(self, position: int) -> int:
        """The die on which the workgroup of a position runs, where each workgroup has one."""
        return position % self.xcds

    def turn(self, position: int) -> int:
        """How many rounds of workgroups begin before this position's."""
        return position // max(1, self.at_a_time)


def tiling(product: Product, tuned: TunedProduct, pipeline: Pipeline | None) -> Tiling:
    """The tiles of a product's C."""
    if pipeline is not None:
        return _of_pipeline(product, tuned, pipeline)
    cut, machine, raster = _cut(product, tuned), product.machine, tuned.schedule.order or RasterOrder()
    (rows, columns), batches, l2 = _sizes(product, cut.swapped), product.context.g, machine.l2
    (m_blocks, n_blocks), outputs = cut.blocks, product.context.g * prod(cut.blocks)
    shared = None
    if tuned.schedule.is_shared:
        count = tuned.schedule.on(machine).workgroups or 1
        shared = Plan(Tiles(outputs, 1, cut.steps), count, tuned.schedule.mode)
    return Tiling(
        rows, columns, cut.depth, cut.tile, cut.blocks, batches, cut.steps, cut.swapped,
        begun(batches, m_blocks, n_blocks, raster.group, raster.along, raster.xcds), (1, 1), shared,
        outputs if shared is None else shared.workgroups, resident(machine), 1 if l2 is None else l2.xcds,
        raster,
    )  # fmt: skip


class _Cut(NamedTuple):
    """A workgroup's tile in rows, columns and k; tiles along rows and columns; steps over K."""

    tile: tuple[int, int]
    depth: int
    blocks: tuple[int, int]
    steps: int
    swapped: bool


def _cut(product: Product, tuned: TunedProduct) -> _Cut:
    tuning, context, machine = tuned.tuning, product.context, product.machine
    if isinstance(tuning, CpuTuning):
        plan = tuning.plan(context)
        tile = plan.block_rows, plan.block_columns
        return _Cut(tile, plan.block_k, plan.blocks, plan.k_iterations, tuning.swapped)
    assert isinstance(tuning, GeneralTuning | XdlopsTuning) and isinstance(machine, GpuMachine), tuning
    plan = tuning.plan(context, machine)
    swapped = isinstance(tuning, XdlopsTuning) and tuning.swapped
    tile = tuning.m_per_block, tuning.n_per_block
    return _Cut(tile, tuning.tile[2], plan.blocks, plan.k_iterations, swapped)


def _sizes(product: Product, swapped: bool) -> tuple[int, int]:
    """Rows and columns of C, those of all phases."""
    m, n = product.context.m, product.context.n * product.context.phases
    return (n, m) if swapped else (m, n)


def _of_pipeline(product: Product, tuned: TunedProduct, pipeline: Pipeline) -> Tiling:
    tiles, work = pipeline.tiles, pipeline.work
    assert is_pipelined(tuned.tuning), tuned
    rows, columns = _sizes(product, tuned.tuning.swapped)
    plan = work.plan if isinstance(work, Planned | ClusterK) else None
    at_a_time = tiles.clusters if isinstance(work, Planned | LineWork) else min(tiles.clusters, tiles.units)
    return Tiling(
        rows, columns, pipeline.multiply.depth, (tiles.rows, tiles.columns),
        (tiles.row_tiles, tiles.column_tiles), tiles.batches, tiles.steps, tuned.tuning.swapped,
        _batched(tiles.order, tiles.batches, tiles.is_batch_first), tiles.cluster, plan, tiles.workgroups,
        at_a_time, 1, RasterOrder(), isinstance(work, Dealt),
    )  # fmt: skip


def _batched(order: Map, batches: int, is_batch_first: bool) -> Map:
    """An order of one batch, for all of them: one after the other, or in turn."""
    inner = order.with_leading([Dim("batch", batches)])
    (_, _), (name, _) = inner.upper
    digits = f"{name} batch" if is_batch_first else f"batch {name}"
    return Map((layer_over(inner.upper, (Merge(), "position", digits)), *inner.layers))


def _cut_of(dim: str, size: int, axis: str, tiles: int, tile: int) -> Map:
    """A dim of C as tiles and positions inside of them."""
    names = f"{axis}_tile t{axis}"
    merged = layer_over((Dim(f"{axis}_tile", tiles), Dim(f"t{axis}", tile)), (Merge(), dim, names))
    return Map((layer_over(merged.upper, (_first(size, tiles * tile), dim, dim)), merged))


def _first(size: int, have: int) -> Rule:
    return PassThrough() if size == have else Slice(0, size)
