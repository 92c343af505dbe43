"""LineFilter: from any row of the window on, all rows in turn are neighbours in shared memory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from imbrex.view.stage.line_filter import LineFilter

FILTERS = [
    LineFilter(3, 3, 64, 64, 4, 2, "k"),
    LineFilter(3, 3, 64, 64, 1, 2, "k"),
    LineFilter(3, 3, 64, 64, 4, 2, "d"),
    LineFilter(3, 1, 32, 48, 1, 2, "d"),
    LineFilter(1, 3, 128, 16, 1, 2, "k"),
    LineFilter(5, 5, 32, 32, 2, 2, "k"),
    LineFilter(2, 3, 64, 32, 2, 1, "k"),
]


@pytest.mark.parametrize("one", FILTERS, ids=str)
def test_rows_follow_in_turn(one: LineFilter) -> None:
    """What an instruction takes for a block and a phase: row (phase + i) modulo rows at the i-th filters."""
    rows = np.full((one.tile.k, one.tile.d), -1)
    columns = np.full_like(rows, -1)
    for part in one.parts:
        here = slice(part.k0, part.k0 + one.depth), slice(part.d0, part.d0 + one.each)
        assert (rows[here] == -1).all(), "each place is one tap's"
        rows[here], columns[here] = part.row, part.column
    assert (rows >= 0).all()
    for block, phase, column in product(range(one.diagonal), range(one.rows), range(one.columns)):
        d0, k0 = one.d_of(block, phase), one.k_of(column)
        taken = rows[k0 : k0 + one.depth, d0 : d0 + one.rows * one.each]
        want = np.repeat((phase + np.arange(one.rows)) % one.rows, one.each)
        assert (taken == want).all()
        assert (columns[k0 : k0 + one.depth] == column).all()


@pytest.mark.parametrize("one", FILTERS, ids=str)
def test_a_part_lies_together(one: LineFilter) -> None:
    """A part, which a box brings, has its elements where the whole tile has them, from one byte on."""
    whole, part = one.tile, one.part
    assert whole.bytes == one.bytes
    k, d = np.indices((part.k, part.d))
    (own,), _ = part.map.evaluate((k, d))
    for at in one.parts:
        (found,), _ = whole.map.evaluate((k + at.k0, d + at.d0))
        for block in part.blocks:
            here = slice(block.k0, block.k0 + block.k), slice(block.d0, block.d0 + block.d)
            start = whole.start(at.k0 + block.k0, at.d0 + block.d0) - block.byte_offset
            assert (found[here] - own[here] == start // one.element_bytes).all()


def test_the_rows_are_as_long_as_a_block() -> None:
    assert [one.swizzle for one in FILTERS[:4]] == [32, 128, 32, 32]
    assert (FILTERS[0].bytes, FILTERS[1].bytes) == (30720, 122880)
