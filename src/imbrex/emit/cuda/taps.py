"""Windows whose taps are columns, as parts of a kernel's struct: what device/cuda/tap_gemm.h asks for beside
the rest, and device/cuda/diagonal_gemm.h, whose warps take their operands from shared memory.
"""

from __future__ import annotations

from imbrex.emit import c
from imbrex.emit.cuda.member import static
from imbrex.index.expr import var
from imbrex.index.query import vector_width
from imbrex.lower.warpgroup import WarpgroupGemm
from imbrex.view.stage.plane_stage import COLUMNS, LineTile, PlaneStage
from imbrex.view.stage.tap_tile import TapTile

__all__ = ["entry", "functions", "headers"]

HEADERS = ("device/cuda/tap_gemm.h",)
OF_DIAGONALS = ("device/cuda/diagonal_gemm.h",)
OF_PLANES = ("device/cuda/plane_gemm.h",)
PIECE_BYTES = 16
"""The most that a lane reads of shared memory at a time."""


def headers(gemm: WarpgroupGemm) -> tuple[str, ...]:
    """What a kernel's struct is for."""
    if gemm.planes is not None:
        return OF_PLANES
    return OF_DIAGONALS if gemm.by_warps else HEADERS


def entry(gemm: WarpgroupGemm) -> str:
    """What runs it."""
    if gemm.planes is not None:
        return "run_streams" if gemm.planes.streams else "run_planes"
    return "run_diagonal" if gemm.by_warps else "run_taps"


def functions(gemm: WarpgroupGemm) -> list[str]:
    """What is read behind the pixels that are loaded; for warps, the raster and the bytes of its elements."""
    tile = gemm.b.share
    if gemm.planes is not None:
        return _planes(gemm, gemm.planes)
    assert isinstance(tile, TapTile), tile
    tail = f"static constexpr int b_tail_bytes = {tile.tail_bytes};"
    return [tail, *_raster(gemm, tile)] if gemm.by_warps else [tail]


def _raster(gemm: WarpgroupGemm, tile: TapTile) -> list[str]:
    windows = tile.windows
    (rows, line), (columns, _) = windows.taps
    sizes = f"images = {windows.images}, strip = {windows.places // line}, line = {line}"
    k, d = var("k", gemm.depth), var("d", gemm.rows)
    tap, channel = var("tap", rows * columns), var("channel", windows.channels)
    (of_a,) = gemm.a.share.map.at([k, d]).coords
    (of_b,) = tile.map.at([k, tap * windows.channels + channel]).coords
    place = "int32_t k, int32_t tap, int32_t channel"
    return [
        f"typedef {c.type_name(gemm.a.buffer.dtype)} operand;",
        f"static constexpr int {sizes}, channels = {windows.channels};",
        f"static constexpr int window_rows = {rows}, window_columns = {columns};",
        static("uint32_t", "a_byte", "int32_t k, int32_t d", c.index(of_a * tile.element_bytes)),
        static("uint32_t", "b_byte", place, c.index(of_b * tile.element_bytes)),
    ]


def _planes(gemm: WarpgroupGemm, stage: PlaneStage) -> list[str]:
    sizes = (
        f"images = {stage.images}, strip = {stage.rows}, loaded = {stage.input.lines}, line = {stage.line}"
    )
    together = min(vector_width(stage.input.map, "k", PIECE_BYTES // stage.element_bytes), stage.line)
    return [
        "static constexpr int b_tail_bytes = 0;",
        f"typedef {c.type_name(gemm.a.buffer.dtype)} operand;",
        f"static constexpr int {sizes}, width = {stage.width}, channels = {stage.channels};",
        f"static constexpr int strips = {stage.strips}; // of an image",
        f"static constexpr int piece = {together}; // pixels that lie together from a multiple of as many on",
        f"static constexpr int window_rows = {stage.window}, window_columns = {COLUMNS};",
        *(_byte(name, tile) for name, tile in (("a", stage.output), ("b", stage.input))),
    ]


def _byte(name: str, tile: LineTile) -> str:
    (element,) = tile.map.at([var("k", tile.k), var("d", tile.d)]).coords
    size = tile.stored.element_bytes
    return static("uint32_t", f"{name}_byte", "int32_t k, int32_t d", c.index(element * size))
