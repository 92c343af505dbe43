"""StoredTile: where the elements of a step's tile of A or of B lie in shared memory, and a picture of it.

The map is the one that the kernel is lowered by, (k, d) -> element, d being m or n.  The picture has a row
for all banks once, in cells of 16 bytes or less; the colour of a cell is its position in its row of the tile,
so that a permutation is seen as colours that change their order from row to row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from imbrex.chip import BANK_BYTES, GpuMachine
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.explore.subject import Subject
from imbrex.explore.svg import box, label
from imbrex.index.map import Map
from imbrex.index.rule import Xor
from imbrex.view.mma import wave
from imbrex.view.stage import lds
from imbrex.view.stage.shared_tile import SharedTile

__all__ = ["ROWS", "StoredTile", "picture", "stored_tiles", "unpermuted"]

ROWS: Final = 12
"""Rows of all banks that are drawn."""
CELL_BYTES: Final = (16, 8, 4)
BANK_W, CELL_H, LEFT, HEAD = 22, 17, 92, 46


@dataclass(frozen=True)
class StoredTile:
    """operand: A or B.  axis: of the gemm, that rows of the tile are.  map: (k, d) -> the stored element."""

    operand: str
    axis: str
    map: Map
    element_bytes: int
    banks: int

    @property
    def line_bytes(self) -> int:
        """Bytes of all banks once."""
        return self.banks * BANK_BYTES

    @property
    def unpermuted(self) -> StoredTile:
        """The same without its Xors."""
        return replace(self, map=unpermuted(self.map))

    def tokens(self, cell: Cell) -> str:
        """What a cell stands for."""
        (d, last_d), (k, last_k) = cell.d, cell.k
        return f"t{self.axis}:{_span(d, last_d)} tk:{_span(k, last_k)}"

    def cells(self) -> tuple[int, list[Cell]]:
        """Bytes of a cell, and the cells of the first rows; none where no cell holds a part of the tile."""
        byte_offsets, k, d = self._byte_offsets()
        for size in CELL_BYTES:
            found = _cells(byte_offsets // size, k, d)
            if found is not None:
                return size, found
        return 0, []

    def _byte_offsets(self) -> tuple[Any, Any, Any]:
        """Byte, k and d of each element of the first rows."""
        (_, depth), (_, wide) = self.map.upper
        k, d = np.indices((depth, wide))
        coords, _ = self.map.evaluate([k, d])
        offset: Any = np.zeros((), np.int64)
        for x, dim in zip(coords, self.map.lower, strict=True):
            offset = offset * dim.size + x
        byte_offsets = np.broadcast_to(offset * self.element_bytes, k.shape)
        first = byte_offsets < ROWS * self.line_bytes
        return byte_offsets[first], k[first], d[first]


@dataclass(frozen=True)
class Cell:
    """A stretch of shared memory: its number, and the first and last k and d that it holds."""

    number: int
    k: tuple[int, int]
    d: tuple[int, int]


def stored_tiles(subject: Subject) -> list[StoredTile]:
    """Tiles of A and B, in the order of the kernel's sides; none where they are stored in no such way."""
    machine, tuned = subject.gpu, subject.tuned
    if machine is None or tuned is None or subject.product is None:
        return []
    if subject.pipeline is not None:
        stages = (subject.pipeline.a.tile, subject.pipeline.b.tile)
        return [
            _named(name, tile.map, tile.element_bytes, machine)
            for name, tile in zip(subject.sides, stages, strict=True)
            if isinstance(tile, SharedTile)
        ]
    if not isinstance(tuned.tuning, XdlopsTuning):
        return []
    plan = tuned.tuning.plan(subject.product.context, machine)
    if plan.wave_tiles is None:
        return []
    tiles = (plan.lds_tile("m"), plan.lds_tile("n"))
    maps = [
        lds.stored(tile.dims, layout, wave.interleaved(tile.dims, tile.tiles, tile.side))
        for tile, layout in zip(tiles, plan.lds_layouts, strict=True)
    ]
    named = zip(subject.sides, maps, tiles, strict=True)
    return [_named(name, map, tile.element_bytes, machine) for name, map, tile in named]


def unpermuted(map: Map) -> Map:
    """A map without its Xors."""
    kept = [layer for layer in map.layers if not any(isinstance(s.rule, Xor) for s in layer.steps)]
    return Map(tuple(kept))


def _named(operand: str, map: Map, size: int, machine: GpuMachine) -> StoredTile:
    banks = machine.served(16, "read").banks
    return StoredTile(operand, "m" if operand == "A" else "n", map, size, banks)


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _cells(numbers: Any, k: Any, d: Any) -> list[Cell] | None:
    """Cells in the order of their numbers; None where one of them holds no rectangle of the tile."""
    order = np.argsort(numbers, kind="stable")
    which, starts = np.unique(numbers[order], return_index=True)
    found: list[Cell] = []
    for number, ks, ds in zip(
        which.tolist(), np.split(k[order], starts[1:]), np.split(d[order], starts[1:]), strict=True
    ):
        cell = Cell(number, (int(ks.min()), int(ks.max())), (int(ds.min()), int(ds.max())))
        if (1 + cell.k[1] - cell.k[0]) * (1 + cell.d[1] - cell.d[0]) != len(ks):
            return None
        found.append(cell)
    return found


def picture(tile: StoredTile, y: float) -> tuple[list[str], float]:
    """Parts, and their height; none where there are no cells."""
    size, cells = tile.cells()
    if not cells:
        return [], 0.0
    title = f"{tile.operand}'s tile in shared memory: {tile.axis} and k of each cell"
    parts = [label(8, y + 14, title, "head")]
    for bank in range(tile.banks):
        parts.append(label(LEFT + (bank + 0.5) * BANK_W, y + HEAD - 6, bank, "mid tiny soft"))
    across, wide = tile.line_bytes // size, BANK_W * size / BANK_BYTES
    rows = 1 + cells[-1].number // across
    for row in range(rows):
        text = f"byte {row * tile.line_bytes}"
        parts.append(label(LEFT - 6, y + HEAD + row * CELL_H + 12, text, "end soft"))
    is_along_k = cells[0].k[1] - cells[0].k[0] >= cells[0].d[1] - cells[0].d[0]
    for cell in cells:
        parts += _drawn(tile, cell, y, across, wide, is_along_k)
    return parts, HEAD + rows * CELL_H + 18


def _drawn(
    tile: StoredTile, cell: Cell, y: float, across: int, wide: float, is_along_k: bool
) -> Iterator[str]:
    row, column = divmod(cell.number, across)
    x, top = LEFT + column * wide, y + HEAD + row * CELL_H
    along, across_it = (cell.k, cell.d) if is_along_k else (cell.d, cell.k)
    colour = along[0] // (1 + along[1] - along[0]) % 8
    text = f"{tile.axis} {_span(*cell.d)}, k {_span(*cell.k)}"
    yield box(x, top, wide, CELL_H, f"g{colour}", tile.tokens(cell), f"{tile.operand}: {text}")
    short = f"{across_it[0]}: {_span(*along)}" if wide < 80 else text
    if wide > 30:
        yield label(x + wide / 2, top + 12, short, "mid tiny")
