"""A picture of a packed tile: the tile as the matrix has it, and the same as it lies in memory.

A cell is what a lane has side by side in both; it names the lane, and where it goes to or comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.explore.cells import GAP, HEAD, MARGIN, Cell, Grid, drawn, sheet
from imbrex.index.map import Map
from imbrex.view.mma import Operand
from imbrex.view.swizzle import Swizzle, TileKernel

__all__ = ["tile_picture"]

Ints = npt.NDArray[np.int64]


def tile_picture(kernel: TileKernel, name: str, operands: Sequence[Operand]) -> str:
    """The tile of each operand and, to its right, its packed form; one operand below another."""
    parts: list[str] = []
    width, height = 0, HEAD
    for operand in operands:
        pieces = _pieces(kernel, operand)
        left, right = _source(pieces, operand), _packed(pieces, operand)
        parts += [*drawn(left, MARGIN, height), *drawn(right, MARGIN + left.width + GAP, height)]
        width = max(width, left.width + GAP + right.width)
        height += max(left.height, right.height) + GAP
    lanes, edge = kernel.instruction.wave, _edge(kernel)
    signs = [f"lanes {lane}-{lane + edge - 1}" for lane in range(0, lanes, edge)]
    subtitle = "; ".join(_sentence(kernel, operand) for operand in operands)
    return sheet(name, f"{subtitle}; {kernel.instruction.name}", signs, parts, width, height)


def _sentence(kernel: TileKernel, operand: Operand) -> str:
    shape = " x ".join(map(str, kernel.swizzle(operand).source_shape))
    return f"{operand.upper()}, {shape} of {kernel.instruction.element(operand)}"


def _edge(kernel: TileKernel) -> int:
    """Lanes of one colour: those along an edge of the instruction, the shorter one."""
    return min(kernel.instruction.m, kernel.instruction.n)


@dataclass(frozen=True)
class _Pieces:
    """The tile in runs of `run` elements of a lane that are neighbours in the matrix and in memory.

    offset, wave, lane: of each piece, over rows and columns of pieces; blocks count as further rows.
    edge: lanes of one colour.
    """

    swizzle: Swizzle
    run: int
    along_columns: bool
    offset: Ints
    wave: Ints
    lane: Ints
    edge: int

    def tooltip(self, row: int, column: int) -> str:
        """Which elements a piece holds, and who holds them where."""
        names = [d.name for d in self.swizzle.dims]
        down, across = self.first(row, column)
        rows = _span(down, 1 if self.along_columns else self.run)
        columns = _span(across, self.run if self.along_columns else 1)
        position = f"{names[-2]} {rows}, {names[-1]} {columns}"
        held = f"wave {self.wave[row, column]}, lane {self.lane[row, column]}"
        return f"{position}: {held}, offset {self.offset[row, column]}"

    def first(self, row: int, column: int) -> tuple[int, int]:
        """Row and column of the first element of a piece."""
        return (row, column * self.run) if self.along_columns else (row * self.run, column)


def _pieces(kernel: TileKernel, operand: Operand) -> _Pieces:
    swizzle = kernel.swizzle(operand)
    last = swizzle.packed[-1]
    innermost = [group[-1] for group in swizzle.groups]
    is_own = last.kind not in ("lane", "wave") and any(last is part for part in innermost)
    run = last.size if is_own else 1
    along_columns = last is innermost[-1]
    *lead, columns = swizzle.source_shape
    rows = prod(lead)
    offset = _everywhere(swizzle.map.inverse()).reshape(rows, columns)
    wave_at, lane_at = _holders(kernel, operand)
    step = (slice(None), slice(None, None, run)) if along_columns else (slice(None, None, run), slice(None))
    at = offset[step]
    return _Pieces(swizzle, run, along_columns, at, wave_at[at], lane_at[at], _edge(kernel))


def _holders(kernel: TileKernel, operand: Operand) -> tuple[Ints, Ints]:
    """The first wave and lane that hold the element at each offset of the packed tile."""
    fragment = kernel.fragment(operand)
    offsets = _everywhere(fragment)
    numbers = np.indices(offsets.shape)
    held: list[Ints] = []
    for number in (numbers[0], numbers[3]):  # of the wave and of the lane
        found = np.zeros(kernel.swizzle(operand).elements, np.int64)
        found[offsets[offsets >= 0][::-1]] = number[offsets >= 0][::-1]
        held.append(found)
    return held[0], held[1]


def _everywhere(map: Map) -> Ints:
    """Offset in the lower buffer of every upper point, -1 where there is none."""
    shape = [d.size for d in map.upper]
    coords, valid = map.evaluate(list(np.indices(shape)))
    flat: Any = np.zeros(shape, np.int64)
    for coord, dim in zip(coords, map.lower, strict=True):
        flat = flat * dim.size + coord
    return np.where(valid, flat, -1)


def _source(pieces: _Pieces, operand: Operand) -> Grid:
    """The tile as the matrix has it: lane above, offset below."""
    rows, columns = pieces.offset.shape
    cells = [
        Cell(row, column, _group(pieces, row, column), _holder(pieces, row, column),
             str(pieces.offset[row, column]), pieces.tooltip(row, column))
        for row, column in np.ndindex(rows, columns)
    ]  # fmt: skip
    names = [d.name for d in pieces.swizzle.dims]
    title = f"{operand.upper()}: {names[-2]} down, {names[-1]} across; lane above, packed offset below"
    return Grid(
        title,
        rows,
        columns,
        [str(pieces.first(row, 0)[0]) for row in range(rows)],
        [str(pieces.first(0, column)[1]) for column in range(columns)],
        cells,
    )


def _packed(pieces: _Pieces, operand: Operand) -> Grid:
    """The tile as it lies in memory: row and column of the matrix above, lane below."""
    of_lane = pieces.swizzle.lane_run // pieces.run
    across = of_lane * max(1, min(16, 32 // of_lane))
    position = pieces.offset // pieces.run
    cells = [
        Cell(*divmod(int(position[row, column]), across), _group(pieces, row, column),
             ",".join(map(str, pieces.first(row, column))), f"lane {pieces.lane[row, column]}",
             pieces.tooltip(row, column))
        for row, column in np.ndindex(*pieces.offset.shape)
    ]  # fmt: skip
    rows = -(-position.size // across)
    names = [str(row * across * pieces.run) for row in range(rows)]
    title = f"{operand.upper()} in memory; row,column above, lane below"
    return Grid(title, rows, across, names, [str(i * pieces.run) for i in range(across)], cells)


def _group(pieces: _Pieces, row: int, column: int) -> int:
    return int(pieces.lane[row, column]) // pieces.edge


def _holder(pieces: _Pieces, row: int, column: int) -> str:
    lane, wave = pieces.lane[row, column], pieces.wave[row, column]
    return f"{wave}:{lane}" if pieces.wave.any() else str(lane)


def _span(first: int, run: int) -> str:
    return str(first) if run == 1 else f"{first}-{first + run - 1}"
