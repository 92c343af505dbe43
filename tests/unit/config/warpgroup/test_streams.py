"""What the streams of a step, and of a tile's way to memory, count: pieces, chains, neighbours, meetings."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config.access import context_of
from imbrex.config.context import GemmContext
from imbrex.config.tiles import AUTO, DATA_PARALLEL, TileSchedule
from imbrex.config.warpgroup.choice import scheduled
from imbrex.config.warpgroup.cost import schedule_cost
from imbrex.config.warpgroup.instruction import instruction_of
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning, shared_tile
from imbrex.config.warpgroup.rates import rates_of
from imbrex.config.warpgroup.steps import Streams
from imbrex.config.warpgroup.tile import HELD_READS, Tile
from imbrex.config.warpgroup.traffic import neighbours
from imbrex.config.warpgroup.tunings import Tunings
from imbrex.dtype import F16, TF32, DType
from imbrex.view.gemm.product import plain

MACHINE = GPU_MACHINES["sm_90a"]
RATES = rates_of(MACHINE).product
TILE = WarpgroupTuning(64, 128, 64, 8, 1, 1, 1, False, False, 4)


def gemm(m: int, n: int, k: int, dtype: DType = F16) -> GemmContext:
    return context_of(plain(m, n, k, None, False, True), dtype)


def plan(tuning: WarpgroupTuning, *sizes: int, dtype: DType = F16) -> WarpgroupPlan:
    return tuning.plan(gemm(*sizes, dtype=dtype), MACHINE)


def columns(*sizes: int) -> Tunings:
    return Tunings.of(plan(TILE, *sizes))


@pytest.mark.parametrize(
    ("count", "stored"), [(128, 128), (96, 128), (144, 192), (48, 64), (24, 32), (16, 16), (8, 8)]
)
def test_a_last_piece_that_is_not_whole_is_stored_as_one(count: int, stored: int) -> None:
    tile = Tile(plan(TILE, 4096, 4096, 4096))
    assert tile.stores(count) == pytest.approx(64 * stored * F16.output.bytes / RATES.stored_bytes)


def test_stores_along_rows_are_turned_and_those_of_16_bits_easily() -> None:
    for dtype, most in ((F16, 1.1), (TF32, 1.5)):
        straight, swapped = (
            Tile(plan(replace(TILE, k_per_block=32, swapped=s), 4096, 4096, 4096, dtype=dtype))
            for s in (False, True)
        )
        assert 1.0 < swapped.stores(128) / straight.stores(128) < most
    assert swapped.stores(128) > 1.1 * straight.stores(128)


def test_rows_of_one_consumer_do_not_wait_for_each_other() -> None:
    low, high = (Tile(plan(replace(TILE, m_per_block=m), 4096, 4096, 4096)) for m in (64, 128))
    assert high.multiplied.issues == 2 * low.multiplied.issues
    assert high.chain == low.chain == 4 * RATES.product


def test_neighbours_load_the_same_only_where_there_are_some() -> None:
    """One block of rows: all load the same of A, and each its own of B."""
    assert neighbours(columns(64, 4096, 4096), 32) == (32, 1)
    assert neighbours(columns(4096, 4096, 4096), 128) == (32, 4)
    assert neighbours(columns(4096, 128, 4096), 60) == (1, 60)
    wide, one = (Streams(columns(m, 4096, 4096)) for m in (256, 64))
    assert one.at(32).given > wide.at(32).given


def test_those_of_a_part_of_k_are_fewer() -> None:
    streams = Streams(columns(64, 4096, 14336))
    given = [streams.at(128, 64, parts).given for parts in (1, 2, 4)]
    assert given == sorted(given) and given[2] > given[0]


def test_sums_meet_after_memory_has_given_all() -> None:
    """Nothing hides it, however long memory takes."""
    row = plan(replace(TILE, n_per_block=8, stages=16, swapped=True), 1, 4096, 4096)
    shared = schedule_cost(row, TileSchedule("split_k", 128))
    assert shared.fix_up > RATES.meeting
    assert shared.cycles > 4096 * 4096 * 2 / RATES.memory_bytes + RATES.start + shared.fix_up
    assert schedule_cost(row, DATA_PARALLEL).cycles < shared.cycles


def test_few_rows_against_many_weights() -> None:
    """Memory's time: whole tiles, or parts of K that meet in a cluster, but not through memory."""
    for m, n, k in ((1, 4096, 4096), (16, 4096, 4096), (64, 4096, 14336)):
        _, schedule = scheduled(gemm(m, n, k), MACHINE, None, AUTO)
        assert isinstance(schedule, TileSchedule) and schedule.mode in ("data_parallel", "cluster_k")


@pytest.mark.parametrize("rows", [64, 128])
@pytest.mark.parametrize("depth", [8, 16, 32])
def test_lanes_that_take_a_meet_half_of_the_banks(rows: int, depth: int) -> None:
    """Each register of a warp, of each part of k: so many words of the busiest bank."""
    tile = shared_tile(depth, rows, TF32.bytes, reads_d=True, which="a")
    one = instruction_of(TF32, 64, MACHINE)
    lanes, most = np.arange(32), set[int]()
    for warp, register, k0 in product(range(4), range(one.a_elements), range(0, depth, one.k)):
        (_, row, k), _ = one.a.evaluate([lanes + 32 * warp, np.full(32, register)])
        (word,), _ = tile.map.evaluate([k0 + k, row])
        most.add(np.bincount(word % 32).max())
    assert most == {HELD_READS}


def test_a_step_has_a_from_registers_where_rows_lie_together() -> None:
    """Of a @ b by exchanged sides, of tf32: nothing is turned, and no ordinary load is left."""
    nn = context_of(plain(64, 4096, 4096, None, False, False), TF32)
    tile = replace(TILE, k_per_block=32, n_per_block=64)
    held, turned = (Tile(replace(tile, swapped=s).plan(nn, MACHINE)) for s in (True, False))
    assert held.plan.is_a_held and held.plan.turned == (False, False) and held.ordinary == 0
    assert not turned.plan.is_a_held and turned.plan.turned == (False, True)
    assert turned.ordinary == RATES.turning_step + 64 * 32 / 128 * RATES.turning and not held.plan.is_copied
    assert held.shared / turned.shared == (HELD_READS * 64 + 64) / (64 + 64)


def test_rows_that_begin_anywhere_wait_for_registers() -> None:
    """Their pieces do in each step, however few rows it has: 64 products of 197 x 64 x 197 took an H200 21 us
    by tiles of 16 such rows, and 10 by those of 112.
    """
    few, many = (plan(replace(TILE, m_per_block=m), 197, 64, 197) for m in (64, 128))
    loads = [Tile(p).ordinary for p in (few, many)]
    assert RATES.pieces < loads[0] < loads[1] < 2 * loads[0]
    assert Tile(plan(TILE, 200, 64, 200)).ordinary == 0
