"""Tiling: the tiles of an operand, and the runs of elements that one access each moves.

A run is a piece of a tile: rows of neighbours that lie one after another in shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from imbrex.cached import cached_property
from imbrex.index.expr import Lin, lin, var
from imbrex.index.map import Map
from imbrex.view.stage.shared_tile import Block, SharedTile
from imbrex.view.tensor.form import Refused

__all__ = ["BATCH", "INNER", "ROW", "Run", "Tiling", "shift"]

BATCH: Final = "gemmG"
ROW: Final = "row of the piece"
INNER: Final = "place in the row"


@dataclass(frozen=True)
class Run:
    """rows x inner elements; at: each upper dim of the map as an index over the access's variables, ROW and
    INNER.  corner: the same at the first element, where other variables are to say it.
    """

    at: Mapping[str, Lin]
    rows: int
    inner: int
    byte_offset: int = 0
    part_bytes: int = 0
    corner: Mapping[str, Lin] | None = None


@dataclass(frozen=True)
class Tiling:
    """tile (k, d) over the upper dims k_name and d_name of a map; `tiles` of them along d.  columns: from one
    of them to the next along d, where a tile is stored with more of them than are its own.
    """

    map: Map
    tile: SharedTile
    parts: int
    k_name: str
    d_name: str
    tiles: int
    columns: int

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.map.upper)

    @property
    def batches(self) -> int:
        return self.sizes.get(BATCH, 1)

    @property
    def steps(self) -> int:
        return -(-self.sizes[self.k_name] // self.tile.k)

    @property
    def inner(self) -> str:
        """The upper dim whose neighbours lie together in shared memory."""
        return self.k_name if self.tile.major == "k" else self.d_name

    @property
    def across(self) -> str:
        """The upper dim of the tile's rows."""
        return self.d_name if self.tile.major == "k" else self.k_name

    @property
    def grown(self) -> dict[str, int]:
        """The sizes of the upper dims in whole tiles."""
        return self.sizes | {
            self.k_name: self.steps * self.tile.k,
            self.d_name: (self.tiles - 1) * self.columns + self.tile.d,
        }

    @property
    def variables(self) -> dict[str, int]:
        """What the coordinates of an access are over, and how many values each has."""
        return {"batch": self.batches, "tile": self.tiles, "step": self.steps, "part": self.parts}

    @cached_property
    def runs(self) -> tuple[Run, ...] | Refused:
        """Runs of one part; the others have theirs `part` times further on."""
        blocks, parts = self.tile.blocks, self.parts
        rows = blocks[0].d if self.tile.major == "k" else blocks[0].k
        if self.tile.major == "d" and len(blocks) % parts == 0:
            mine = len(blocks) // parts
            apart = parts > 1
            bytes_apart, d_apart = (blocks[mine].byte_offset, blocks[mine].d0) if apart else (0, 0)
            return tuple(self._run(b, rows, 0, d_apart, bytes_apart) for b in blocks[:mine])
        if not self.tile.divides(rows, parts):
            return Refused(f"{parts} workgroups do not share {rows} rows of {self.tile.row_bytes} bytes")
        part = rows // parts
        k_apart, d_apart = (0, part) if self.tile.major == "k" else (part, 0)
        bytes_apart = self.tile.row_bytes * part if parts > 1 else 0
        return tuple(self._run(b, part, k_apart, d_apart, bytes_apart) for b in blocks)

    def _run(self, block: Block, rows: int, k_apart: int, d_apart: int, bytes_apart: int) -> Run:
        row, inner = var(ROW, rows), var(INNER, self.tile.row)
        along_k, along_d = (inner, row) if self.tile.major == "k" else (row, inner)
        batch, tile, step, part = (var(name, size) for name, size in self.variables.items())
        at = {
            BATCH: batch,
            self.k_name: step * self.tile.k + part * k_apart + block.k0 + along_k,
            self.d_name: tile * self.columns + part * d_apart + block.d0 + along_d,
        }
        return Run(at, rows, self.tile.row, block.byte_offset, bytes_apart)


def shift(index: Lin, run: Run) -> tuple[Lin, Lin]:
    """An index at the run's first element, and how far it is from there at the others."""
    here = index.subs(dict(run.at))
    first = here.subs({ROW: lin(0), INNER: lin(0)})
    return first, here - first
