"""PlaneStage: the pixels of a step of backward weight, in lines as they lie in the planes of their channels.

    [row][channel][pixel]       the same of the output, whose channels are filters, and of the input

Lines that follow one another in a plane are a stretch that begins at a sector of the caches, where one of
them may begin inside of it: a group of them fills rows of shared memory, 128 bytes each.  Windows have three
rows and columns, of which the middle ones are the pixel's own, and whoever reads a stage keeps the lines of
the one before.  A line is counted up to `line` pixels; those beyond its `width` are to be taken for zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import SECTOR_BYTES
from imbrex.index.map import Map
from imbrex.index.rule import Embed, Merge, Unmerge
from imbrex.index.stack import over
from imbrex.view.stage.shared_tile import CHUNK_BYTES, SWIZZLES, SharedTile

__all__ = ["LINE_BYTES", "WINDOW", "PlaneStage", "line_of", "lines_abreast"]

LINE_BYTES: Final = SWIZZLES[0]
"""A row of shared memory, of the longest swizzle, which lines of a plane are laid in."""
WINDOW: Final = 3
"""Rows, and columns, of a window."""
LEAST_BYTES: Final = 8
"""Fewest bytes that a lane reads: where lines of a plane begin, as far as they are not whole pieces of 16."""


def line_of(width: int, element_bytes: int) -> int:
    """What lines of so many pixels are counted up to: a row of shared memory, or a half."""
    row = LINE_BYTES // element_bytes
    return row if width > row // 2 else row // 2


def lines_abreast(height: int, width: int, element_bytes: int) -> int | None:
    """How many lines of planes of so many pixels are a group: as few as begin at a sector, or at 16 bytes
    where no such groups divide the plane.  None where lines do not serve.
    """
    size, row = width * element_bytes, LINE_BYTES // element_bytes
    if size > LINE_BYTES or size % LEAST_BYTES:
        return None
    for aligned in (SECTOR_BYTES, CHUNK_BYTES):
        for count in (1, 2, 4):
            is_whole = height % count == 0 and count * line_of(width, element_bytes) % row == 0
            if is_whole and count * size % aligned == 0:
                return count
    return None


@dataclass(frozen=True)
class PlaneStage:
    """rows: lines of a step, whole groups.  height, width: of an image, in pixels.  channels: of a tile, of
    either array.  streams: images that are gone through at a time, from line to line.
    """

    rows: int
    height: int
    width: int
    channels: int
    element_bytes: int
    streams: int

    @cached_property
    def abreast(self) -> int:
        """Lines of a group."""
        found = lines_abreast(self.height, self.width, self.element_bytes)
        assert found and self.rows % found == 0, f"{self.rows} lines of {self.width} pixels: {self}"
        return found

    @property
    def line(self) -> int:
        """Pixels."""
        return line_of(self.width, self.element_bytes)

    @property
    def strips(self) -> int:
        """Strips of an image."""
        return -(-self.height // self.rows)

    @property
    def depth(self) -> int:
        """Pixels of a step."""
        return self.rows * self.line

    @property
    def group_rows(self) -> int:
        """Rows of shared memory that a group of a channel fills, the last one counted up."""
        pixels = (self.abreast - 1) * self.width + self.line
        return -(-pixels * self.element_bytes // LINE_BYTES)

    @property
    def row_bytes(self) -> int:
        """All channels' one row."""
        return self.channels * self.stored.row_bytes

    @cached_property
    def stored(self) -> SharedTile:
        rows = self.rows // self.abreast * self.group_rows
        return SharedTile(
            rows * (LINE_BYTES // self.element_bytes), self.channels, self.element_bytes, "k", LINE_BYTES
        )

    @cached_property
    def map(self) -> Map:
        """(k, d) -> the element's offset, k counting through lines of `line` pixels."""
        groups = {"group": self.rows // self.abreast, "element": self.group_rows * self.stored.row}
        sizes = {"beside": self.abreast, "pixel": self.line}
        lines = (
            over(self.stored.map)
            .passing((Unmerge(), " ".join(groups), "k"), **groups)
            .passing((Embed((self.width, 1)), "beside pixel", "element"), **sizes)
        )
        return lines.replacing((Merge(), "k", "group beside pixel"), order=["k", "d"]).map
