"""Schedules of output tiles: their text and JSON forms, and what the model makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.config import schedule_choice
from imbrex.config.access import context_of
from imbrex.config.algorithm.task import gemm_task_of
from imbrex.config.context import Access, GemmContext
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule, parse, wanted
from imbrex.config.tuning import parse as tuning_text
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import dtype
from imbrex.problem import Gemm
from imbrex.view.work.streamk import MODES
from imbrex.view.work.workgroup import ALONG, RasterOrder

groups = st.integers(1, 1 << 16)
orders = st.none() | st.builds(RasterOrder, groups, st.sampled_from(ALONG), st.integers(1, 64), st.booleans())
schedules = st.one_of(
    st.builds(TileSchedule, st.sampled_from(MODES), st.none(), orders),
    st.builds(TileSchedule, st.sampled_from(MODES[1:]), st.integers(1, 1 << 16), orders),
    st.builds(TileSchedule, st.just("cluster_k"), st.sampled_from((2, 4, 8)), orders),
)
LONG = Access((16, 1), (1 << 16, 1.0))
"""Neighbours in k lie together."""
WIDE = Access((1, 16), (1.0, 1 << 16))
TWO = replace(CPU_ISAS["avx512"], threads=2)


def gemm(m: int, n: int, k: int) -> GemmContext:
    return GemmContext(m, n, k, dtype("f32"), 1, LONG, WIDE, WIDE)


@given(schedules)
def test_text_loses_nothing(schedule: TileSchedule) -> None:
    assert parse(str(schedule)) == schedule


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stream-k", "unknown schedule of tiles 'stream-k'"),
        ("stream_k:", "a schedule is MODE or MODE:WORKGROUPS"),
        ("stream_k:-3", "a schedule is MODE or MODE:WORKGROUPS"),
        ("stream_k:0", "1 to 65536 workgroups, got 0"),
        ("stream_k:99999999", "a schedule is MODE or MODE:WORKGROUPS"),
        ("data_parallel:4", "takes no number"),
        ("data_parallel/", "unknown option '' of a schedule"),
        ("data_parallel/wgm", "'wgm' is a number from 1 to 65536, got ''"),
        ("data_parallel/wgm=0", "'wgm' is a number from 1 to 65536, got '0'"),
        ("stream_k:4/xcd=99", "'xcd' is a number from 1 to 64, got '99'"),
        ("stream_k:4/xcd=8/xcd=8", "'xcd' is given twice"),
        ("data_parallel/runtime=8", "'runtime' takes no value"),
        ("data_parallel/along=k", "'along' is m or n, got 'k'"),
    ],
)
def test_other_texts_are_refused(line: str, said: str) -> None:
    with pytest.raises(Diagnostic, match=said):
        parse(line)


def test_an_error_points_at_its_place() -> None:
    with pytest.raises(Diagnostic) as caught:
        parse("stream_k:4/along=n/wmg=2")
    assert str(caught.value).splitlines()[1:] == [
        "stream_k:4/along=n/wmg=2",
        "                   ^^^",
        "hint: did you mean 'wgm'?",
    ]


@pytest.mark.parametrize(("text", "got"), [("cluster_k", ""), ("cluster_k:3", ", got 3")])
def test_a_cluster_has_two_four_or_eight_parts(text: str, got: str) -> None:
    with pytest.raises(Diagnostic) as error:
        parse(text)
    said = "the schedule 'cluster_k' takes the number of workgroups that share a tile: 2, 4 or 8"
    assert error.value.message == said + got


def test_the_order_of_options_does_not_matter() -> None:
    assert parse("data_parallel/xcd=8/wgm=4") == TileSchedule("data_parallel", None, RasterOrder(4, "m", 8))
    assert str(parse("two_tile:3/xcd=8/along=n")) == "two_tile:3/wgm=1/along=n/xcd=8"


def test_a_cpu_has_no_dies() -> None:
    with pytest.raises(Diagnostic, match="for GPUs of several dies"):
        parse("data_parallel/xcd=8").on(TWO)
    assert parse("data_parallel/wgm=8").on(TWO) == parse("data_parallel/wgm=8")


def test_workgroups_are_the_machines_where_none_are_given() -> None:
    assert TileSchedule("stream_k").on(TWO) == TileSchedule("stream_k", 2)
    assert TileSchedule("two_tile").on(GPU_MACHINES["gfx942"]).workgroups == 304
    assert TileSchedule("split_k", 7).on(TWO).workgroups == 7
    assert wanted(None) == DATA_PARALLEL == DATA_PARALLEL.on(TWO) and wanted("auto") == "auto"


def test_one_tile_with_a_long_k_is_shared() -> None:
    offer = schedule_choice.best(gemm(64, 64, 65536), TWO, "cpu")
    assert offer.schedule.mode != "data_parallel" and offer.efficiency > 0.9


@pytest.mark.parametrize("size", [(512, 512, 512), (4096, 64, 64), (2048, 2048, 256)])
def test_tiles_that_occupy_everybody_are_not(size: tuple[int, int, int]) -> None:
    assert schedule_choice.best(gemm(*size), TWO, "cpu").schedule == DATA_PARALLEL


def test_where_all_are_busy_a_small_saving_is_not_believed() -> None:
    """Two tiles on two threads: the model finds a tuning that would share, and is not that exact."""
    context = gemm(256, 256, 65536)
    found = schedule_choice.offers(context, TWO, "cpu")
    first, *others = found
    assert first.efficiency == 1.0 and others[0].cost > first.cost * (1 - schedule_choice.BUSY_MARGIN)
    assert schedule_choice.best(context, TWO, "cpu").schedule == DATA_PARALLEL
    assert schedule_choice.margin(found, context, TWO) == schedule_choice.BUSY_MARGIN > schedule_choice.MARGIN


@pytest.mark.parametrize(
    ("m", "n", "b", "mode"),
    [
        (4096, 5120, True, "stream_k"),
        (3072, 6656, True, "stream_k"),
        (8192, 8192, True, "data_parallel"),
        (8192, 8192, False, "data_parallel"),
    ],
)
def test_what_fills_the_last_round_of_a_gpu_of_waves_is_believed(m: int, n: int, b: bool, mode: str) -> None:
    """Tiles of 256 x 224 are 3.9 rounds of a gfx942 for the squares, nearly whole, and 1.2 for the others."""
    gfx942 = GPU_MACHINES["gfx942"]
    problem = Gemm(m, n, 8192, transpose_b=b, dtype="f16")
    context = context_of(gemm_task_of(problem).view, problem.dtype)
    found = schedule_choice.offers(context, gfx942, "xdlops")
    best = schedule_choice.best(context, gfx942, "xdlops")
    assert best.schedule.mode == mode
    if mode == "stream_k":
        assert schedule_choice.margin(found, context, gfx942) == schedule_choice.MARGIN
        assert 1 - schedule_choice.BUSY_MARGIN < best.cost / found[0].cost < 1 - schedule_choice.MARGIN


def test_a_saving_is_what_idle_threads_could_add() -> None:
    """Of one tuning: no mode costs less than data_parallel's time spread over all threads."""
    used = tuning_text("v1:cpu:6,64,96,128,512,16,k_blocked,b,straight")
    for tiles in range(1, 12):
        first, *others = schedule_choice.offers(gemm(96, 128 * tiles, 8192), TWO, "cpu", used)
        assert all(o.cost > first.cost * first.efficiency for o in others)
        chosen = schedule_choice.best(gemm(96, 128 * tiles, 8192), TWO, "cpu", used)
        assert (chosen.schedule == DATA_PARALLEL) == (tiles % 2 == 0 or tiles > 9)


def test_one_thread_has_nobody_to_share_with() -> None:
    alone = replace(TWO, threads=1)
    assert [o.schedule for o in schedule_choice.offers(gemm(64, 64, 65536), alone, "cpu")] == [DATA_PARALLEL]


def test_a_nearly_empty_last_wave_of_a_gpu_is_filled() -> None:
    """With the tiles of one tuning: 305 of them on 304 compute units."""
    from imbrex.config.general.plan import GeneralTuning

    machine, tuning = GPU_MACHINES["gfx942"], GeneralTuning(256, 128, 128, 8, 4, 4)
    full = schedule_choice.offers(gemm(128 * 304, 128, 4096), machine, "general", tuning)
    over = schedule_choice.offers(gemm(128 * 305, 128, 4096), machine, "general", tuning)
    assert over[0].efficiency < 0.51 and over[1].efficiency > 0.95
    assert schedule_choice.best(gemm(128 * 305, 128, 4096), machine, "general", tuning) == over[1]
    assert schedule_choice.best(gemm(128 * 304, 128, 4096), machine, "general", tuning) == full[0]
