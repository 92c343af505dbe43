"""Tiles of several taps: what a product reads of them is what its operand has there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from imbrex.index.map import Dim, Map
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.raster import RasterDirection
from imbrex.view.conv.row_taps import RowTaps, abreast, row_taps
from imbrex.view.gemm.product import overhang, overlap
from imbrex.view.gemm.sliding_tile import SlidingTile, loaded, tap, taps
from imbrex.view.gemm.tile import Grid, Taps

from ..points import offsets

CHANNELS, STEP, IMAGES, M, N = 4, 2, 2, 3, 8
CONV = Convolution(
    (Dim("k", CHANNELS), Dim("y", 2), Dim("x", 3), Dim("c", CHANNELS)),
    (Dim("n", 3), Dim("hi", 4), Dim("wi", 5), Dim("c", CHANNELS)),
    (Dim("n", 3), Dim("ho", 4), Dim("wo", 5), Dim("k", CHANNELS)),
    (1, 1), (1, 1), ((0, 1), (1, 1)),
)  # fmt: skip
DIRECTIONS: tuple[RasterDirection, ...] = ("forward", "backward_data")


def grid_of(direction: RasterDirection) -> tuple[Map, Map, Map, Grid, RowTaps]:
    """A, B and C, grown to whole tiles, of a raster of two images abreast."""
    view, found = abreast(CONV, direction, IMAGES), row_taps(CONV, direction, IMAGES)
    assert isinstance(found, RowTaps)
    a, b, c = (Map((*overhang(map.upper, gemmM=M, gemmN=N), *map.layers)) for map in (view.a, view.b, view.c))
    m, n, k = dict(a.upper)["gemmM"] // M, dict(b.upper)["gemmN"] // N, view.k // (STEP * found.count)
    grid = Grid(1, m, n, k, M, N, STEP * found.count, taps=Taps(found.count, found.channels))
    return a, b, c, grid, found


def order_of_k(grid: Grid) -> np.ndarray:
    """gemmK of each (step, k of all taps)."""
    assert grid.taps is not None
    count, channels = grid.taps.count, grid.taps.channels
    rows = np.arange(grid.k_steps * grid.k_per_block).reshape(-1, count, channels // STEP, STEP)
    return rows.swapaxes(1, 2).reshape(grid.k_steps, -1)


@pytest.mark.parametrize(("direction", "has_own"), list(product(DIRECTIONS, (False, True))))
def test_taps_of_the_filter_lie_apart(direction: RasterDirection, has_own: bool) -> None:
    a, _, _, grid, found = grid_of(direction)
    plain = offsets(a)[order_of_k(grid)].reshape(grid.k_steps, -1, grid.m_blocks, M).swapaxes(1, 2)
    if has_own:
        tiles = offsets(Map((*loaded(a.upper, grid, "m", None), *a.layers)))
        got = tiles.transpose(0, 2, 1, 3, 4).reshape(grid.k_steps, grid.workgroups, -1, M)
    else:
        rows = SlidingTile(found.count, found.count * M, M)
        tiles = offsets(Map((*loaded(a.upper, grid, "m", rows), *a.layers)))
        seen = offsets(Map(taps((Dim("k", STEP), Dim("m", rows.rows)), M, rows)))
        got = tiles.reshape(grid.k_steps, grid.workgroups, -1)[:, :, seen]
    assert np.array_equal(got[:, :: grid.n_blocks], plain)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_taps_of_pixels_overlap(direction: RasterDirection) -> None:
    """Where a column is stored; others go into no sum that counts."""
    _, b, c, grid, found = grid_of(direction)
    rows = SlidingTile(found.count, N + (found.count - 1) * abs(found.step) + 1, found.step)
    beyond = overlap(b.upper, "gemmN", rows.rows - N)
    dims = beyond[0].upper
    tiles = offsets(Map((*loaded(dims, grid, "n", rows), *beyond, *b.layers)))
    flat = tiles.reshape(grid.k_steps, grid.workgroups, -1)[:, : grid.n_blocks]
    tile = Dim("k", STEP), Dim("n", rows.rows)
    together = flat[:, :, offsets(Map(taps(tile, N, rows)))]
    one_by_one = [flat[:, :, offsets(Map(tap(tile, N, rows, number)))] for number in range(found.count)]
    assert np.array_equal(together, np.concatenate(one_by_one, axis=2))
    plain = offsets(b)[order_of_k(grid)].reshape(grid.k_steps, -1, grid.n_blocks, N).swapaxes(1, 2)
    stored = (offsets(c)[0] >= 0).reshape(grid.n_blocks, 1, N)
    assert stored.any() and not stored.all()
    assert np.array_equal(np.where(stored, together, 0), np.where(stored, plain, 0))
