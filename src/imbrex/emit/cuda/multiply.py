"""How a step's tiles are multiplied, as parts of a kernel's struct: which of device/cuda/ptx/wgmma.h it is,
and where its operands begin; for warps, which multiply out of shared memory, the bytes of elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from imbrex.chip import VECTOR_BYTES
from imbrex.dtype import DType, dtype
from imbrex.emit import c
from imbrex.emit.cuda.member import boolean, static
from imbrex.index.expr import var
from imbrex.index.query import vector_width
from imbrex.lower.warpgroup.parts import Blocks, Dense, WarpPlanes, WarpRaster, WindowRows
from imbrex.lower.warpgroup.pipeline import Pipeline, Tile
from imbrex.view.mma import Instruction
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.plane_stage import WINDOW, PlaneStage
from imbrex.view.stage.shared_tile import Descriptor, Major

__all__ = ["functions", "sum_type", "units"]

HALF_BITS: Final = 16
"""Bits of the elements that wgmma reads along either dim; others it reads along k."""


def functions(pipeline: Pipeline) -> list[str]:
    """What the header of a kernel's multiplication asks for."""
    operand = f"typedef {pipeline.a.buffer.dtype.c_name} operand;"
    match multiply := pipeline.multiply:
        case Dense(instruction):
            unit = _held(instruction, pipeline) if multiply.is_a_held else _wgmma(instruction, pipeline)
            return [*unit, *_blocks(multiply.depth, instruction, 1, multiply.depth)]
        case Blocks(instruction):
            shape = multiply.depth, instruction, multiply.blocks, multiply.channels
            return [*_wgmma(instruction, pipeline), *_blocks(*shape)]
        case WindowRows(instruction):
            return [*_wgmma(instruction, pipeline), *_window_rows(multiply)]
        case WarpRaster():
            return [operand, *_raster(multiply.tile, pipeline.a.tile)]
        case WarpPlanes():
            return [operand, *_planes(multiply.stage)]
        case _:
            assert_never(multiply)


def units(pipelines: Iterable[Pipeline]) -> list[str]:
    """The matrix units that kernels multiply on, each defined once."""
    parts = (one.multiply for one in pipelines)
    wgmma = (part.instruction for part in parts if isinstance(part, Dense | Blocks | WindowRows))
    return [*dict.fromkeys(f"IMBREX_MATRIX_UNIT({one.a_type}, {one.n});" for one in wgmma)]


def sum_type(one: Instruction) -> DType:
    """The type of a sum."""
    return dtype(one.format("c", one.chips[0]))


def _wgmma(one: Instruction, pipeline: Pipeline) -> list[str]:
    """`multiply(d, a, b, adds)`: d = a * b, and + d where `adds`; d: the first of some columns' sums."""
    tiles = {"a": pipeline.a.tile, "b": pipeline.b.tile}
    majors: tuple[Major, Major] = (pipeline.a.tile.major, pipeline.b.tile.major)
    is_half = one.register_bits("a") == HALF_BITS
    assert is_half or majors == ("k", "k"), f"{one.name} reads along k only, not {majors}"
    unit = f"imbrex::matrix_unit<imbrex::factors::{one.a_type}, {one.n}>"
    turned = ", ".join(boolean(major == "d") for major in majors)
    sums = f"{sum_type(one).c_name} *d"
    words = {name: _descriptor(tile.descriptor) for name, tile in tiles.items()}
    return [
        f"static constexpr int instruction_depth = {one.k};",
        "static constexpr bool is_a_held = false;",
        *(f"static constexpr uint64_t {name}_descriptor = {word};" for name, word in words.items()),
        f"// {one.mnemonic}",
        f"IMBREX_MEMBER static void multiply({sums}, uint64_t a, uint64_t b, bool adds) {{",
        f"  {unit}::multiply<{turned}>(d, a, b, adds);",
        "}",
    ]


def _held(one: Instruction, pipeline: Pipeline) -> list[str]:
    """The same where a lane holds its elements of A, and where those of the first rows and part of k lie."""
    tile, sums = pipeline.a.tile, f"{sum_type(one).c_name} *d"
    lane, slot = var("lane", one.wave), var("slot", one.a_elements)
    _, row, k = one.a.at([lane, slot]).coords
    (element,) = tile.map.at([k, row]).coords
    assert one.registers("a") == one.a_elements, f"{one.name} has elements of A that are part of a register"
    return [
        f"static constexpr int instruction_depth = {one.k}, held = {one.a_elements};",
        "static constexpr bool is_a_held = true;",
        f"static constexpr uint64_t b_descriptor = {_descriptor(pipeline.b.tile.descriptor)};",
        static("uint32_t", "held_byte", "int32_t lane, int32_t slot", c.index(element * tile.element_bytes)),
        f"// {one.mnemonic}",
        f"IMBREX_MEMBER static void multiply({sums}, const uint32_t (&a)[held], uint64_t b, bool adds) {{",
        f"  imbrex::matrix_unit<imbrex::factors::{one.a_type}, {one.n}>::multiply_held(d, a, b, adds);",
        "}",
    ]


def _descriptor(d: Descriptor) -> str:
    """A matrix descriptor but its start address: bytes count in sixteens."""
    word = (d.leading_bytes >> 4) << 16 | (d.stride_bytes >> 4) << 32 | d.code << 62
    return f"0x{word:016x}ull"


def _blocks(depth: int, one: Instruction, blocks: int, channels: int) -> list[str]:
    """The first column that a part of k is multiplied by; does a sum begin with it?"""
    each, k = channels // blocks, var("k", depth)
    first = k % channels // each * one.n
    begins = f"k < {channels} && k % {each} == 0" if blocks > 1 else "k == 0"
    return [
        static("int32_t", "column_of", "int32_t k", c.index(first), is_constant=True),
        static("bool", "begins", "int32_t k", begins, is_constant=True),
    ]


def _window_rows(multiply: WindowRows) -> list[str]:
    """The block of the filter that a part of a step's k meets, and where it lies."""
    filters, channels = multiply.filter, multiply.line.channels
    k, block, phase = var("k", multiply.depth), var("block", filters.diagonal), var("phase", filters.rows)
    part = k % channels
    row, column = filters.k_of(k // channels) + part % filters.depth, filters.d_of(block, phase)
    return [
        f"static constexpr int diagonal = {filters.diagonal}, slots = {filters.rows};",
        static("int32_t", "block_of", "int32_t k", c.index(part // filters.depth), is_constant=True),
        static("int32_t", "b_row", "int32_t k", c.index(row), is_constant=True),
        static("int32_t", "b_column", "int32_t block, int32_t phase", c.index(column), is_constant=True),
    ]


def _raster(tile: HaloTile, a: Tile) -> list[str]:
    (rows, line), (columns, _) = tile.taps
    sizes = f"strip = {tile.pixels // line}, line = {line}"
    k, d = var("k", a.k), var("d", a.d)
    tap, channel = var("tap", rows * columns), var("channel", tile.channels)
    (of_a,) = a.map.at([k, d]).coords
    (of_b,) = tile.map.at([k, tap * tile.channels + channel]).coords
    parameters = "int32_t k, int32_t tap, int32_t channel"
    return [
        f"static constexpr int {sizes}, channels = {tile.channels};",
        f"static constexpr int window_rows = {rows}, window_columns = {columns};",
        static("uint32_t", "a_byte", "int32_t k, int32_t d", c.index(of_a * tile.element_bytes)),
        static("uint32_t", "b_byte", parameters, c.index(of_b * tile.element_bytes)),
    ]


def _planes(stage: PlaneStage) -> list[str]:
    k, d = var("k", stage.depth), var("d", stage.channels)
    (element,) = stage.map.at([k, d]).coords
    together = min(vector_width(stage.map, "k", VECTOR_BYTES // stage.element_bytes), stage.line)
    return [
        f"static constexpr int strip = {stage.rows}, line = {stage.line}, width = {stage.width};",
        f"static constexpr int channels = {stage.channels};",
        f"static constexpr int strips = {stage.strips}; // of an image",
        f"static constexpr int piece = {together}; // pixels that lie together from a multiple of as many on",
        f"static constexpr int window_rows = {WINDOW}, window_columns = {WINDOW};",
        static("uint32_t", "pixel_byte", "int32_t k, int32_t d", c.index(element * stage.element_bytes)),
    ]
