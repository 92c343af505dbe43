"""Pieces of C on their way to memory: 64 rows of some columns, which one store of the copy engine takes.

Law: a row of a piece has 128, 64, 32 or 16 bytes, the most that the columns have room for.  Of columns that
such rows do not divide the last piece ends where they end, over a part of the one before.
"""

from __future__ import annotations

from typing import Final

from imbrex.view.mma.hopper import ROWS

__all__ = ["PIECE_BYTES", "ROW_BYTES", "are_shifted", "piece_bytes", "piece_columns"]

ROW_WIDTHS: Final = (128, 64, 32, 16)
SHIFTED_BYTES: Final = 2
ROW_BYTES: Final = ROW_WIDTHS[0]
"""Bytes of the longest row of a piece."""
PIECE_BYTES: Final = ROWS * ROW_BYTES
"""Bytes of the largest piece."""


def piece_columns(columns: int, element_bytes: int) -> int:
    """Columns of a piece, neighbours in memory; all of them where they have fewer than 16 bytes."""
    fitting = (size for size in ROW_WIDTHS if size <= columns * element_bytes)
    return next((size // element_bytes for size in fitting), columns)


def piece_bytes(columns: int, element_bytes: int) -> int:
    """Bytes of shared memory that pieces of so many columns want at the most."""
    return min(PIECE_BYTES, ROWS * columns * element_bytes)


def are_shifted(access_bytes: int, row_bytes: int) -> bool:
    """Do lanes store rows of a piece, which lie whole in memory, by 16 bytes that they shift?  Not where the
    array allows accesses of four bytes and more, nor in short rows: there these are faster (H200).
    """
    return access_bytes <= SHIFTED_BYTES and row_bytes >= ROW_BYTES
