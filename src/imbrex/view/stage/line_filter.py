"""LineFilter: a filter in shared memory whose rows of taps are columns of one instruction.

    k  = column of the window, channel of the block
    d  = block of the diagonal, position, filter of the block;    position p holds row p modulo `rows`

Positions are 2 * rows - 1, so that all rows of the window, from any of them on and in turn, lie together: the
columns of an instruction that adds to `rows` lines of the result at a time, whichever of them comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeVar

from imbrex.cached import cached_property
from imbrex.index.expr import Lin
from imbrex.view.stage.shared_tile import Major, SharedTile, Swizzle, longest_row

__all__ = ["LineFilter", "Part"]

At = TypeVar("At", int, Lin)


class Part(NamedTuple):
    """Where the block of one tap lies: elements k0.., d0.. of the tile."""

    row: int
    column: int
    block: int
    k0: int
    d0: int


@dataclass(frozen=True)
class LineFilter:
    """rows, columns: of the window.  channels, filters: of all `diagonal` blocks.  major: the dim that lies
    together.
    """

    rows: int
    columns: int
    channels: int
    filters: int
    diagonal: int
    element_bytes: int
    major: Major

    @property
    def depth(self) -> int:
        """Channels of a block."""
        return self.channels // self.diagonal

    @property
    def each(self) -> int:
        """Filters of a block."""
        return self.filters // self.diagonal

    @property
    def row_positions(self) -> int:
        return 2 * self.rows - 1

    @property
    def bytes(self) -> int:
        return self.columns * self.depth * self.diagonal * self.row_positions * self.each * self.element_bytes

    @property
    def swizzle(self) -> Swizzle:
        """The longest row that the neighbours of a block make."""
        return longest_row((self.depth if self.major == "k" else self.each) * self.element_bytes)

    @cached_property
    def tile(self) -> SharedTile:
        k, d = self.columns * self.depth, self.diagonal * self.row_positions * self.each
        return SharedTile(k, d, self.element_bytes, self.major, self.swizzle)

    @cached_property
    def part(self) -> SharedTile:
        """The part of one tap and block as a tile of its own: its rows follow one another in `tile`, too."""
        return SharedTile(self.depth, self.each, self.element_bytes, self.major, self.swizzle)

    @property
    def parts(self) -> Iterator[Part]:
        """All that `tile` consists of."""
        for column, block, position in product(
            range(self.columns), range(self.diagonal), range(self.row_positions)
        ):
            yield Part(position % self.rows, column, block, self.k_of(column), self.d_of(block, position))

    def k_of(self, column: At) -> At:
        """The first k of a column of the window."""
        return column * self.depth

    def d_of(self, block: At, position: At) -> At:
        """The first d of a position of a block."""
        return (block * self.row_positions + position) * self.each
