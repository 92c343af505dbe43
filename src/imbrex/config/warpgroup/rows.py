"""The rows of an operand's tile that the copy engine asks for, as L2 sees them.

L2 answers in lines of 128 bytes, of which it fetches sectors of 32.  A row of a tile that begins on a line is
one request; one that begins elsewhere goes over two lines, and one that begins inside a sector is put into
shared memory in halves of sectors.  How far apart rows lie in memory decides it for all tiles of an operand,
and those of windows may overlap, so that many ask for one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Final

from imbrex.chip import LINE_BYTES, SECTOR_BYTES
from imbrex.config.context import SAMPLE, Access, GemmContext
from imbrex.view.stage.shared_tile import SharedTile

__all__ = ["Rows", "rows_of"]

MOST_CHANNELS: Final = 256
"""Elements that a pixel's channels are, and no plane."""


@dataclass(frozen=True)
class Rows:
    """Rows of an operand's tile.  crossing, inside: shares of them that begin on a sector but go over the end
    of a line, and that begin inside a sector.  is_walked: the operand is seen through windows, which the copy
    engine walks over.  is_short: they are less than a line, and cost less than one; those that lie along
    another dim than k are a request each, whatever their length, where nothing walks over them, and so are
    those that overlap.  is_apart: they are less than a line along k, others between them in memory.
    """

    count: float
    crossing: float
    inside: float
    is_short: bool
    is_apart: bool
    is_walked: bool


def rows_of(access: Access, tile: SharedTile, extent: int, context: GemmContext) -> Rows:
    """extent: the operand's rows or columns.  Only what the copy engine may fetch is looked at: rows that
    begin at any element are loaded otherwise, and cost the producer more than L2.
    """
    row, is_walked = tile.row_bytes, access.repeats(context.g * extent * context.k)
    is_along_k = tile.major == "k"
    near = _near_bytes(access, tile)
    is_less = row < LINE_BYTES and not 0 < near < row
    apart = gcd(
        near or _pitch(access, 0 if is_along_k else 1, extent, context) * tile.element_bytes, LINE_BYTES
    )
    starts = range(0, LINE_BYTES, apart)
    inside = sum(start % SECTOR_BYTES != 0 for start in starts)
    crossing = sum(start % SECTOR_BYTES == 0 and start + row > LINE_BYTES for start in starts)
    return Rows(
        tile.bytes / row,
        crossing / len(starts),
        inside / len(starts),
        is_less and (is_along_k or is_walked),
        is_less and is_along_k,
        is_walked,
    )


def _near_bytes(access: Access, tile: SharedTile) -> int:
    """Bytes from a row to the next where that begins less than a row's length after its end; 0 where it is
    further on.  Rows along another dim than k count as such where half of one and more is the next one's: an
    H200 says so of what is picked.
    """
    pitch_bytes, row = access.pitch[1 if tile.major == "k" else 0] * tile.element_bytes, tile.row_bytes
    return pitch_bytes if pitch_bytes < 2 * row and (tile.major == "k" or 2 * pitch_bytes <= row) else 0


def _pixel(access: Access) -> int:
    """Elements from a window's pixel to the next: those that lie together, or, of few channels that are
    counted up, those that there are.  An H200 says so of what is picked, and not of the planes of images.
    """
    counted = int(access.run[0])
    return access.pitch[1] if 0 < access.pitch[1] < counted <= MOST_CHANNELS else counted


def _pitch(access: Access, along: int, extent: int, context: GemmContext) -> int:
    """Elements from a row of an operand in memory to the next: of an array, which may be padded, or of what
    lies together of it, as the channels of an image do.
    """
    own, others = (context.k, extent) if along == 0 else (extent, context.k)
    if access.step[along] == 1 and 1 < access.run[along] < min(own, SAMPLE):
        return _pixel(access) if along == 0 else int(access.run[along])
    length, rest = divmod(access.elements, others * context.g)
    return length if length > own and not rest else own
