"""The laws of `Group` and `Deal`: orders in which a grid or a row is walked, where nothing has to divide.

Both are ragged transpositions: walk the columns of a few rows before the next rows, or gather every ways-th
place.  The last group of rows, and the hands dealt last, may be shorter than the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from imbrex.index.expr import Index, Lin, divide, lin, select


def grouped(x: Lin, rows: Lin, sizes: Sequence[Index]) -> tuple[Lin, Lin]:
    """(row, column) of place x; sizes: rows and columns of the grid, numbers or runtime quantities.

    The choice between the heights stands outside of the division, which is then by a constant.
    """
    group, inside = divide(x, rows * sizes[1])
    whole, height = _last(rows, sizes[0])
    is_whole = whole - 1 - group
    (column, row), (last_column, last_row) = divide(inside, rows), divide(inside, height)
    return group * rows + select(is_whole, row, last_row), select(is_whole, column, last_column)


def ungrouped(row: Lin, column: Lin, rows: Lin, sizes: Sequence[int]) -> Lin:
    """The place of (row, column)."""
    group, inside = divide(row, rows)
    whole, height = _last(rows, sizes[0])
    step = select(whole - 1 - group, column * rows, column * height)
    return group * rows * sizes[1] + step + inside


def dealt(x: Lin, ways: int, size: int) -> Lin:
    """Where place x lies when the hands lie end to end."""
    turn, hand = divide(x, ways)
    longer = size % ways
    return hand * (size // ways) + select(longer - hand, hand, longer) + turn


def undealt(x: Lin, ways: int, size: int) -> Lin:
    """The place that `dealt` moved to x."""
    length, longer = divmod(size, ways)
    hand, turn = divide(x, length + 1)
    if not length:
        return hand
    cut = longer * (length + 1)
    short, late = divide(select(x - cut, x - cut, 0), length)
    return select(cut - 1 - x, turn * ways + hand, late * ways + longer + short)


def _last(rows: Lin, size: Index) -> tuple[Lin, Lin]:
    """The number of the last group, and its rows: what is left, or as many as the others have."""
    whole, rest = divide(lin(size - 1), rows)
    return whole, rest + 1
