"""TapTile: a stage (k, d) of an operand whose k are pixels of a raster, and whose d are a window's taps.

    pixel   k = image, position
    tap     d = tap, channel
    raster  row = image * pitch + position + step(tap)   as in `view.stage.halo_tile`, which has d for k

Channels lie together, in one row of shared memory, so that the operand is d major: what wgmma reads for a
block of columns of one row's length begins a fixed number of bytes behind the block before it, the leading
offset of its descriptor.  Blocks are taps here; an instruction reads several, which overlap, from the raster.

wgmma and TMA permute bits of the address, so that blocks, too, may begin at any row, inside of an atom.
Laws: `map` gives each (k, d) its element; `start` is where an instruction's tile begins before rows are
permuted; the taps of an instruction are evenly apart, and so are the first ones of instructions side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imbrex.cached import cached_property
from imbrex.index.map import Map
from imbrex.index.stack import over
from imbrex.view.stage.halo_tile import HaloTile
from imbrex.view.stage.shared_tile import ATOM_ROWS, CODES, UNUSED_BYTES, Descriptor, Major, Swizzle

__all__ = ["PIXELS", "TapTile", "uneven"]

PIXELS: Final = 16
"""Pixels of a raster that one instruction multiplies: wgmma's K of 16-bit types."""


@dataclass(frozen=True)
class TapTile:
    """windows: the same with k and d exchanged.  columns: of one instruction, whole taps."""

    windows: HaloTile
    columns: int

    def __post_init__(self) -> None:
        reason = uneven(self.windows, self.columns)
        assert reason is None, reason

    @property
    def major(self) -> Major:
        return "d"

    @property
    def k(self) -> int:
        return self.windows.d

    @property
    def d(self) -> int:
        return self.windows.k

    @property
    def element_bytes(self) -> int:
        return self.windows.element_bytes

    @property
    def swizzle(self) -> Swizzle:
        return self.windows.swizzle

    @property
    def bytes(self) -> int:
        return self.windows.bytes

    @property
    def tail_bytes(self) -> int:
        """Bytes at the end that are read, multiplied by zeros, and not loaded."""
        return (self.windows.raster - self.windows.loaded) * self.windows.row_bytes

    @cached_property
    def map(self) -> Map:
        """(k, d) -> the element's offset."""
        return over(self.windows.map).merging(k="d", d="k").map

    @cached_property
    def starts(self) -> Map:
        """(k, d) -> the element's offset before rows are permuted."""
        return over(self.windows.starts).merging(k="d", d="k").map

    @cached_property
    def descriptor(self) -> Descriptor:
        """leading: from a tap to the next; stride: from one atom's eight rows to the next."""
        row = self.windows.row
        leading = UNUSED_BYTES if self.columns == row else self.start(0, row) - self.start(0, 0)
        return Descriptor(leading, ATOM_ROWS * self.windows.row_bytes, CODES[self.swizzle])

    def start(self, k0: int, d0: int) -> int:
        """Byte offset of the descriptor's start address for the instruction whose tile begins at (k0, d0)."""
        return self.windows.start(d0, k0)


def uneven(windows: HaloTile, columns: int) -> str | None:
    """Why instructions of so many columns do not read the taps of a window, or None."""
    row = windows.row
    if windows.element_bytes != 2:
        return "wgmma takes rows of pixels of 16-bit types only"
    if windows.channels != row:
        return f"{windows.channels} channels of a pixel are not one row of {row}"
    if windows.instruction != PIXELS or columns % row or windows.k % columns:
        return f"{windows.k} columns are not instructions of {columns} with whole taps of {row}"
    starts = np.array([windows.start(d, 0) for d in range(0, windows.k, row)]).reshape(-1, columns // row)
    inside, firsts = np.diff(starts, axis=1), np.diff(starts[:, 0])
    if np.unique(inside).size > 1 or np.unique(firsts).size > 1 or (inside < 0).any() or (firsts < 0).any():
        return f"the taps of {columns} columns are not evenly apart"
    return None
