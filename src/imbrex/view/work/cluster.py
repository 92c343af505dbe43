"""Which tile each workgroup of a cluster computes: units of work, each the tiles of one cluster.

    tiles   (unit, member) -> (batch, row_tile, column_tile)

Whole units are dealt out in rounds:

    unit = number * clusters + place        place = slot, or slot + number modulo clusters

in each of which a slot has its own place; where batches are in turns of one another, and as many clusters as
would give a slot the same turn every time, it has the next place every time.

Units of one batch come in an order of `view.work.workgroup` over blocks, a block being the tiles of a
cluster; members lie along the rows of tiles first.
"""

from __future__ import annotations

from math import gcd

from imbrex.index.expr import Lin
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge, PassThrough, Unmerge
from imbrex.view.work.workgroup import raster_order

__all__ = ["blocks_in_order", "tiles", "unit_in_round"]


def blocks_in_order(row_blocks: int, column_blocks: int, group: int) -> Map:
    """workgroup -> (m_tile, n_tile): `group` blocks along the rows before the next column of them; along a
    row where group is 1.
    """
    if group == 1:
        return raster_order(row_blocks, column_blocks, along="n")
    return raster_order(row_blocks, column_blocks, min(group, row_blocks))


def unit_in_round(slot: Lin, number: Lin, clusters: int, turns: int = 1) -> Lin:
    """Which of a round's units a slot has."""
    return (slot + number) % clusters if gcd(clusters, turns) > 1 else slot


def tiles(blocks: Map, batches: int, cluster: tuple[int, int], batch_first: bool = False) -> Map:
    """The tile of a member at a unit.  blocks: of one batch, unit -> (row block, column block).  batch_first:
    units that follow one another are of different batches.
    """
    (_, rows), (_, columns) = blocks.lower
    lower = (
        Dim("batch", batches),
        Dim("row_tile", rows * cluster[0]),
        Dim("column_tile", columns * cluster[1]),
    )
    spread = layer_over(
        lower,
        (PassThrough(), "batch", "batch"),
        (Unmerge(), "row_block row_member", "row_tile"),
        (Unmerge(), "column_block column_member", "column_tile"),
        order=["batch", "row_member", "column_member", "row_block", "column_block"],
        row_block=rows,
        row_member=cluster[0],
        column_block=columns,
        column_member=cluster[1],
    )
    found = blocks.with_leading(spread.upper[:3])
    digits = ("batch", blocks.upper[0].name)
    gathered = layer_over(
        found.upper,
        (Merge(), "unit", " ".join(digits[::-1] if batch_first else digits)),
        (Merge(), "member", "column_member row_member"),
        order=["unit", "member"],
    )
    return Map((gathered, *found.layers, spread))
