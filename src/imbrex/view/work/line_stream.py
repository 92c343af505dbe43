"""LineStreams: the lines of all tiles, dealt out evenly to the consumers of all workgroups.

    slot      a workgroup; slot modulo `filters` is the part of the filter that it keeps
    stream    slot over filters, consumer:    of as many lines as any other with the same part, or one less

Units, tiles with a part of the filter each, are numbered as their parts, which follow one another.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.index.expr import Lin, var

__all__ = ["LineStreams"]


@dataclass(frozen=True)
class LineStreams:
    """tiles: of each of the `filters` parts; lines: of a tile.  consumers: of each workgroup."""

    tiles: int
    lines: int
    filters: int
    workgroups: int
    consumers: int

    def __post_init__(self) -> None:
        assert self.workgroups % self.filters == 0, f"each workgroup keeps a part of the filter: {self}"

    @property
    def count(self) -> int:
        """Streams with the same part of the filter."""
        return self.workgroups // self.filters * self.consumers

    @property
    def most_lines(self) -> int:
        """Most lines of a stream."""
        return -(-self.tiles * self.lines // self.count)

    @property
    def most_parts(self) -> int:
        """Tiles that a stream has a part of."""
        return min(self.tiles, (self.most_lines + self.lines - 2) // self.lines + 1)

    def first_line(self, slot: Lin, consumer: Lin) -> Lin:
        """First line of a stream, or the one before which it ends, which is that of the next consumer."""
        stream = slot // self.filters * self.consumers + consumer
        return stream * (self.tiles * self.lines) // self.count

    def unit(self, slot: Lin, tile: Lin) -> Lin:
        """The number of a tile with the workgroup's part of the filter."""
        return tile * self.filters + slot % self.filters

    @property
    def slot(self) -> Lin:
        return var("slot", self.workgroups)

    @property
    def consumer(self) -> Lin:
        """One more than there are, for the end of the last one's stream."""
        return var("group", self.consumers + 1)

    @property
    def tile(self) -> Lin:
        return var("tile", self.tiles)
