"""The order of tiles that a GPU takes: what it finds in L2, when it is none, and that choosing is quick."""

from __future__ import annotations

import time

import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.config import tile_order
from imbrex.config.context import GemmContext
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule, parse
from imbrex.config.tuning import Tuning
from imbrex.config.tuning import parse as tuning
from imbrex.dtype import dtype
from imbrex.view.work.workgroup import RasterOrder

WAVES = tuning("v1:xdlops:128,128,4,64,64,8")
SWAPPED = tuning("v1:xdlops:128,256,4,64,128,8,auto,xor,staged,swapped")
GENERAL = tuning("v1:general:256,128,128,8,4,4")


def product(m_tiles: int, n_tiles: int, g: int = 1) -> GemmContext:
    return GemmContext(128 * m_tiles, 128 * n_tiles, 2048, dtype("f16"), g)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("used", [WAVES, GENERAL, SWAPPED], ids=["waves", "general", "swapped"])
def test_the_order_that_is_taken_finds_more(chip: str, used: Tuning) -> None:
    machine, context = GPU_MACHINES[chip], product(60, 61)
    plain, best, *others = tile_order.offers(used, context, machine)
    assert plain.order.is_plain and best.hit_rate > plain.hit_rate + 0.05
    assert all(best.hit_rate >= o.hit_rate - tile_order.SLACK for o in others)
    assert tile_order.ordered(DATA_PARALLEL, used, context, machine).order == best.order


def test_tiles_that_leave_compute_units_free_stay_as_they_are() -> None:
    machine = GPU_MACHINES["gfx942"]
    for sizes in ((1, 1), (1, 8), (16, 16), (19, 15)):
        assert tile_order.offers(WAVES, product(*sizes), machine) == []
        assert tile_order.ordered(DATA_PARALLEL, WAVES, product(*sizes), machine) == DATA_PARALLEL


def test_what_is_given_stays() -> None:
    machine, context = GPU_MACHINES["gfx942"], product(64, 60)
    for given in ("data_parallel/wgm=1", "data_parallel/wgm=3/xcd=4", "stream_k:7"):
        assert tile_order.ordered(parse(given), WAVES, context, machine) == parse(given)


def test_where_no_cache_is_known_nothing_is_said() -> None:
    for machine in (GPU_MACHINES["emulate"], CPU_ISAS["avx2"]):
        assert tile_order.offers(WAVES, product(8, 8), machine) == []
        assert tile_order.ordered(DATA_PARALLEL, WAVES, product(8, 8), machine) == DATA_PARALLEL


def test_a_group_fits_the_grid() -> None:
    found = tile_order.offers(WAVES, product(304, 3), GPU_MACHINES["gfx942"])
    assert max(o.order.group for o in found if o.order.along == "n") == 4
    assert TileSchedule("data_parallel", None, RasterOrder(4)).order == parse("data_parallel/wgm=4").order


def test_choosing_is_quick() -> None:
    start = time.process_time()
    tile_order.offers(WAVES, product(251, 257), GPU_MACHINES["gfx942"])
    assert time.process_time() - start < 0.3 * 4, "CPU seconds: four times what it may take"
