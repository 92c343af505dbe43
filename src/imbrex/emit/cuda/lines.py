"""Windows line by line as parts of a kernel's struct: what device/cuda/line_gemm.h asks for besides."""

from __future__ import annotations

from imbrex.emit import c
from imbrex.emit.cuda.member import static
from imbrex.index.expr import var
from imbrex.lower.warpgroup import LineWalk, WarpgroupGemm
from imbrex.view.stage.halo_tile import HaloTile

__all__ = ["HEADERS", "functions"]

HEADERS = ("device/cuda/line_gemm.h",)


def functions(gemm: WarpgroupGemm, walk: LineWalk) -> list[str]:
    """The block of the filter that a part of a step's k meets, and where it lies; which lines exist, and are
    a consumer's.
    """
    filters, streams = walk.filter, walk.streams
    k, block, phase = var("k", gemm.depth), var("block", gemm.diagonal), var("phase", filters.rows)
    part = k % gemm.channels
    row = k // gemm.channels * filters.depth + part % filters.depth
    column = (block * filters.places + phase) * filters.each
    first, unit = streams.first_line(streams.slot, streams.consumer), streams.unit(streams.slot, streams.tile)
    place = "int32_t batch, int32_t tile, int32_t step"
    return [
        *(f"static constexpr int {name} = {count};" for name, count in _counts(gemm, walk).items()),
        static("int32_t", "block_of", "int32_t k", c.index(part // filters.depth), is_constant=True),
        static("int32_t", "b_row", "int32_t k", c.index(row), is_constant=True),
        static("int32_t", "b_column", "int32_t block, int32_t phase", c.index(column), is_constant=True),
        static("bool", "line_exists", place, c.guards((walk.exists,))),
        static("int32_t", "first_line", "int32_t slot, int32_t group", c.index(first)),
        static("int32_t", "unit_of", "int32_t slot, int32_t tile", c.index(unit)),
    ]


def _counts(gemm: WarpgroupGemm, walk: LineWalk) -> dict[str, int]:
    tile, streams, slots = gemm.a.share, walk.streams, walk.filter.rows
    assert isinstance(tile, HaloTile), "lines are rasters of one line"
    return {
        "line_rows": walk.line,
        "tile_lines": streams.lines,
        "slots": slots,
        "diagonal": gemm.diagonal,
        "most_turns": streams.most_lines + (slots - 1) * streams.most_parts,
        "line_blocks": len(tile.blocks),
        "block_depth": tile.row,
        "behind_bytes": (tile.raster - walk.line) * tile.row_bytes,
    }
