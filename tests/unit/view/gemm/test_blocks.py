"""Blocks of packs along m: every element is somewhere, and 16 lanes that transpose have rows of A."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.dtype import ACROSS, DTYPES
from imbrex.index.map import Dim, Map
from imbrex.view.gemm.blocks import by_row, in_blocks, together


@pytest.mark.parametrize(("name", "count"), [("f4e2m1fn", 2), ("f6e3m2fn", 1)])
def test_lanes_that_transpose_have_packs_along_k_of_their_rows(name: str, count: int) -> None:
    """k of a row's pack in 16 lanes are the 16 of a block, and m of all of them hold the lane's own."""
    assert together(ACROSS[name]) == together(ACROSS[name].in_lds) == count and together(DTYPES[name]) == 1
    seen = Map(in_blocks((Dim("k", 48), Dim("m", 4)), count))
    assert [d.size for d in seen.upper] == [3, 64]
    read = Map((*by_row(seen.upper, count), *seen.layers))
    grid = np.indices((3, 64))
    (k, packs), valid = read.evaluate(list(grid))
    assert valid.all() and len(set(zip(k.flat, packs.flat, strict=True))) == 48 * 4
    of_blocks = k.reshape(3, 4, 16), packs.reshape(3, 4, 16)
    assert np.array_equal(of_blocks[0], np.broadcast_to(np.arange(48).reshape(3, 1, 16), (3, 4, 16)))
    assert np.array_equal(of_blocks[1], np.broadcast_to(np.arange(4)[:, None], (3, 4, 16)))


def test_neighbours_of_16_bytes_stay_together() -> None:
    seen = Map(in_blocks((Dim("g", 2), Dim("k", 16), Dim("m", 6)), 2))
    (g, k, packs), _ = seen.evaluate([np.array(1), np.array(0), np.arange(96)])
    assert (g == 1).all() and np.array_equal(k, np.tile(np.repeat(np.arange(16), 2), 3))
    assert np.array_equal(packs.reshape(-1, 2) % 2, np.tile([0, 1], (48, 1)))
