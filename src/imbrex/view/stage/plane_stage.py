"""PlaneStage: the pixels of a step of backward weight, in lines as they lie in the planes of their channels.

    output   [image, row][filter][pixel]        input   [image, row or halo][channel][pixel]

Lines that follow one another in a plane are a stretch that begins at a sector of the caches, where one of
them may begin inside of it: a group of them fills rows of shared memory, 128 bytes each.  Windows have three
columns, the middle one of which is the pixel's own, and rows that follow one another: row y wants line r + y
of what is loaded for line r.  A line is counted up to `line` pixels; those beyond its `width` are to be taken
for zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import SECTOR_BYTES
from imbrex.index.map import Map
from imbrex.index.rule import Embed, Merge, Slice, Unmerge
from imbrex.index.stack import over
from imbrex.view.stage.shared_tile import CHUNK_BYTES, SWIZZLES, SharedTile

__all__ = ["COLUMNS", "LINE_BYTES", "LineTile", "PlaneStage", "halo_lines", "line_of", "lines_abreast"]

LINE_BYTES: Final = SWIZZLES[0]
"""A row of shared memory, of the longest swizzle, which lines of a plane are laid in."""
COLUMNS: Final = 3
"""Columns of a window."""
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
class LineTile:
    """Lines of planes in shared memory, in groups of `abreast`.  lines: of an image; skipped: positions for
    lines before the first one.  map: (k, d) -> the element, k counting through lines of `line` pixels.
    """

    stored: SharedTile
    images: int
    lines: int
    skipped: int
    line: int
    width: int
    abreast: int

    @property
    def k(self) -> int:
        return self.images * self.lines * self.line

    @property
    def d(self) -> int:
        return self.stored.d

    @property
    def rows(self) -> int:
        """Rows of shared memory that a group of a channel has."""
        return rows_of(self.abreast, self.width, self.stored.element_bytes)

    @property
    def groups(self) -> int:
        """Groups of an image."""
        return self.stored.k // (self.rows * self.stored.row * self.images)

    @property
    def row_bytes(self) -> int:
        """All channels' one row."""
        return self.stored.d * self.stored.row_bytes

    @cached_property
    def map(self) -> Map:
        parts = {"image": self.images, "group": self.groups, "element": self.rows * self.stored.row}
        sizes = {"beside": self.abreast, "pixel": self.line}
        lines = (
            over(self.stored.map)
            .passing((Unmerge(), " ".join(parts), "k"), **parts)
            .passing((Embed((self.width, 1)), "beside pixel", "element"), **sizes)
            .passing((Merge(), "all", "group beside"))
            .passing((Slice(self.skipped, self.skipped + self.lines), "line", "all"))
        )
        return lines.replacing((Merge(), "k", "image line pixel"), order=["k", "d"]).map


@dataclass(frozen=True)
class PlaneStage:
    """images, rows: lines of the output.  window: rows of it; before: lines that are wanted before an image's
    first.  height, width: of an image, in pixels.  filters, channels: of a tile.  streams: images that are
    gone through at a time, from line to line, so that no halo is loaded; else 0.
    """

    images: int
    rows: int
    window: int
    before: int
    height: int
    width: int
    filters: int
    channels: int
    element_bytes: int
    streams: int = 0

    @property
    def abreast(self) -> int:
        """Lines of a group."""
        found = lines_abreast(self.height, self.width, self.element_bytes)
        assert found, f"lines of {self.width} pixels: {self}"
        return found

    @property
    def line(self) -> int:
        """Pixels."""
        return line_of(self.width, self.element_bytes)

    @property
    def halo(self) -> int:
        """Lines that there is room for beside those of the output."""
        return 0 if self.streams else halo_lines(self.window, self.before, self.abreast)

    @property
    def strips(self) -> int:
        """Strips of an image."""
        return -(-self.height // self.rows)

    @property
    def depth(self) -> int:
        """Pixels of a step."""
        return self.images * self.rows * self.line

    @property
    def loaded(self) -> int:
        """Pixels of the input, with their halo."""
        return self.images * (self.rows + self.halo) * self.line

    @cached_property
    def output(self) -> LineTile:
        return self._tile(self.rows, 0, self.rows, self.filters)

    @cached_property
    def input(self) -> LineTile:
        if self.streams:
            return self._tile(self.rows, 0, self.rows, self.channels)
        return self._tile(
            self.rows + self.window - 1, -self.before % self.abreast, self.rows + self.halo, self.channels
        )

    def _tile(self, lines: int, skipped: int, loaded: int, channels: int) -> LineTile:
        assert loaded % self.abreast == 0, f"{loaded} lines are not whole rows: {self}"
        rows = rows_of(self.abreast, self.width, self.element_bytes)
        pixels = self.images * (loaded // self.abreast) * rows * (LINE_BYTES // self.element_bytes)
        stored = SharedTile(pixels, channels, self.element_bytes, "k", LINE_BYTES)
        return LineTile(stored, self.images, lines, skipped, self.line, self.width, self.abreast)


def rows_of(lines: int, width: int, element_bytes: int) -> int:
    """Rows of shared memory that a group of neighbouring lines fills, the last one counted up."""
    return -(-((lines - 1) * width + line_of(width, element_bytes)) * element_bytes // LINE_BYTES)


def halo_lines(window: int, before: int, abreast: int) -> int:
    """Whole groups, of lines that windows of so many rows want beside their own."""
    return -(-(-before % abreast + window - 1) // abreast) * abreast
