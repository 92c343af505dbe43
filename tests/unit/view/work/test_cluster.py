"""Units of clusters: each tile of each batch is some member's at some unit, once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from imbrex.index.expr import lin
from imbrex.view.work.cluster import blocks_in_order, tiles, unit_in_round

CASES = list(product((1, 2, 5), (1, 3), (1, 2, 8), (1, 3), ((1, 1), (2, 1), (1, 2), (2, 2))))


@pytest.mark.parametrize(("rows", "columns", "group", "batches", "cluster"), CASES)
def test_every_tile_has_one_unit_and_member(
    rows: int, columns: int, group: int, batches: int, cluster: tuple[int, int]
) -> None:
    map = tiles(blocks_in_order(rows, columns, group), batches, cluster)
    sizes = [batches, rows * cluster[0], columns * cluster[1]]
    assert [d.size for d in map.lower] == sizes
    units, members = (d.size for d in map.upper)
    assert (units, members) == (batches * rows * columns, cluster[0] * cluster[1])
    coords, _ = map.evaluate(list(np.indices((units, members))))
    places = np.ravel_multi_index([np.broadcast_to(c, (units, members)) for c in coords], sizes)
    assert sorted(places.ravel().tolist()) == list(range(units * members))


def test_members_share_a_row_or_a_column_of_tiles() -> None:
    map = tiles(blocks_in_order(4, 4, 2), 1, (2, 2))
    for unit in range(16):
        found = [[int(x) for x in map.evaluate([unit, member])[0][1:]] for member in range(4)]
        row, column = found[0]
        assert found == [[row, column], [row + 1, column], [row, column + 1], [row + 1, column + 1]]


def test_a_group_goes_down_before_the_next_column() -> None:
    found = [tuple(int(x) for x in blocks_in_order(4, 3, 2).evaluate([unit])[0]) for unit in range(5)]
    assert found == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    assert tuple(int(x) for x in blocks_in_order(4, 3, 1).evaluate([1])[0]) == (0, 1)


def test_batches_may_come_first() -> None:
    """Units that follow one another are of different batches: a workgroup of every third has one batch."""
    map = tiles(blocks_in_order(4, 2, 1), 3, (1, 1), batch_first=True)
    found = [tuple(int(x) for x in map.evaluate([unit, 0])[0]) for unit in range(24)]
    assert found[:5] == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 1), (1, 0, 1)]
    assert len(set(found)) == 24 and {batch for batch, _, _ in found[::3]} == {0}


@pytest.mark.parametrize(("clusters", "turns"), [(7, 1), (8, 1), (8, 2), (7, 2), (6, 3), (8, 4), (132, 2)])
def test_every_unit_is_dealt_once_and_every_slot_meets_all_turns(clusters: int, turns: int) -> None:
    rounds = 12
    found = [
        [
            unit_in_round(lin(slot), lin(number), clusters, turns).const + number * clusters
            for number in range(rounds)
        ]
        for slot in range(clusters)
    ]
    assert sorted(unit for units in found for unit in units) == list(range(rounds * clusters))
    for units in found:
        met = [unit % turns for unit in units]
        assert {met.count(turn) for turn in range(turns)} == {rounds // turns}
