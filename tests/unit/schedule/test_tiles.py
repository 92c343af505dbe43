"""Schedules of output tiles: their text and JSON forms, and what the model makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import dtype
from imbrex.schedule import share_cost
from imbrex.schedule.context import Access, GemmContext
from imbrex.schedule.target import CPU_ISAS, GPU_TARGETS
from imbrex.schedule.tiles import DATA_PARALLEL, TileSchedule, from_json, parse, wanted
from imbrex.view.streamk import MODES

schedules = st.one_of(
    st.sampled_from([TileSchedule(mode) for mode in MODES]),
    st.builds(TileSchedule, st.sampled_from(MODES[1:]), st.integers(1, 1 << 16)),
)
LONG = Access((16, 1), (1 << 16, 1.0))
"""Neighbours in k lie together."""
WIDE = Access((1, 16), (1.0, 1 << 16))
TWO = replace(CPU_ISAS["avx512"], threads=2)


def gemm(m: int, n: int, k: int) -> GemmContext:
    return GemmContext(m, n, k, dtype("f32"), 1, LONG, WIDE, WIDE)


@given(schedules)
def test_text_and_json_lose_nothing(schedule: TileSchedule) -> None:
    assert parse(str(schedule)) == schedule == from_json(schedule.to_json())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stream-k", "unknown schedule of tiles 'stream-k'"),
        ("stream_k:", "a schedule is MODE or MODE:WORKGROUPS"),
        ("stream_k:-3", "a schedule is MODE or MODE:WORKGROUPS"),
        ("stream_k:0", "1 to 65536 workgroups, got 0"),
        ("stream_k:99999999", "a schedule is MODE or MODE:WORKGROUPS"),
        ("data_parallel:4", "takes no number"),
    ],
)
def test_other_texts_are_refused(line: str, said: str) -> None:
    with pytest.raises(Diagnostic, match=said):
        parse(line)


def test_workgroups_are_the_machines_where_none_are_given() -> None:
    assert TileSchedule("stream_k").on(TWO) == TileSchedule("stream_k", 2)
    assert TileSchedule("two_tile").on(GPU_TARGETS["gfx942"]).workgroups == 304
    assert TileSchedule("split_k", 7).on(TWO).workgroups == 7
    assert wanted(None) == DATA_PARALLEL == DATA_PARALLEL.on(TWO) and wanted("auto") == "auto"


def test_one_tile_with_a_long_k_is_shared() -> None:
    offer = share_cost.best(gemm(64, 64, 65536), TWO, "cpu")
    assert offer.schedule.mode != "data_parallel" and offer.efficiency > 0.9


@pytest.mark.parametrize("size", [(512, 512, 512), (4096, 64, 64), (2048, 2048, 256)])
def test_tiles_that_occupy_everybody_are_not(size: tuple[int, int, int]) -> None:
    assert share_cost.best(gemm(*size), TWO, "cpu").schedule == DATA_PARALLEL


def test_one_thread_has_nobody_to_share_with() -> None:
    alone = replace(TWO, threads=1)
    assert [o.schedule for o in share_cost.offers(gemm(64, 64, 65536), alone, "cpu")] == [DATA_PARALLEL]


def test_a_nearly_empty_last_wave_of_a_gpu_is_filled() -> None:
    """With the tiles of one tuning: 305 of them on 304 compute units."""
    from imbrex.schedule.vanilla import GeneralTuning

    machine, tuning = GPU_TARGETS["gfx942"], GeneralTuning(256, 128, 128, 8, 4, 4)
    full = share_cost.offers(gemm(128 * 304, 128, 4096), machine, "general", tuning)
    over = share_cost.offers(gemm(128 * 305, 128, 4096), machine, "general", tuning)
    assert over[0].efficiency < 0.51 and over[1].efficiency > 0.95
    assert share_cost.best(gemm(128 * 305, 128, 4096), machine, "general", tuning) == over[1]
    assert share_cost.best(gemm(128 * 304, 128, 4096), machine, "general", tuning) == full[0]
