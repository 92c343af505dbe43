"""Windows line by line: A's stages are lines of pixels, B is all of a window's rows beside one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from imbrex.config.halo.plan import LinesTuning
from imbrex.config.warpgroup.plan import major_of
from imbrex.diagnostic import Diagnostic
from imbrex.index.expr import lin, var
from imbrex.index.rule import Guard
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.lower.reader import Reader, element_type
from imbrex.lower.warpgroup.pipeline import Stage
from imbrex.lower.warpgroup.stage import operand, operand_map, served
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.line_filter import LineFilter, Part
from imbrex.view.stage.shared_tile import Major
from imbrex.view.tensor import Box, Lines, Piece, Product, Refused, access, line_access
from imbrex.view.work.line_stream import LineStreams

__all__ = ["ByLines", "by_lines"]


class ByLines(NamedTuple):
    """How A and B come into shared memory, and in which steps: lines of pixels, where they exist."""

    a: Stage
    b: Stage
    tile: HaloTile
    filter: LineFilter
    exists: Guard
    streams: LineStreams


def by_lines(op: WarpgroupGemmOp, tuning: LinesTuning, reader: Reader) -> ByLines:
    """A product whose stages are lines of pixels; a Diagnostic where A's windows cannot be read so."""
    buffer, map = operand(op, "a", reader)
    windows = Product(map, operand_map(op, "c"), tuning.m_per_block, tuning.channels)
    otherwise = "A's windows do not come into shared memory line by line"
    found = served(line_access(windows, tuning.line, buffer.dtype), otherwise)
    taps, own = (found.slots, found.columns), (tuning.window_rows, tuning.window_columns)
    if taps != own:
        raise Diagnostic(f"A's windows have {taps} rows and columns, not {own}")
    filters = tuning.filter(buffer.dtype.bytes, _major(op))
    a = Stage(buffer, found.tile, found.box)
    b = Stage(reader.root(op.b)[0], filters.tile, _box(op, found, filters), "kernel")
    grid, workgroups = op.grid_, op.workgroups
    shape = grid.m_blocks, tuning.lines, grid.g * grid.n_blocks
    if workgroups % shape[2]:
        raise Diagnostic(f"{workgroups} workgroups do not keep one of {shape[2]} parts of the filter each")
    streams = LineStreams(*shape, workgroups, tuning.consumers)
    return ByLines(a, b, found.tile, filters, found.exists, streams)


def _major(op: WarpgroupGemmOp) -> Major:
    """What lies together of the filter in shared memory."""
    dtype, is_turned = element_type(op.b), op.block.matrix_b_source_vector_read_dim == 1
    if is_turned and dtype.bytes != 2:
        raise Diagnostic(f"gemmN lies together in memory, and wgmma takes {dtype} along k only")
    return major_of(is_turned, dtype.bytes)


def _box(op: WarpgroupGemmOp, lines: Lines, filters: LineFilter) -> Box:
    """One box for each tap, block and position: those of a product whose tiles are blocks of one tap."""
    map, count = operand_map(op, "b"), op.grid_.n_blocks
    tiles = count * filters.diagonal
    found = access(map, filters.part, element_type(op.b), 1, d_name="gemmN", tiles=tiles)
    if not isinstance(found, Box):
        reason = found.reason if isinstance(found, Refused) else "it is no box"
        raise Diagnostic(f"a filter that stays in shared memory comes by TMA: {reason}")
    taps = {tap: number for number, tap in enumerate(lines.taps)}
    parts = [_pieces(found, p, taps[p.row, p.column], filters, count) for p in filters.parts]
    return replace(found, pieces=tuple(piece for part in parts for piece in part))


def _pieces(box: Box, part: Part, tap: int, filters: LineFilter, count: int) -> Iterator[Piece]:
    """Boxes of one tap and block, at its offset."""
    at = {
        "step": lin(tap * filters.diagonal + part.block),
        "tile": var("tile", count) * filters.diagonal + part.block,
    }
    for block, piece in zip(filters.part.blocks, box.pieces, strict=True):
        byte = filters.tile.start(part.k0 + block.k0, part.d0 + block.d0)
        yield replace(piece.over(at), byte_offset=byte)
