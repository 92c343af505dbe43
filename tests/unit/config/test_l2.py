"""The L2 simulation: small cases by hand, and that grouped order beats linear order."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_MACHINES, L2
from imbrex.config.l2 import plan_traffic, sampled, traffic
from imbrex.index.map import Map
from imbrex.view.work.streamk import Plan, Tiles
from imbrex.view.work.workgroup import Along, begun, raster_order

TILE = (32 << 10, 32 << 10)


def test_by_hand() -> None:
    # one column of two tiles: A's tiles are new, B's is found the second time
    assert traffic(raster_order(2, 1), 3, 2, L2(1 << 20), TILE).missed == 3 * 3
    # one at a time, and room for all of B's three tiles: the second workgroup finds them
    assert traffic(raster_order(2, 1), 3, 1, L2(1 << 20), TILE).missed == 3 * 3
    # room for one tile only: nothing is found
    alone = traffic(raster_order(2, 1), 3, 2, L2(32 << 10), TILE)
    assert (alone.lookups, alone.missed, alone.hit_rate) == (12, 12, 0.0)
    # two dies: each fetches B's tile for itself
    assert traffic(raster_order(2, 1), 3, 2, L2(1 << 20, xcds=2), TILE).missed == 4 * 3


@pytest.mark.parametrize("resident", [128, 256, 304])
def test_grouped_order_beats_linear_order(resident: int) -> None:
    """64 x 64 tiles on one die, and on 8 dies of which each gets neighbours."""
    one = [
        traffic(raster_order(64, 64, group), 16, resident, L2(4 << 20), TILE).hit_rate for group in (None, 8)
    ]
    assert one[1] > one[0] + 0.02
    dealt = L2(4 << 20, xcds=8)
    eight = [
        traffic(raster_order(64, 64, group, xcds=8), 16, resident, dealt, TILE).hit_rate
        for group in (None, 8)
    ]
    assert eight[1] > eight[0] + 0.2


def test_without_the_remap_a_group_as_wide_as_the_dies_gives_each_die_one_row() -> None:
    """Dealt in turn, 8 rows a group on 8 dies leave a die neighbours along n only."""
    dealt = L2(4 << 20, xcds=8)
    plain, remapped = (
        traffic(raster_order(64, 64, 8, xcds=xcds), 16, 304, dealt, TILE).hit_rate for xcds in (1, 8)
    )
    assert remapped > plain + 0.3


@pytest.mark.parametrize(("m", "n"), [(64, 64), (40, 23), (16, 16), (200, 3)])
@pytest.mark.parametrize(("group", "along"), [(1, "m"), (1, "n"), (8, "m"), (16, "n")])
@pytest.mark.parametrize("chip", ["gfx90a", "gfx942"])
def test_few_batches_speak_for_all(m: int, n: int, group: int, along: Along, chip: str) -> None:
    """One step of four batches against all steps of all: within three points."""
    cache = GPU_MACHINES[chip].l2
    assert cache is not None
    for ways in dict.fromkeys((1, cache.xcds)):
        tiles = begun(1, m, n, group, along, ways)
        resident = 304 if cache.xcds > 1 else 104
        whole = traffic(tiles, 16, resident, cache, TILE)
        assert abs(sampled(tiles, resident, cache, TILE).hit_rate - whole.hit_rate) < 0.03


def test_batches_of_a_product_share_nothing() -> None:
    cache = L2(4 << 20)
    assert sampled(begun(8, 1, 1), 8, cache, TILE).hit_rate == 0.0
    assert sampled(begun(1, 8, 1), 8, cache, TILE).hit_rate == 7 / 16


@pytest.mark.parametrize(("m", "n", "gain"), [(64, 64, 0.2), (20, 19, 0.05)])
def test_dealing_a_plans_places_gathers_tiles_on_dies(m: int, n: int, gain: float) -> None:
    """Workgroups stay where they are, so that nobody waits for one that starts later."""
    cache, plan = L2(4 << 20, 8), Plan(Tiles(m * n, 1, 16), 304, "stream_k")
    rates = [
        plan_traffic(plan, begun(1, m, n, 8, ways=ways), cache, TILE).hit_rate for ways in (1, plan.ways(8))
    ]
    assert rates[1] > rates[0] + gain


def test_a_plan_of_whole_tiles_is_one_batch() -> None:
    cache, plan = L2(4 << 20, 8), Plan(Tiles(80, 1, 5), 80, "data_parallel")
    backwards = begun(1, 8, 10)
    (numbers,) = (m.size for m in backwards.upper)
    assert numbers == 80
    found = plan_traffic(plan, backwards, cache, TILE)
    assert found.lookups == traffic(backwards, 5, 80, cache, TILE).lookups
    assert abs(found.hit_rate - traffic(backwards, 5, 80, cache, TILE).hit_rate) < 0.02


@pytest.mark.parametrize("xcds", [1, 3, 8])
@pytest.mark.parametrize("room", [1, 4, 10, 1 << 10])
@pytest.mark.parametrize(
    "order", [begun(1, 9, 7), begun(3, 5, 8, 4, "n"), begun(2, 6, 6, 2, "m", 3)], ids=str
)
def test_where_all_tiles_fit_they_are_counted_as_they_are_looked_up(order: Map, room: int, xcds: int) -> None:
    (count,) = (d.size for d in order.upper)
    cache, sizes = L2(room * (32 << 10), xcds=xcds), (32 << 10, 16 << 10)
    assert sampled(order, count, cache, sizes) == traffic(order, 1, count, cache, sizes)
