"""What each rate of the model of warpgroups prices: nothing is faster where something takes longer, and what
stands alone in a sum is paid as often as it is met.
"""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from imbrex.chip import GPU_MACHINES, GpuMachine, ProductRates
from imbrex.config.access import context_of
from imbrex.config.algorithm.task import task_of
from imbrex.config.context import GemmContext
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.config.warpgroup.cost import copy_cycles, cycles_of, schedule_cost
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.tile import MOST_UNROLLED, Tile
from imbrex.dtype import F8E4M3FN, F16, TF32, DType
from imbrex.emit.bundle import device_headers
from imbrex.problem import Conv2d
from imbrex.view.conv.implicit_gemm import forward
from imbrex.view.gemm.product import plain

MACHINE = GPU_MACHINES["sm_90a"]
RATES = rates_of(MACHINE).product
TILE = WarpgroupTuning(128, 128, 64, 4, 2, 1, 1, False, False, 4)
HELD = WarpgroupTuning(64, 8, 32, 16, 1, 1, 1, False, True, 4)


def gemm(m: int, n: int, k: int, dtype: DType = F16, transposed: bool = True) -> GemmContext:
    return context_of(plain(m, n, k, None, False, transposed), dtype)


LONG = gemm(256, 256, 8192)
SAMPLES = [
    (TILE, LONG, DATA_PARALLEL),
    (TILE, gemm(4096, 4096, 512), DATA_PARALLEL),
    (replace(TILE, n_per_block=96), gemm(1000, 1003, 331), DATA_PARALLEL),
    (replace(TILE, k_per_block=32), gemm(2048, 2048, 4096, transposed=False), DATA_PARALLEL),
    (replace(TILE, k_per_block=16), gemm(2048, 2048, 4096, transposed=False), DATA_PARALLEL),
    (replace(TILE, cluster_m=2), gemm(4096, 4096, 4096), DATA_PARALLEL),
    (replace(TILE, m_per_block=64, pingpong=True), gemm(4096, 4096, 128), DATA_PARALLEL),
    (TILE, LONG, TileSchedule("cluster_k", 4)),
    (TILE, LONG, TileSchedule("split_k", 16)),
    (TILE, LONG, TileSchedule("stream_k", 30)),
    (TILE, gemm(1280, 1280, 4096), TileSchedule("two_tile", 132)),
    (replace(TILE, n_per_block=96), gemm(1000, 1003, 330), DATA_PARALLEL),
    (replace(TILE, k_per_block=32), gemm(2048, 2048, 4096, TF32, transposed=False), DATA_PARALLEL),
    (HELD, gemm(8, 4096, 4096, TF32, transposed=False), DATA_PARALLEL),
    (replace(TILE, k_per_block=128), gemm(1024, 1024, 2048, F8E4M3FN, transposed=False), DATA_PARALLEL),
    (replace(TILE, n_per_block=96), gemm(1000, 1003, 331, transposed=False), DATA_PARALLEL),
]
BYTES = ("shared_bytes", "l2_rows", *(f"{of}_bytes" for of in "memory first stored sent gathered".split()))
"""In a cycle: more of them is faster."""
SHAPES = ("near", "streams", "memory_norm")
"""No prices: a number of neighbours, and exponents."""
STORES = ("strided", "phased", "turned_store", "turned_halves", "narrow_store")
OTHERS = ("launch", "transposed_bytes", "cached_bytes", "read_apart", "whole_rows", *STORES)
"""Of copies, of large arrays and of results that lie otherwise."""
WINDOWS = ("walked_row", "ordinary", "issue", "window", "copying_window", "kept", "known")
PRICES = [f.name for f in fields(ProductRates) if f.name not in (*SHAPES, *OTHERS, *WINDOWS)]


PLANES = task_of(Conv2d("forward", 4, 1, 128, 128, 32, 7, 7, pad_h=3, pad_w=3, dtype=F16)).conv
"""Images of one channel."""


def machine_of(**rates: float) -> GpuMachine:
    """A made-up GPU with other rates of products."""
    all_rates = replace(rates_of(MACHINE), product=replace(RATES, **rates))
    return replace(MACHINE, warpgroup_rates=all_rates)


def costs(**rates: float) -> list[float]:
    machine = machine_of(**rates)
    return [schedule_cost(t.plan(c, machine), s).cycles for t, c, s in SAMPLES]


def test_what_is_priced_with_others_costs_what_it_does_alone() -> None:
    """Other products, other modes and other numbers of workgroups, in any order."""
    pairs = [(t.plan(c, MACHINE), s) for t, c, s in SAMPLES]
    pairs += [(TILE.plan(LONG, MACHINE), TileSchedule(mode, 17)) for mode in ("stream_k", "two_tile")]
    pairs += [(plan, DATA_PARALLEL) for plan, _ in pairs[::-1]]
    assert cycles_of(pairs) == [schedule_cost(*pair).cycles for pair in pairs]


@pytest.mark.parametrize("name", PRICES)
def test_a_price_is_paid(name: str) -> None:
    usual, dearer = costs(), costs(**{name: 2 * getattr(RATES, name)})
    if name in BYTES:
        usual, dearer = dearer, usual
    assert all(a <= b for a, b in zip(usual, dearer, strict=True)), "nothing gets cheaper"
    assert sum(usual) < sum(dearer), "somebody pays"


ALONE = {
    "start": [1] * len(SAMPLES),
    "cluster": [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    "gathering": [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    "meeting": [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0],
    "each": [0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0],
}
"""What is added beside the work: how often, of each sample."""


@pytest.mark.parametrize("name", ALONE)
def test_what_is_added_beside_the_work(name: str) -> None:
    usual, dearer = costs(), costs(**{name: getattr(RATES, name) + 1000})
    times = [(b - a) / 1000 for a, b in zip(usual, dearer, strict=True)]
    assert times == pytest.approx(ALONE[name])


@pytest.mark.parametrize(
    "columns, depth, loads", [(256, 32, 128), (256, 64, 128), (128, 16, 32), (240, 32, 0)]
)
def test_a_load_of_a_window_whose_tap_is_known(columns: int, depth: int, loads: int) -> None:
    """Where rows of lanes are whole: of a lane, for a step; each twice where 49 taps are several steps."""
    context = context_of(forward(PLANES, taps_first=True), F16)
    tile = WarpgroupTuning(64, columns, depth, 4, 1, 1, 1, False, False, 1)
    usual, dearer = (Tile(tile.plan(context, machine_of(known=k))).ordinary for k in (40.0, 41.0))
    assert dearer - usual == pytest.approx(loads)


@pytest.mark.parametrize("rows, depth, loads", [(64, 32, 16), (128, 64, 64), (64, 256, 0)])
def test_a_load_of_a_lane_that_keeps_its_k(rows: int, depth: int, loads: int) -> None:
    """Filters KCYX whose taps come first: neighbours along k are 49 elements apart."""
    planes = task_of(Conv2d("forward", 4, 6, 128, 128, 128, 7, 7, pad_h=3, pad_w=3, dtype=F16)).conv
    context = context_of(forward(planes, taps_first=True), F16)
    assert context.a.pitch == (49, 294)
    tile = WarpgroupTuning(rows, 256, depth, 4, 1, 1, 1, False, False, 1)
    usual, dearer = (Tile(tile.plan(context, machine_of(kept=k))).ordinary for k in (25.0, 26.0))
    assert dearer - usual == pytest.approx(loads)


def test_the_model_unrolls_what_the_device_does() -> None:
    assert (
        f"constexpr int MOST_UNROLLED = {MOST_UNROLLED};" in device_headers("sm_90a")["device/cuda/lanes.h"]
    )


def test_parts_of_a_cluster_by_hand() -> None:
    """Of each kind, so many times as rounds: 4 tiles in parts of 8 are one round, 16 two, of 14 clusters."""
    for sizes, rounds in (((256, 256, 8192), 1), ((512, 512, 8192), 2)):
        plan = TILE.plan(gemm(*sizes), MACHINE)
        found = schedule_cost(plan, TileSchedule("cluster_k", 8))
        assert (found.clusters, found.longest, found.parts) == (plan.units * 8, rounds * 16, 7)
        slower = TILE.plan(gemm(*sizes), machine_of(gathering=1142.0))
        later = schedule_cost(slower, TileSchedule("cluster_k", 8))
        assert later.cycles - found.cycles == pytest.approx(1000 * rounds)
        assert later.fix_up - found.fix_up == pytest.approx(1000)


def test_rounds_of_a_cluster_follow_each_other() -> None:
    """Each has its own steps and its own end; memory as fast as one likes."""
    for sizes, rounds in (((256, 256, 8192), 1), ((512, 512, 8192), 2)):
        spent = []
        for turn in (0.0, 1000.0):
            plan = TILE.plan(gemm(*sizes), machine_of(memory_bytes=1e30, turn=turn))
            spent.append(schedule_cost(plan, TileSchedule("cluster_k", 8)).cycles)
        assert spent[1] - spent[0] == pytest.approx(1000 * rounds)


def test_copies_by_hand() -> None:
    assert copy_cycles(2200, 3, MACHINE) == 3 * RATES.launch + 1
    assert copy_cycles(4400, 1, MACHINE) == RATES.launch + 2
