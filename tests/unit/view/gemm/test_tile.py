"""Tiles cover: every element of a tile is one work item's; workgroups and steps sum every product once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from imbrex.index.map import Dim, Map
from imbrex.view.gemm import tile
from imbrex.view.gemm.product import plain
from imbrex.view.gemm.tile import Clusters, Grid

from ..points import Ints, covers_once, existing, offsets, products

GRIDS = [
    Grid(g=1, m_blocks=2, n_blocks=3, k_steps=2, m_per_block=2, n_per_block=4, k_per_block=3),
    Grid(g=3, m_blocks=1, n_blocks=2, k_steps=3, m_per_block=3, n_per_block=1, k_per_block=2),
    Grid(g=1, m_blocks=1, n_blocks=1, k_steps=1, m_per_block=4, n_per_block=2, k_per_block=1),
]
CLUSTERS = [Clusters(2, 2, 1), Clusters(1, 1, 1), Clusters(4, 1, 2), Clusters(1, 3, 2)]
WORKGROUP = Dim("workgroup", 3)


def tiled(grid: Grid, batched: bool) -> tuple[Map, Map, Map]:
    """A's and B's windows and C's tiles of the product that the grid covers."""
    m, n, k = (
        grid.m_blocks * grid.m_per_block,
        grid.n_blocks * grid.n_per_block,
        grid.k_steps * grid.k_per_block,
    )
    view = plain(m, n, k, grid.g if batched else None)
    a = Map((*tile.window(view.a.upper, grid, "m"), *view.a.layers))
    b = Map((*tile.window(view.b.upper, grid, "n"), *view.b.layers))
    return a, b, Map((*tile.result(view.c.upper, grid), *view.c.layers))


def summed(grid: Grid, batched: bool) -> Ints:
    """What all workgroups sum over all steps: a (step, wg, k, m), b (step, wg, k, n), c (wg, m, n)."""
    a, b, c = (offsets(map) for map in tiled(grid, batched))
    return existing(a[:, :, :, :, None], b[:, :, :, None, :], c[None, :, None, :, :])


@pytest.mark.parametrize("grid", GRIDS)
def test_workgroups_and_steps_sum_every_product_once(grid: Grid) -> None:
    m, n, k = (
        grid.m_blocks * grid.m_per_block,
        grid.n_blocks * grid.n_per_block,
        grid.k_steps * grid.k_per_block,
    )
    for batched in (False, True) if grid.g == 1 else (True,):
        view = plain(m, n, k, grid.g if batched else None)
        assert np.array_equal(summed(grid, batched), products(view))
        assert covers_once(tiled(grid, batched)[2])
    assert grid.workgroups == grid.g * grid.m_blocks * grid.n_blocks


def test_workgroups_count_n_blocks_fastest_and_groups_slowest() -> None:
    _, _, c = tiled(
        Grid(g=2, m_blocks=2, n_blocks=3, k_steps=1, m_per_block=1, n_per_block=1, k_per_block=1), True
    )
    assert offsets(c).reshape(-1).tolist() == list(range(12))


def test_control_a_wrong_tile_is_seen() -> None:
    grid = GRIDS[0]
    view = plain(4, 12, 6)
    a, _, c = (offsets(map) for map in tiled(grid, False))
    wrong = Grid(1, 2, 3, 3, 2, 4, 2)
    b = offsets(Map((*tile.window(view.b.upper, wrong, "n"), *view.b.layers)))[:2]
    rows = existing(a[:, :, :2, :, None], b[:, :, :, None, :], c[None, :, None, :, :])
    assert not np.array_equal(rows, products(view))


@pytest.mark.parametrize("leading", [(), (Dim("step", 2), WORKGROUP)])
@pytest.mark.parametrize("side", ["m", "n"])
@pytest.mark.parametrize("cluster", [(1, 1), (2, 4), (4, 8), (1, 8), (4, 1)])
def test_copied_gives_every_element_to_one_work_item(
    cluster: tuple[int, int], side: str, leading: tuple[Dim, ...]
) -> None:
    map = Map(tile.copied((*leading, Dim("k", 4), Dim(side, 8)), side, cluster))
    names = [d.name for d in map.upper]
    assert names == [*(d.name for d in leading), "workitem", "k_item", f"{side}_item"]
    assert [d.size for d in map.upper[-3:]] == [cluster[0] * cluster[1], 4 // cluster[0], 8 // cluster[1]]
    assert covers_once(map)


def test_neighbouring_work_items_copy_neighbours_along_m() -> None:
    map = Map(tile.copied((Dim("k", 4), Dim("m", 8)), "m", (2, 4)))
    assert offsets(map)[:5, 0, 0].tolist() == [0, 2, 4, 6, 16]
    assert offsets(map)[0].tolist() == [[0, 1], [8, 9]]


@pytest.mark.parametrize(("m", "n"), list(product(CLUSTERS, CLUSTERS)))
@pytest.mark.parametrize("repeats", [(1, 1), (2, 2), (1, 3)])
def test_work_items_hold_what_they_multiply(m: Clusters, n: Clusters, repeats: tuple[int, int]) -> None:
    """Rows of A times rows of B, as `operand` gives them, are the elements of C that `computed` gives."""
    rows, columns, k = m.per_repeat * repeats[0], n.per_repeat * repeats[1], 2
    c = Map(tile.computed((WORKGROUP, Dim("m", rows), Dim("n", columns)), m, n))
    assert covers_once(c)
    a = offsets(Map(tile.operand((Dim("k", k), Dim("m", rows)), "m", m, n)))
    b = offsets(Map(tile.operand((Dim("k", k), Dim("n", columns)), "n", n, m)))
    assert a.shape[0] == b.shape[0] == m.level0 * m.level1 * n.level0 * n.level1
    for row in range(k):
        assert np.array_equal(a[:, row] - row * rows, a[:, 0])
    outer = a[:, 0, :, :, None, None] * columns + b[:, 0, None, None, :, :]
    held = offsets(c)
    for workgroup in range(WORKGROUP.size):
        assert np.array_equal(held[workgroup] - workgroup * rows * columns, outer)


def test_work_items_count_level0_of_n_fastest() -> None:
    """The order of the seeds' clusters: (m_level1, n_level1, m_level0, n_level0)."""
    two = Clusters(1, 2, 2)
    first = offsets(Map(tile.computed((Dim("workgroup", 1), Dim("m", 4), Dim("n", 4)), two, two))).reshape(-1)
    rows, columns = first // 4, first % 4
    assert columns.tolist() == [0, 1, 0, 1, 2, 3, 2, 3] * 2
    assert rows.tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3]


@pytest.mark.parametrize(("m_threads", "n_threads"), [(1, 1), (2, 4), (4, 2), (4, 8)])
def test_held_counts_registers_row_by_row(m_threads: int, n_threads: int) -> None:
    map = Map(tile.held((Dim("m", 4), Dim("n", 8)), m_threads, n_threads))
    assert [d.name for d in map.upper] == ["m_repeat", "m_thread", "n_repeat", "n_thread"]
    assert offsets(map).reshape(-1).tolist() == list(range(32))


@pytest.mark.parametrize("leading", [(), (Dim("step", 2), WORKGROUP)])
@pytest.mark.parametrize(("lanes", "k_inner"), [(2, 1), (8, 1), (1, 1), (2, 4), (8, 2), (4, 12)])
def test_panels_cover_a_tile(lanes: int, k_inner: int, leading: tuple[Dim, ...]) -> None:
    map = Map(tile.panels((*leading, Dim("k", 12), Dim("m", 8)), "m", lanes, k_inner))
    assert covers_once(map)
    packed = offsets(map).reshape([-1, *(d.size for d in map.upper[len(leading) :])])
    for panel in range(8 // lanes):
        for lane, k in product(range(lanes), range(12)):
            at = (k, lane) if k_inner == 1 else (k // k_inner, lane, k % k_inner)
            assert packed[(0, panel, *at)] == k * 8 + panel * lanes + lane


@pytest.mark.parametrize("outer", ["m", "n"])
@pytest.mark.parametrize(("m_lanes", "n_lanes"), [(2, 4), (4, 8), (1, 1)])
def test_paneled_tiles_of_c_are_those_of_the_panels(m_lanes: int, n_lanes: int, outer: str) -> None:
    map = Map(tile.paneled((Dim("m", 4), Dim("n", 8)), m_lanes, n_lanes, outer))
    assert covers_once(map)
    assert [d.name for d in map.upper][:2] == [f"{outer}_panel", f"{tile.OTHER[outer]}_panel"]
    found = offsets(map) if outer == "m" else offsets(map).swapaxes(0, 1)
    a = offsets(Map(tile.panels((Dim("k", 1), Dim("m", 4)), "m", m_lanes)))[:, 0]
    b = offsets(Map(tile.panels((Dim("k", 1), Dim("n", 8)), "n", n_lanes)))[:, 0]
    assert np.array_equal(found, a[:, None, :, None] * 8 + b[None, :, None, :])
