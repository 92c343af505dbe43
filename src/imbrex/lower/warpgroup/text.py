"""What a product by warpgroups does with its operands, in words: for `explain` and for comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from imbrex.lower.warpgroup.parts import ClusterK, Dealt, LineWork, OneTile, Planned
from imbrex.lower.warpgroup.pipeline import Drain, Lanes, Pipeline, Stage
from imbrex.numeral import counted
from imbrex.view.tensor import Box, Walk

__all__ = ["described"]


def described(pipeline: Pipeline) -> Mapping[str, str]:
    """A line for each operand, and for who computes what."""
    tiles = pipeline.tiles
    times = f", {tiles.batches} times" if tiles.batches > 1 else ""
    return {
        "instruction": pipeline.sums.layout.name,
        "A": _stage(pipeline.a),
        "B": _stage(pipeline.b),
        "C": _drain(pipeline.c),
        "tiles": f"{tiles.row_tiles} x {tiles.column_tiles}{times}",
        "workgroups": f"{tiles.workgroups}, {_units(pipeline)}",
    }


def _units(pipeline: Pipeline) -> str:
    rows, columns = pipeline.tiles.cluster
    of = f"of {counted(pipeline.tiles.units, 'unit')}" + (
        f" of {rows} x {columns} tiles" if rows * columns > 1 else ""
    )
    match work := pipeline.work:
        case ClusterK():
            stored = f"each stores {counted(pipeline.stored_columns, 'column')}"
            return f"parts of K {of}, {pipeline.parts} in a cluster, {stored}"
        case Planned():
            return f"segments {of}, {work.plan.mode}"
        case OneTile() | Dealt() | LineWork():
            return f"whole ones {of}"
        case _:
            assert_never(work)


def _stage(stage: Stage) -> str:
    tile, way = stage.tile, stage.access
    shape = "x".join(map(str, (tile.k, tile.d)))
    text = f"{shape} in shared memory, {tile.major} major, rows of {tile.swizzle} bytes permuted"
    parts = (
        f", {counted(stage.parts, 'workgroup loads', 'workgroups load')} parts for each other"
        if stage.parts > 1
        else ""
    )
    match way:
        case Box():
            form = f"TMA box of {'x'.join(map(str, way.box))}"
        case Walk():
            form = f"TMA im2col of {counted(way.pixels, 'pixel')}, {counted(way.channels, 'channel')}"
        case Lanes():
            turned = ", turned on the way" if way.along != tile.major else ""
            form = f"loads of {way.width} along {way.along}{turned}, since {way.reason}"
    return f"{form}: {text}{parts}"


def _drain(drain: Drain) -> str:
    if drain.access is not None:
        return f"TMA box of {'x'.join(map(str, drain.access.box))}"
    along = f" along {drain.contiguous}s" if drain.contiguous else ""
    return f"stores of {drain.width}{along}, since {drain.reason}"
