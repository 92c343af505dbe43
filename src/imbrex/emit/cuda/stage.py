"""How a tile of A or B comes into shared memory, as functions of a kernel's struct."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import assert_never

from imbrex.chip import COPY_BYTES, VECTOR_BYTES, GpuMachine
from imbrex.config.warpgroup.consumers import IN_FLIGHT
from imbrex.emit import c
from imbrex.emit.cuda.member import are_of_count, boolean, method, static, static_or_method
from imbrex.emit.cuda.row import elements_left
from imbrex.index.atom import Param
from imbrex.index.expr import Lin, lin, param, var
from imbrex.index.map import Map
from imbrex.index.rule import COUNT, Guard
from imbrex.lower.buffer import Buffer
from imbrex.lower.warpgroup.parts import Blocks, Dense, WarpPlanes, WarpRaster, WindowRows
from imbrex.lower.warpgroup.pipeline import Lanes, Pipeline, Stage, Tile
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.tensor import Box, Walk

__all__ = ["constants", "functions"]

TILE_STEP = "int32_t batch, int32_t tile, int32_t step"
ELEMENT = f"{TILE_STEP}, int32_t k, int32_t d"


def constants(pipeline: Pipeline) -> list[str]:
    """Bytes of a stage, and who brings them."""
    tiles = {"a": pipeline.a.tile, "b": pipeline.b.tile}
    of_a, of_b = _copied_bytes(pipeline.a), _copied_bytes(pipeline.b)
    copied = of_a if pipeline.b.residency != "step" else of_a + of_b
    return [
        f"static constexpr int {', '.join(f'{name}_bytes = {tile.bytes}' for name, tile in tiles.items())};",
        *_gaps(pipeline),
        f"static constexpr uint32_t copied_bytes = {copied}, b_copied_bytes = {of_b};",
        f"static constexpr bool copies_boxes = {boolean(copied > 0)};",
        f"static constexpr bool has_lanes = {boolean(pipeline.has_lanes)};",
    ]


def functions(pipeline: Pipeline) -> list[str]:
    """Where tiles begin for an instruction, and how they come."""
    found: list[str] = []
    for name, stage in (("a", pipeline.a), ("b", pipeline.b)):
        found += [_start(name, stage.tile), *_load(name, stage)]
        found += [*_lanes(name, stage, pipeline), *_fill(name, stage)]
    return found


def _gaps(pipeline: Pipeline) -> list[str]:
    """Where each stage has bytes that instructions read and copies do not fill, which are to be zeros."""
    count, size, offset = 0, 0, "0"
    match pipeline.multiply:
        case WindowRows(line=line):  # behind each line, whose pixels lie in blocks of channels
            count, size = len(line.blocks), (line.raster - line.d) * line.row_bytes
            offset = f"a_start(gap * {line.row}, {line.d})"
        case Dense() | Blocks() | WarpRaster() | WarpPlanes():
            tile = pipeline.b.tile
            if isinstance(tile, HaloTile):  # behind the last pixel that a copy brings
                count, size = 1, tile.tail_bytes
                offset = f"b_offset + {tile.bytes - tile.tail_bytes}"
        case _:
            assert_never(pipeline.multiply)
    return [
        f"static constexpr int gaps = {count}, gap_bytes = {size};",
        static("uint32_t", "gap_offset", "int32_t gap", offset, is_constant=True),
    ]


def _copied_bytes(stage: Stage) -> int:
    """What the copy engine brings in one step, all parts of a shared tile together."""
    form = stage.access
    if isinstance(form, Lanes):
        return 0
    size = stage.tile.element_bytes * stage.parts * len(form.pieces)
    if isinstance(form, Walk):
        return size * form.channels * form.pixels
    return size * prod(-(-b // s) for b, s in zip(form.box, form.steps, strict=True))


def _start(name: str, tile: Tile) -> str:
    """`a_start`: the byte at which the instruction's tile at (k, d) begins."""
    start = _byte(tile, tile.starts if isinstance(tile, HaloTile) else None)
    return static("uint32_t", f"{name}_start", "int32_t k, int32_t d", start, is_constant=True)


def _load(name: str, stage: Stage) -> list[str]:
    """`load_a` by the copy engine, with nothing to do where lanes load."""
    form = stage.access
    lines = [] if isinstance(form, Lanes) else _copies(name, stage, form)
    return [
        f"IMBREX_MEMBER void load_{name}(uint32_t to, uint32_t barrier, {TILE_STEP}, int32_t part,",
        "                          uint16_t sharers) const {",
        *c.indented(lines),
        "}",
    ]


def _copies(name: str, stage: Stage, form: Box | Walk) -> list[str]:
    return [_copy(name, stage, form, number) for number in range(len(form.pieces))]


def _copy(name: str, stage: Stage, form: Box | Walk, number: int) -> str:
    piece = form.pieces[number]
    rank, to = len(piece.coords), c.index(var("part", stage.parts) * piece.part_bytes + piece.byte_offset)
    given = [f"to + {to}" if to != "0" else "to", f"{name}_map", "barrier"]
    given.append(f"imbrex::coordinates<{rank}>{{{{{', '.join(map(c.index, piece.coords))}}}}}")
    if isinstance(form, Walk):
        taps = ", ".join(f"uint16_t({c.index(x)})" for x in piece.offsets)
        given.append(f"imbrex::offsets<{rank - 2}>{{{{{taps}}}}}")
    if stage.parts > 1:
        given.append("sharers")
    return f"imbrex::{'load' if isinstance(form, Box) else 'walk'}<{rank}>({', '.join(given)});"


def _lanes(name: str, stage: Stage, pipeline: Pipeline) -> list[str]:
    """The struct of a tile that lanes load, nothing where the copy engine does."""
    form = stage.access
    if not isinstance(form, Lanes):
        return []
    kind, tile, is_open = stage.buffer.dtype.c_name, stage.tile, are_of_count(form.guards)
    left, size = _left(form, tile, pipeline.machine), _elements(stage.buffer, form.guards)
    registers = IN_FLIGHT[pipeline.team.consumers]
    return [
        f"struct {name}_feed {{",
        f"  static constexpr int depth = {tile.k}, extent = {tile.d}, width = {form.width};",
        f"  static constexpr int element_bytes = {tile.element_bytes}, registers = {registers};",
        f"  static constexpr bool along_k = {boolean(form.along == 'k')};",
        f"  static constexpr bool is_k_major = {boolean(tile.major == 'k')};",
        f"  static constexpr bool has_rows = {boolean(left is not None)};",
        f"  const {kind} *memory;",
        *(["  int32_t count;"] if is_open else []),
        f"  {static_or_method('int64_t', 'bytes', '', c.index(size * tile.element_bytes), of_count=is_open)}",
        f"  {method('int32_t', 'left', ELEMENT, left or '0')}",
        f"  {method('bool', 'exists', ELEMENT, c.all_guards(form.guards))}",
        f"  {method(f'const {kind} *', 'at', ELEMENT, f'memory + ({c.index(form.offset)})')}",
        f"  {static('uint32_t', 'byte_of', 'int32_t k, int32_t d', _byte(tile))}",
        "};",
    ]


def _elements(buffer: Buffer, guards: Sequence[Guard]) -> Lin:
    """How many an array has: of a run-time size, which is that of its outermost dim, as many as that says."""
    counts = [atom for guard in guards for atom, _ in lin(guard.size).terms if isinstance(atom, Param)]
    if not counts:
        return lin(buffer.elements)
    return param(counts[0].name, *counts[0].bounds) * (buffer.elements // counts[0].bounds[1])


def _left(form: Lanes, tile: Tile, machine: GpuMachine) -> str | None:
    """How many elements from one on, along the tile's rows, lie one after the other in memory and exist.

    None where they do not lie so, where warps do not load whole rows, or where elements are copied past the
    registers as they are, which is faster.
    """
    size = tile.k if form.along == "k" else tile.d
    pieces, warp_bytes = size * tile.element_bytes // VECTOR_BYTES, VECTOR_BYTES * machine.wave_size
    are_whole = pieces > 0 and machine.wave_size % pieces == 0 and tile.bytes % warp_bytes == 0
    if form.along != tile.major or not are_whole or form.width * tile.element_bytes >= COPY_BYTES:
        return None
    return elements_left(form.offset, form.guards, form.along, size)


def _fill(name: str, stage: Stage) -> list[str]:
    """`fill_a` by lanes, with nothing to do where the copy engine loads."""
    form = stage.access
    by_lanes = isinstance(form, Lanes)
    given = f"{name}, {COUNT}" if isinstance(form, Lanes) and are_of_count(form.guards) else name
    call = f"imbrex::fill_tile({name}_feed{{{given}}}, to, batch, tile, step);"
    return [
        f"IMBREX_MEMBER void fill_{name}(uint32_t to, {TILE_STEP}) const {{",
        *c.indented([call] if by_lanes else []),
        "}",
    ]


def _byte(tile: Tile, map: Map | None = None) -> str:
    """Where element (k, d) of a tile lies."""
    (element,) = (map or tile.map).at([var("k", tile.k), var("d", tile.d)]).coords
    return c.index(element * tile.element_bytes)
