"""HaloTile: an operand's stage (k, d) whose taps are overlapping views of one raster of pixels.

    pixel   pixel                        neighbours in the raster
    tap     tap, channel
    raster  row = pixel + step(tap)      each row the channels of one pixel

Pixels are d and taps k, or, where instructions multiply several taps as columns, pixels are k and taps d.
The raster is what one TMA box brings: all that any tap of the tile's pixels wants, once.  Multiplying by a
tap is reading from `step(tap)` rows further on, in an image whose lines are long enough: what runs over the
end of a line meets the padding before the next one.

It lies as the `SharedTile` of its channels and rows.  wgmma permutes bits of the address, so that a tile may
start at any row, inside of an atom, too.  Of taps that are d what it reads for a block of columns of one
row's length begins a fixed number of bytes behind the block before it, the leading offset of its descriptor:
blocks are taps here, which overlap.

Laws: `map` gives each (k, d) its element; `start` is where the instruction's 64 rows, or its columns, begin
before rows are permuted; the taps of an instruction's columns are evenly apart, and so are the first ones of
instructions side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from imbrex.cached import cached_property
from imbrex.index.map import Map
from imbrex.index.rule import Embed, PassThrough
from imbrex.index.stack import over
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.shared_tile import (
    ATOM_ROWS,
    CODES,
    UNUSED_BYTES,
    Block,
    Descriptor,
    Major,
    SharedTile,
    Swizzle,
)

__all__ = ["PIXELS", "HaloTile"]

PIXELS: Final = 16
"""Pixels of a raster that one instruction multiplies where they are k: wgmma's K of 16-bit types."""


@dataclass(frozen=True)
class HaloTile:
    """pixels: of the tile.  loaded: raster rows that a box brings.

    taps: digits of the tap, slowest first, (how many, raster rows from one to the next); first: the raster
    row of the first pixel at the first tap.  channels: elements, whole rows of `swizzle` bytes.  instruction:
    pixels that one instruction reads.  columns: of one instruction, whole taps, where pixels are k; else 0.
    """

    pixels: int
    loaded: int
    taps: tuple[tuple[int, int], ...]
    first: int
    channels: int
    element_bytes: int
    swizzle: Swizzle
    instruction: int = ROWS
    columns: int = 0

    def __post_init__(self) -> None:
        assert self.pixels % self.instruction == 0, f"{self.pixels} rows are not whole instructions"
        assert self.swizzle and self.channels % self.row == 0, (
            f"{self.channels} channels are not whole rows of {self.row}"
        )
        reason = self.uneven(self.columns) if self.columns else None
        assert reason is None, reason

    @property
    def major(self) -> Major:
        return "d" if self.columns else "k"

    @property
    def k(self) -> int:
        return self.map.upper[0].size

    @property
    def d(self) -> int:
        return self.map.upper[1].size

    @property
    def row_bytes(self) -> int:
        return self.swizzle

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.swizzle // self.element_bytes

    @property
    def raster(self) -> int:
        """Raster rows that are read, whole atoms; those beyond what is loaded go into no sum that counts."""
        ahead = sum(max(0, (count - 1) * step) for count, step in self.taps)
        return -(-max(self.first + self.pixels + ahead, self.loaded) // ATOM_ROWS) * ATOM_ROWS

    @cached_property
    def stored(self) -> SharedTile:
        """The raster: k are a pixel's channels, d its rows."""
        return SharedTile(self.channels, self.raster, self.element_bytes, "k", self.swizzle)

    @property
    def bytes(self) -> int:
        return self.stored.bytes

    @property
    def tail_bytes(self) -> int:
        """Bytes at the end that are read and not loaded."""
        return (self.raster - self.loaded) * self.row_bytes

    @cached_property
    def map(self) -> Map:
        """(k, d) -> the element's offset."""
        return self._windows(self.stored.map)

    @cached_property
    def starts(self) -> Map:
        """(k, d) -> the element's offset before rows are permuted: where an instruction is told to begin."""
        return self._windows(self.stored.starts)

    @cached_property
    def descriptor(self) -> Descriptor:
        """Atoms of eight rows follow one another.  leading: from a tap to the next, where taps are d."""
        if not self.columns:
            return self.stored.descriptor
        leading = UNUSED_BYTES if self.columns == self.row else self.start(0, self.row) - self.start(0, 0)
        return Descriptor(leading, ATOM_ROWS * self.row_bytes, CODES[self.swizzle])

    def start(self, k0: int, d0: int) -> int:
        """Byte offset of the descriptor's start address for the instruction whose tile begins at (k0, d0)."""
        (element,) = self.starts.at((k0, d0)).coords
        assert element.is_constant, (k0, d0, element)
        return element.const * self.element_bytes

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What one TMA access each fills: all rows that are loaded, of the first channels and of the next."""
        return tuple(block._replace(d=self.loaded) for block in self.stored.blocks)

    def uneven(self, columns: int) -> str | None:
        """Why instructions of so many columns do not read taps side by side, or None."""
        row, taps = self.row, prod(count for count, _ in self.taps)
        if self.element_bytes != 2:
            return "wgmma takes rows of pixels of 16-bit types only"
        if self.channels != row:
            return f"{self.channels} channels of a pixel are not one row of {row}"
        if self.instruction != PIXELS or columns % row or taps * row % columns:
            return f"{taps * row} columns are not instructions of {columns} with whole taps of {row}"
        steps = [np.arange(count) * step for count, step in self.taps]
        starts = sum(np.ix_(*steps), start=np.zeros((), int)).reshape(-1, columns // row)
        inside, firsts = np.diff(starts, axis=1), np.diff(starts[:, 0])
        if (
            np.unique(inside).size > 1
            or np.unique(firsts).size > 1
            or (inside < 0).any()
            or (firsts < 0).any()
        ):
            return f"the taps of {columns} columns are not evenly apart"
        return None

    def _windows(self, raster: Map) -> Map:
        """(k, d) over the raster's channels and rows."""
        taps = {f"tap{i}": count for i, (count, _) in enumerate(self.taps)}
        sizes = {"pixel": self.pixels, **taps}
        row = Embed((1, *(step for _, step in self.taps)), self.first)
        slid = over(raster).layer(
            (PassThrough(), "channel", "k"), (row, " ".join(sizes), "d"), order=None, **sizes
        )
        digits = " ".join([*taps, "channel"]), "pixel"
        k, d = reversed(digits) if self.columns else digits
        return slid.merging(k=k, d=d).map
