"""Windows line by line: A's stages are lines of pixels, B is all of a window's rows beside one another."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from imbrex.config.halo.plan import LinesTuning
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.plan import major_of
from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import lin, var
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.reader import Reader, element_type
from imbrex.lower.warpgroup.parts import LineWork, Tiles, WindowRows
from imbrex.lower.warpgroup.pipeline import Stage
from imbrex.lower.warpgroup.stage import operand, operand_map, served
from imbrex.view.stage.line_filter import LineFilter
from imbrex.view.tensor import Box, Halo, Piece, Product, access, line_access
from imbrex.view.work.line_stream import LineStreams

__all__ = ["by_lines"]


def by_lines(
    op: WarpgroupGemmOp, tuning: LinesTuning, tiles: Tiles, reader: Reader
) -> tuple[Stage, Stage, LineWork, WindowRows]:
    """How A and B of a product line by line come into shared memory, in which steps, and how they are
    multiplied; a Diagnostic where A's windows cannot be read so.
    """
    buffer, map = operand(op, "a", reader)
    windows = Product(map, operand_map(op, "c"), tuning.m_per_block, tuning.channels)
    otherwise = "A's windows do not come into shared memory line by line"
    found = served(line_access(windows, tuning.line, buffer.dtype), otherwise)
    taps, own = (found.slots, len(found.taps) // found.slots), (tuning.window_rows, tuning.window_columns)
    if taps != own:
        raise Diagnostic(f"A's windows have {taps} rows and columns, not {own}")
    size = buffer.dtype.bytes
    filters = tuning.filter(size, major_of(op.block.matrix_b_source_vector_read_dim == 1, size))
    parts = tiles.batches * tiles.column_tiles
    if tiles.workgroups % parts:
        raise Diagnostic(f"{tiles.workgroups} workgroups do not keep one of {parts} parts of the filter each")
    streams = LineStreams(tiles.row_tiles, tuning.lines, parts, tiles.workgroups, tuning.consumers)
    instruction = instruction_of(buffer.dtype, tuning.instruction_columns, reader.gpu)
    return (
        Stage(buffer, found.tile, found.box),
        Stage(reader.root(op.b)[0], filters.tile, _box(op, found, filters), "kernel"),
        LineWork(tiles, tuning.line, tuning.window_rows, found.exists, streams),
        WindowRows(instruction, found.tile, filters),
    )


def _box(op: WarpgroupGemmOp, lines: Halo, filters: LineFilter) -> Box:
    """One box for each tap, block and position: those of a product whose tiles are blocks of one tap."""
    map, count = operand_map(op, "b"), op.grid_.n_blocks
    tiles = count * filters.diagonal
    otherwise = "a filter that stays in shared memory comes by TMA"
    found = served(access(map, filters.part, element_type(op.b), 1, d_name="gemmN", tiles=tiles), otherwise)
    assert isinstance(found, Box), f"a filter has no pixels to walk: {found}"
    taps, pieces = {tap: number for number, tap in enumerate(lines.taps)}, list[Piece]()
    for part, (block, piece) in product(filters.parts, zip(filters.part.blocks, found.pieces, strict=True)):
        step = taps[part.row, part.column] * filters.diagonal + part.block
        at = {"step": lin(step), "tile": var("tile", count) * filters.diagonal + part.block}
        byte = filters.tile.start(part.k0 + block.k0, part.d0 + block.d0)
        pieces.append(replace(piece.over(at), byte_offset=byte))
    return replace(found, pieces=tuple(pieces))
