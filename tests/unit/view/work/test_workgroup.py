"""Workgroup mappings: the seed's tables cell by cell, and bijections from hardware's number to the tile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.index.expr import param
from imbrex.index.map import Map
from imbrex.view.work import workgroup
from imbrex.view.work.workgroup import Along

LINEAR = """
    0   6  12  18  24  30  36  42
    1   7  13  19  25  31  37  43
    2   8  14  20  26  32  38  44
    3   9  15  21  27  33  39  45
    4  10  16  22  28  34  40  46
    5  11  17  23  29  35  41  47
"""
GROUPED = """
    0   4   8  12  16  20  24  28
    1   5   9  13  17  21  25  29
    2   6  10  14  18  22  26  30
    3   7  11  15  19  23  27  31
   32  34  36  38  40  42  44  46
   33  35  37  39  41  43  45  47
"""


def table(map: Map) -> npt.NDArray[np.int64]:
    """The workgroup of each tile; -1 where there is none."""
    sizes = [d.size for d in map.lower]
    found = np.full(sizes, -1)
    numbers = np.arange(map.upper[0].size)
    (m, n), _ = map.evaluate([numbers])
    found[np.broadcast_to(m, numbers.shape), np.broadcast_to(n, numbers.shape)] = numbers
    return found


def seed(text: str) -> npt.NDArray[np.int64]:
    return np.array([[int(x) for x in line.split()] for line in text.strip().splitlines()])


def test_the_seeds_tables() -> None:
    assert np.array_equal(table(workgroup.linear(6, 8)), seed(LINEAR))
    assert np.array_equal(table(workgroup.grouped(6, 8, 6)), seed(LINEAR)), "one group of all rows"
    assert np.array_equal(table(workgroup.grouped(6, 8, 4)), seed(GROUPED))
    assert not np.array_equal(table(workgroup.grouped(6, 8, 3)), seed(GROUPED))


def test_the_other_parallel_dimension_is_the_transposed_table() -> None:
    assert np.array_equal(table(workgroup.linear(8, 6, "n")).T, seed(LINEAR))
    assert np.array_equal(table(workgroup.grouped(8, 6, 4, "n")).T, seed(GROUPED))


@given(
    st.integers(1, 12), st.integers(1, 12), st.integers(1, 15), st.sampled_from(("m", "n")), st.integers(1, 9)
)
def test_hardware_number_to_tile_is_a_bijection(m: int, n: int, group: int, along: Along, xcds: int) -> None:
    """More XCDs than workgroups, groups longer than the grid and ragged edges included."""
    map = workgroup.raster_order(m, n, group, along, xcds)
    assert np.array_equal(np.sort(table(map), axis=None), np.arange(m * n))
    back, _ = map.inverse().evaluate([c.ravel() for c in np.indices((m, n))])
    assert np.array_equal(np.broadcast_to(back[0], m * n), table(map).ravel())


@given(st.integers(1, 100), st.integers(1, 9))
def test_neighbours_run_on_one_xcd(workgroups: int, xcds: int) -> None:
    (moved,), _ = workgroup.xcd(workgroups, xcds).evaluate([np.arange(workgroups)])
    new = np.broadcast_to(moved, workgroups)
    die = np.empty(workgroups, np.int64)
    die[new] = np.arange(workgroups) % xcds
    assert np.all(np.diff(die) >= 0), "each die's workgroups are neighbours"
    on_one = np.flatnonzero(np.arange(workgroups) % xcds == 0)
    assert np.all(np.diff(new[on_one]) == 1), "and keep their order"


@pytest.mark.parametrize("group", range(1, 8))
def test_the_group_may_be_a_runtime_quantity(group: int) -> None:
    map = workgroup.grouped(6, 8, param("wgm", 1, 7))
    baked = table(workgroup.grouped(6, 8, group))
    for w in range(48):
        m, n = (x.eval({"wgm": group, "workgroup": w}) for x in map.symbolic.coords)
        assert baked[m, n] == w


@given(
    st.integers(1, 4),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 12),
    st.sampled_from(("m", "n")),
    st.integers(1, 30),
)
def test_batches_begin_one_after_the_other(
    batches: int, m: int, n: int, group: int, along: Along, ways: int
) -> None:
    """Every tile of every batch once; without dealing a batch is the order of a product alone."""
    count = batches * m * n
    places = np.arange(count)
    map = workgroup.numbered(workgroup.begun(batches, m, n, group, along, ways))
    (tiles,), _ = map.evaluate([places])
    assert np.array_equal(np.sort(np.broadcast_to(tiles, count)), places)
    (back,), _ = map.inverse().evaluate([places])
    assert np.array_equal(np.broadcast_to(tiles, count)[np.broadcast_to(back, count)], places)
    (rows, columns), _ = workgroup.grouped(m, n, group, along).evaluate([places % (m * n)])
    (tiles,), _ = workgroup.numbered(workgroup.begun(batches, m, n, group, along)).evaluate([places])
    assert np.array_equal(np.broadcast_to(tiles, count), (places // (m * n) * m + rows) * n + columns)


def test_the_plain_order_is_the_numbers() -> None:
    map = workgroup.numbered(workgroup.begun(2, 5, 7))
    (tiles,), _ = map.evaluate([np.arange(70)])
    assert np.array_equal(tiles, np.arange(70)) and workgroup.RasterOrder().is_plain
    assert not workgroup.RasterOrder(2).is_plain and not workgroup.RasterOrder(along="n").is_plain
