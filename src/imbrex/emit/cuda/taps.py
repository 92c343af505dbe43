"""Windows whose taps are columns, as parts of a kernel's struct: what device/cuda/tap_gemm.h asks for beside
the rest, and device/cuda/diagonal_gemm.h, whose warps take their operands from shared memory.
"""

from __future__ import annotations

from imbrex.emit import c
from imbrex.emit.cuda.member import static
from imbrex.index.expr import var
from imbrex.lower.warpgroup import WarpgroupGemm
from imbrex.view.tap_tile import TapTile

__all__ = ["entry", "functions", "headers"]

HEADERS = ("device/cuda/tap_gemm.h",)
OF_DIAGONALS = ("device/cuda/diagonal_gemm.h",)


def headers(gemm: WarpgroupGemm) -> tuple[str, ...]:
    """What a kernel's struct is for."""
    return OF_DIAGONALS if gemm.by_warps else HEADERS


def entry(gemm: WarpgroupGemm) -> str:
    """What runs it."""
    return "run_diagonal" if gemm.by_warps else "run_taps"


def functions(gemm: WarpgroupGemm, tile: TapTile) -> list[str]:
    """What is read behind the pixels that are loaded; for warps, the raster and the bytes of its elements."""
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
