"""Warpgroup tunings: what follows from one, the rules that refuse one, and the model's choice."""

from __future__ import annotations

import dataclasses
from itertools import product

import pytest
from tests.pairs import in_turn, one_in

from imbrex.chip import GPU_MACHINES, target
from imbrex.config import tuning as tunings
from imbrex.config.access import context_of
from imbrex.config.algorithm.task import task_of
from imbrex.config.choose import choose, family_of, require
from imbrex.config.context import Access, GemmContext
from imbrex.config.legal import check
from imbrex.config.tiles import AUTO, DATA_PARALLEL, TileSchedule
from imbrex.config.tuning import text
from imbrex.config.warpgroup.choice import best_tuning, scheduled
from imbrex.config.warpgroup.cost import schedule_cost, schedule_cycles
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.plan import WarpgroupTuning, shared_tile, step_of_channels
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.rows import rows_of
from imbrex.config.warpgroup.space import warpgroup_space
from imbrex.config.warpgroup.steps import Streams
from imbrex.config.warpgroup.tunings import Tunings
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, F8E4M3FN, F16, F32, I8, TF32, DType
from imbrex.problem import Conv2d
from imbrex.view.conv.implicit_gemm import backward_weight
from imbrex.view.gemm.product import plain

MACHINE = GPU_MACHINES["sm_90a"]
TILE = WarpgroupTuning(128, 256, 64, 4, 2, 2, 1, False, False, 8)
ALONG_K, ALONG_D = Access((8, 1), (1024.0, 1.0), (1, 0)), Access((1, 8), (1.0, 1024.0), (0, 1))
GEMM = GemmContext(4096, 4096, 4096, F16, 1, ALONG_K, ALONG_K, ALONG_D)


def gemm(m: int, n: int, k: int, dtype: DType = F16, transpose_b: bool = True) -> GemmContext:
    return context_of(plain(m, n, k, None, False, transpose_b), dtype)


def with_(**changes: int | bool) -> WarpgroupTuning:
    return dataclasses.replace(TILE, **changes)  # type: ignore[arg-type]


def test_what_follows_from_a_tuning() -> None:
    plan = TILE.plan(GEMM)
    assert (TILE.block_size, TILE.cluster, TILE.tile) == (384, 2, (128, 256, 64))
    assert (plan.tiles, plan.blocks, plan.units, plan.k_iterations) == ((32, 16), (16, 16), 256, 64)
    assert (plan.clusters, plan.grid_size, plan.accumulators) == (66, 132, 128)
    assert (plan.layout.stage_bytes, plan.lds_bytes) == (49152, 229440)
    assert plan.a_tile == shared_tile(64, 128, 2, reads_d=False) and plan.a_tile.swizzle == 128
    assert not check(TILE, GEMM, MACHINE)


def test_swapped_exchanges_rows_and_columns() -> None:
    context = dataclasses.replace(GEMM, m=300, n=5000, b=ALONG_D)
    plan = with_(swapped=True).plan(context)
    assert plan.tuning.tile == (256, 128, 64)
    assert plan.tiles == (40, 2)
    assert (plan.a_major, plan.b_major) == ("d", "k")


@pytest.mark.parametrize("dtype", [I8, F8E4M3FN, TF32], ids=str)
def test_what_wgmma_wants_along_k_is_turned(dtype: DType) -> None:
    context = dataclasses.replace(GEMM, dtype=dtype, b=ALONG_D)
    plan = with_(k_per_block=128 // dtype.bytes).plan(context)
    assert plan.turned == (False, True) and plan.b_major == "k"
    assert TILE.plan(dataclasses.replace(GEMM, b=ALONG_D)).turned == (False, False)


BROKEN: list[tuple[str, WarpgroupTuning, GemmContext, str, str]] = [
    ("warpgroups", TILE, GEMM, "gfx942", "gfx942 has no warpgroup instructions, sm_90a has"),
    (
        "matrix_unit",
        TILE,
        dataclasses.replace(GEMM, dtype=F32),
        "sm_90a",
        "wgmma does not multiply f32; it takes f16, bf16, tf32, f8e4m3fn, f8e5m2, i8;",
    ),
    (
        "consumers",
        with_(consumers=4),
        GEMM,
        "sm_90a",
        "consumers 4 > 3: with the producer they are at most 4",
    ),
    ("consumers", with_(pingpong=True, consumers=1), GEMM, "sm_90a", "pingpong takes 2 consumers, got 1"),
    ("rows", with_(m_per_block=96), GEMM, "sm_90a", "m_per_block 96 is not a multiple of 64 up to 384"),
    (
        "rows",
        with_(m_per_block=64),
        GEMM,
        "sm_90a",
        "m_per_block 64 is not a multiple of 128 (2 cooperative consumers of 64 rows)",
    ),
    (
        "columns",
        with_(n_per_block=100),
        GEMM,
        "sm_90a",
        "n_per_block 100 is not wgmma's for f16; 96 or 104 would do",
    ),
    (
        "columns",
        with_(n_per_block=40, k_per_block=128),
        dataclasses.replace(GEMM, dtype=I8),
        "sm_90a",
        "n_per_block 40 is not wgmma's for i8; 32 or 48 would do",
    ),
    ("depth", with_(k_per_block=48), GEMM, "sm_90a", "k_per_block 48 is not one of 16, 32, 64 or a multiple"),
    ("stages", with_(stages=1), GEMM, "sm_90a", "stages 1 is outside 2..16"),
    ("cluster", with_(cluster_m=3), GEMM, "sm_90a", "a cluster of 3x1 workgroups is not of 1, 2, 4, 8"),
    (
        "cluster",
        with_(n_per_block=24, k_per_block=32, cluster_m=8),
        GEMM,
        "sm_90a",
        "b's tile is not loaded by 8 workgroups: 24 rows of 64 bytes do not divide into 8 parts of whole 128",
    ),
    (
        "registers",
        with_(m_per_block=256, stages=2),
        GEMM,
        "sm_90a",
        "accumulators 256 > 192 of a thread (128x256 of each of 2 consumers)",
    ),
    (
        "registers",
        with_(m_per_block=192, consumers=3, n_per_block=208, stages=3),
        GEMM,
        "sm_90a",
        "accumulators 104 > 96 of a thread (64x208 of each of 3 consumers)",
    ),
    (
        "columns_together",
        with_(n_per_block=24, cluster_m=1),
        dataclasses.replace(GEMM, b=ALONG_D),
        "sm_90a",
        "n_per_block 24 is not a multiple of 16, as columns that lie together in memory want",
    ),
    (
        "phases",
        TILE,
        dataclasses.replace(GEMM, k=288, phases=2, part_k=96),
        "sm_90a",
        "k_per_block 64 does not divide parts of K of a multiple of 96",
    ),
    (
        "phases",
        with_(swapped=True),
        dataclasses.replace(GEMM, k=384, phases=2, part_k=128),
        "sm_90a",
        "phases lie along columns, which are gemmN only where a tuning is straight",
    ),
    ("lds_bytes", with_(stages=5), GEMM, "sm_90a", "lds_bytes 278608 > 232448 on sm_90a; 4 stages would fit"),
    ("grid", TILE, dataclasses.replace(GEMM, g=2**24), "sm_90a", "tiles 8589934592 > 2147483647"),
    (
        "extents",
        TILE,
        gemm(8, 2**31 - 1023, 64),
        "sm_90a",
        "gemmN 2147482625 > 2147482624; a general tuning would do",
    ),
]


@pytest.mark.parametrize(("rule", "tuning", "context", "machine", "reason"), BROKEN)
def test_a_broken_rule_says_what_would_do(
    rule: str, tuning: WarpgroupTuning, context: GemmContext, machine: str, reason: str
) -> None:
    found = {broken.rule: broken.reason for broken in check(tuning, context, target(machine))}
    assert rule in found and found[rule].startswith(reason)
    with pytest.raises(Diagnostic, match="is illegal"):
        require(tuning, context, target(machine))


def test_every_rule_is_broken_once() -> None:
    from imbrex.config.legal import WARPGROUP_RULES

    rules = {rule.__name__ for rank in (WARPGROUP_RULES.first, WARPGROUP_RULES.second) for rule in rank}
    assert rules == {row[0] for row in BROKEN}


@pytest.mark.parametrize("line", ["v1:warpgroup:128,256,64,4,2,2,1,cooperative,straight,8"])
def test_text(line: str) -> None:
    assert tunings.parse(line) == TILE and text(TILE) == line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("v1:warpgroup:128,256,64,4,2,2,1", "a warpgroup tuning takes 10 values, got 7"),
        (
            "v1:warpgroup:128,256,64,4,2,2,1,together,straight,8",
            "pingpong is 'together', expected cooperative or pingpong",
        ),
    ],
)
def test_bad_text(line: str, message: str) -> None:
    with pytest.raises(Diagnostic) as error:
        tunings.parse(line)
    assert error.value.message == message and error.value.col is not None


def test_families() -> None:
    found = {name: family_of(dataclasses.replace(GEMM, dtype=t), MACHINE) for name, t in DTYPES.items()}
    served = {"f16", "bf16", "tf32", "f8e4m3fn", "f8e5m2", "i8"}
    assert {name for name, family in found.items() if family == "warpgroup"} == served
    assert {family for name, family in found.items() if name not in served} == {"general"}
    assert {name for name, t in DTYPES.items() if columns_of(t, MACHINE)} == served


@pytest.mark.parametrize(
    ("dtype", "sizes", "transpose_b"),
    in_turn(
        [F16, TF32, I8],
        [(1, 1, 1), (7, 5, 3), (64, 3136, 576), (2048, 49, 512), (128, 115200, 72)],
        [False, True],
    ),
)
def test_every_size_has_a_tuning(dtype: DType, sizes: tuple[int, int, int], transpose_b: bool) -> None:
    context = gemm(*sizes, dtype, transpose_b)
    chosen = choose(context, MACHINE, "warpgroup")
    assert isinstance(chosen, WarpgroupTuning) and not check(chosen, context, MACHINE)
    for schedule in (DATA_PARALLEL, TileSchedule("stream_k"), TileSchedule("split_k", 5), AUTO):
        found, mode = scheduled(context, MACHINE, None, schedule)
        assert not check(found, context, MACHINE)
        assert mode == schedule or schedule == AUTO
        assert mode == DATA_PARALLEL or not found.pingpong


def test_the_space_is_legal_and_has_both_orientations() -> None:
    found = warpgroup_space(GEMM, MACHINE)
    assert {t.swapped for t in found} == {t.pingpong for t in found} == {True, False}
    assert all(not check(t, GEMM, MACHINE) for t in found) and len(set(found)) == len(found) > 100
    assert not warpgroup_space(GEMM, GPU_MACHINES["gfx942"])


@pytest.mark.parametrize(("a", "b"), list(product((False, True), repeat=2)))
@pytest.mark.parametrize("dtype", ["f16", "f8e5m2", "tf32"])
def test_no_product_is_too_small(dtype: str, a: bool, b: bool) -> None:
    for m, n, k in product((1, 2, 5, 8, 9), (1, 3, 8, 17), (1, 9, 64)):
        context = context_of(plain(m, n, k, None, a, b), DTYPES[dtype])
        for schedule in (AUTO, TileSchedule("split_k", 2)):
            found, _ = scheduled(context, MACHINE, None, schedule)
            assert not check(found, context, MACHINE)


def tflops(context: GemmContext) -> float:
    tuning, schedule = scheduled(context, MACHINE, None, AUTO)
    cycles = schedule_cycles(tuning.plan(context, MACHINE), schedule)
    return 2e-12 * context.multiplies * rates_of(MACHINE).clock_hz / cycles


MEASURED = [
    (1024, 1024, 1024, 334),
    (2048, 2048, 2048, 629),
    (8192, 8192, 8192, 671),
    (272, 2456, 552, 127),
    (960, 3184, 400, 296),
    (3784, 728, 1976, 557),
    (16, 4096, 4096, 31),
    (64, 14336, 4096, 170),
    (128, 8192, 8192, 336),
    (512, 512, 32768, 479),
    (8192, 8192, 256, 447),
]
"""What libraries reach on an H100 in TFLOP/s of f16, A and B along K."""
BY_MEMORY = (16, 4096, 4096)
"""The model's memory is faster than an H100's, as it is also of an H200."""


@pytest.mark.parametrize(("m", "n", "k", "peer"), one_in(2, MEASURED))
def test_the_model_is_near_what_the_machine_can_do(m: int, n: int, k: int, peer: float) -> None:
    faster = 1.07 if (m, n, k) == BY_MEMORY else 1.0
    assert 0.7 * peer < tflops(gemm(m, n, k)) < 1.4 * peer * faster


def test_large_products_take_large_tiles_in_clusters() -> None:
    tuning, schedule = scheduled(gemm(8192, 8192, 8192), MACHINE, None, AUTO)
    assert tuning.m_per_block * tuning.n_per_block >= 128 * 208 and tuning.cluster <= 2
    assert schedule == DATA_PARALLEL and tuning.group > 1


def test_few_rows_become_columns() -> None:
    tuning, _ = scheduled(gemm(8, 4096, 4096), MACHINE, None, AUTO)
    assert tuning.swapped and tuning.n_per_block == 8


def test_few_tiles_of_long_sums_are_shared() -> None:
    for sizes in ((256, 256, 65536), (64, 576, 401408)):
        tuning, schedule = scheduled(gemm(*sizes), MACHINE, None, AUTO)
        assert schedule != DATA_PARALLEL and schedule.workgroups is not None  # type: ignore[union-attr]
        assert schedule.workgroups * tuning.cluster <= 132  # type: ignore[union-attr]


def test_whole_tiles_are_not_shared_out() -> None:
    turns = WarpgroupTuning(64, 128, 64, 4, 2, 1, 1, True, False, 1)
    assert scheduled(GEMM, MACHINE, turns, AUTO) == (turns, DATA_PARALLEL)
    with pytest.raises(Diagnostic, match="pingpong consumers have whole tiles, which split_k shares out"):
        scheduled(GEMM, MACHINE, turns, TileSchedule("split_k"))


def test_clusters_that_wait_for_each_other_run_at_a_time() -> None:
    with pytest.raises(Diagnostic) as error:
        scheduled(GEMM, MACHINE, TILE, TileSchedule("split_k", 67))
    assert error.value.message == (
        "split_k:67 has clusters of 2 workgroups that wait for each other; 66 run at a time"
    )
    assert error.value.hint == "say split_k:66, or stream_k"
    assert scheduled(GEMM, MACHINE, TILE, TileSchedule("stream_k", 67))[0] == TILE


def test_a_tile_that_all_store_a_part_of_costs_less_than_one_owner() -> None:
    plan = TILE.plan(gemm(512, 512, 32768))
    split, streamed = (schedule_cost(plan, TileSchedule(mode, 64)) for mode in ("split_k", "stream_k"))
    assert split.parts == streamed.parts > 4
    assert split.fix_up < streamed.fix_up and split.cycles < streamed.cycles


def test_short_sums_store_under_products() -> None:
    context = gemm(8192, 8192, 256)
    best = best_tuning(DATA_PARALLEL, context, MACHINE)
    assert best is not None and best.pingpong


def test_slower_streams_cost_more() -> None:
    context = gemm(4096, 4096, 4096)

    def cost(context: GemmContext, **changes: int | bool) -> float:
        return schedule_cycles(with_(**changes).plan(context, MACHINE), DATA_PARALLEL)

    plain_cost = cost(context)
    assert cost(gemm(4096, 4096, 4104), cluster_m=1) > cost(gemm(4096, 4096, 4104))
    assert cost(context, stages=2) >= plain_cost
    assert cost(gemm(4096, 4096, 4095)) > 1.3 * plain_cost
    assert cost(gemm(4096, 4096, 4096, I8), k_per_block=128) < 0.7 * plain_cost
    assert cost(gemm(4096, 4096, 4096, I8, transpose_b=False), k_per_block=128) > 1.5 * cost(
        gemm(4096, 4096, 4096, I8), k_per_block=128
    )


@pytest.mark.parametrize(
    ("channels", "dtype", "multiple"),
    [(64, F16, 64), (96, F16, 32), (80, F16, 32), (40, F16, 64), (16, F16, 16), (67, F16, 1), (64, I8, 64)],
)
def test_steps_stay_at_one_tap(channels: int, dtype: DType, multiple: int) -> None:
    assert step_of_channels(channels, dtype, MACHINE) == multiple


def test_shared_tiles_are_whole_permuted_rows() -> None:
    for k, d, size, reads_d in product((16, 32, 64), (64, 96, 256), (1, 2, 4), (True, False)):
        if k * size >= 32:
            a, b = (shared_tile(k, d, size, reads_d, which=which) for which in ("a", "b"))
            assert b.major == ("d" if reads_d and size == 2 else "k") and b.has_descriptor
            assert a.major == ("d" if reads_d and size in (2, 4) else "k")
            assert a.has_descriptor == (not reads_d or size != 4)
            assert a.bytes == b.bytes == k * d * size


def test_rows_off_the_lines_of_l2_cost_more() -> None:
    """K in bytes is a multiple of 128, 64, 32 and 16."""
    tile = shared_tile(64, 128, 2, reads_d=False)
    contexts = [gemm(512, 512, k) for k in (1024, 1056, 1040, 1032)]
    rows = [rows_of(c.a, tile, c.m, c) for c in contexts]
    assert [(r.crossing, r.inside) for r in rows] == [(0, 0), (1 / 2, 0), (3 / 4, 0), (3 / 8, 1 / 2)]
    assert {(r.count, r.is_short, r.is_walked) for r in rows} == {(128, False, False)}
    plans = [TILE.plan(c, MACHINE) for c in contexts]
    for streams in (lambda s: s.copies, lambda s: s.at(132).given):
        work = [*streams(Streams(Tunings.of(*plans)))]
        assert work == sorted(work) and work[3] > 1.2 * work[0]


@pytest.mark.parametrize(
    "apart, k, off",
    [(8, 32, (1 / 8, 1 / 2)), (8, 64, (3 / 8, 1 / 2)), (16, 32, (1 / 4, 0)), (48, 64, (3 / 4, 0))],
)
def test_rows_that_overlap_are_no_shorter_for_the_copy_engine(
    apart: int, k: int, off: tuple[float, float]
) -> None:
    """Windows' rows of k elements, so many apart, begin at other places of a line, and many want one line."""
    context = gemm(4096, 64, 320)
    access = Access((8, 1), (320.0, 1.0), (1, 0), elements=4096 * 8, pitch=(1, apart))
    rows = rows_of(access, shared_tile(k, 128, 2, reads_d=False), context.m, context)
    assert (rows.crossing, rows.inside) == off
    assert rows.is_walked and not rows.is_short and not rows.is_apart
    beside = dataclasses.replace(access, pitch=(1, k))
    assert rows_of(beside, shared_tile(k, 128, 2, reads_d=False), context.m, context).is_short == (k < 64)


@pytest.mark.parametrize(
    "window, layout, is_boxed",
    [((7, 1), "nchw", False), ((7, 1), "nhwc", True), ((3, 3), "nhwc", True), ((1, 1), "nchw", True)],
)
def test_rows_of_planes_that_begin_elsewhere_at_each_tap_are_no_box(
    window: tuple[int, int], layout: str, is_boxed: bool
) -> None:
    """Filter gradients: pixels of whole rows lie together, but those of the next tap are rows further on."""
    (y, x), kept = window, {"nhwc": "filter_layout input_layout output_layout".split()}.get(layout, [])
    orders = dict(zip(kept, ("KYXC", "NHWC", "NHWK"), strict=False))
    problem = Conv2d(
        "backward_weight", 4, 64, 16, 16, 64, y, x, pad_h=y // 2, pad_w=x // 2, dtype=F16, **orders
    )
    context = context_of(backward_weight(task_of(problem).conv), F16)
    assert context.a.is_boxed and context.b.is_boxed == is_boxed
    plan = with_(n_per_block=64, cluster_m=1).plan(context, MACHINE)
    assert plan.copied == (True, is_boxed)


def test_short_rows_cost_more_for_each_byte() -> None:
    """Along the columns of plain B each is a request of its own, as an H200 has shown: of tiles of 128 and
    192 columns, and those between, which have rows of 64 bytes, or would have some of 32.
    """
    c = gemm(4096, 4096, 1024, transpose_b=False)
    long, short = (shared_tile(64, d, 2, reads_d=True) for d in (128, 144))
    rows = [rows_of(c.b, tile, c.n, c) for tile in (long, short)]
    assert [r.is_short for r in rows] == [False, False]
    assert rows[1].count / short.bytes == 4 * rows[0].count / long.bytes
    widths = (128, 144, 160, 192)
    tunings = Tunings.of(*(with_(n_per_block=n).plan(c, MACHINE) for n in widths))
    copies = dict(zip(widths, Streams(tunings).copies, strict=True))
    assert copies[128] < copies[192] < copies[160] == copies[144]
    along_k = [rows_of(c.a, shared_tile(k, 128, 2, reads_d=False), c.m, c) for k in (64, 32)]
    assert [(r.count, r.is_short) for r in along_k] == [(128, False), (128, True)]


def test_neighbours_at_steps_of_their_own_load_more_of_l2() -> None:
    plan = with_(cluster_m=1).plan(gemm(512, 512, 32768), MACHINE)
    streams = Streams(Tunings.of(plan))
    assert streams.at(132, near=1).given > streams.at(132).given
    assert streams.at(132, near=1).step > streams.at(132).step


def test_a_cluster_in_a_row_serves_few_tiles_of_an_unaligned_k() -> None:
    """All that load a tile of the long side's operand are a cluster; none is where K is a multiple of 64."""
    unaligned, _ = scheduled(gemm(2248, 520, 2704), MACHINE, None, AUTO)
    assert max(unaligned.cluster_m, unaligned.cluster_n) >= 2
    aligned, _ = scheduled(gemm(2048, 2048, 2048), MACHINE, None, AUTO)
    assert aligned.cluster == 1
    shapes = {(t.cluster_m, t.cluster_n) for t in warpgroup_space(gemm(2248, 520, 2704), MACHINE)}
    assert shapes == {(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4)}


def test_a_shared_stage_is_waited_for() -> None:
    plans = (with_(cluster_m=m).plan(gemm(4096, 4096, 4096), MACHINE) for m in (1, 2, 4))
    alone, two, four = Streams(Tunings.of(*plans)).together
    assert alone == 0 < two and four == 2 * two


def test_a_last_round_that_is_not_full_has_more_for_each() -> None:
    """132 tiles at a time: 264 tiles take less than 265, and these less than as many again."""
    cycles = [
        schedule_cycles(with_(cluster_m=1).plan(gemm(128 * n, 256, 4096), MACHINE), DATA_PARALLEL)
        for n in (132, 133, 264)
    ]
    assert cycles[0] < cycles[1] < cycles[2]


def test_few_small_tiles_are_shared_in_clusters() -> None:
    """Their sums do not leave the cluster; those of long K of larger tiles do, for more multiprocessors."""
    for sizes in ((136, 184, 5984), (176, 184, 2552)):
        _, schedule = scheduled(gemm(*sizes), MACHINE, None, AUTO)
        assert isinstance(schedule, TileSchedule) and schedule.mode == "cluster_k"
    _, schedule = scheduled(gemm(512, 512, 32768), MACHINE, None, AUTO)
    assert isinstance(schedule, TileSchedule) and schedule.mode == "split_k"


def test_cluster_k_costs_rounds_of_clusters() -> None:
    plan = with_(cluster_m=1).plan(gemm(512, 512, 8192), MACHINE)
    costs = {parts: schedule_cost(plan, TileSchedule("cluster_k", parts)) for parts in (2, 4, 8)}
    for parts, cost in costs.items():
        assert cost.clusters == parts * plan.units and cost.parts == parts - 1
        assert cost.longest == -(-plan.k_iterations // parts) * -(
            -plan.units // (112 // 8 if parts == 8 else 132)
        )
    assert costs[2].fix_up < costs[4].fix_up < costs[8].fix_up
    assert costs[4].cycles < costs[2].cycles < schedule_cycles(plan, DATA_PARALLEL)


@pytest.mark.parametrize(("m", "n"), [(2**31 - 1024, 8), (8, 2**31 - 1024)])
def test_more_rows_or_columns_than_are_counted_are_served_by_the_general_pipeline(m: int, n: int) -> None:
    more = gemm(m + (m > n), n + (n > m), 64)
    assert (family_of(gemm(m, n, 64), MACHINE), family_of(more, MACHINE)) == ("warpgroup", "general")
