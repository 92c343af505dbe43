"""The L2 simulation: small cases by hand, and that grouped order beats linear order."""

from __future__ import annotations

import pytest

from imbrex.schedule.l2 import L2, traffic
from imbrex.view.workgroup import order

TILE = (32 << 10, 32 << 10)


def test_by_hand() -> None:
    # one column of two tiles: A's tiles are new, B's is found the second time
    assert traffic(order(2, 1), 3, 2, L2(1 << 20), TILE).missed == 3 * 3
    # one at a time, and room for all of B's three tiles: the second workgroup finds them
    assert traffic(order(2, 1), 3, 1, L2(1 << 20), TILE).missed == 3 * 3
    # room for one tile only: nothing is found
    alone = traffic(order(2, 1), 3, 2, L2(32 << 10), TILE)
    assert (alone.asked, alone.missed, alone.hit_rate) == (12, 12, 0.0)
    # two dies: each fetches B's tile for itself
    assert traffic(order(2, 1), 3, 2, L2(1 << 20, xcds=2), TILE).missed == 4 * 3


@pytest.mark.parametrize("resident", [128, 256, 304])
def test_grouped_order_beats_linear_order(resident: int) -> None:
    """64 x 64 tiles on one die, and on 8 dies of which each gets neighbours."""
    one = [traffic(order(64, 64, group), 16, resident, L2(4 << 20), TILE).hit_rate for group in (None, 8)]
    assert one[1] > one[0] + 0.02
    dealt = L2(4 << 20, xcds=8)
    eight = [traffic(order(64, 64, group, xcds=8), 16, resident, dealt, TILE).hit_rate for group in (None, 8)]
    assert eight[1] > eight[0] + 0.2


def test_without_the_remap_a_group_as_wide_as_the_dies_gives_each_die_one_row() -> None:
    """Dealt in turn, 8 rows a group on 8 dies leave a die neighbours along n only."""
    dealt = L2(4 << 20, xcds=8)
    plain, remapped = (traffic(order(64, 64, 8, xcds=xcds), 16, 304, dealt, TILE).hit_rate for xcds in (1, 8))
    assert remapped > plain + 0.3
