"""Parts of K in a cluster: the rules that refuse them, each broken alone, and the tuning that is chosen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config import legal
from imbrex.config.access import context_of
from imbrex.config.context import GemmContext
from imbrex.config.tiles import TileSchedule
from imbrex.config.warpgroup.choice import scheduled
from imbrex.config.warpgroup.cluster_k import broken
from imbrex.config.warpgroup.cost import schedule_cycles
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.traffic import read_apart_bytes
from imbrex.config.warpgroup.tunings import Tunings
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F16
from imbrex.pipeline import Request, lower, machine_for
from imbrex.problem import Gemm
from imbrex.view.gemm.product import plain

MACHINE = GPU_MACHINES["sm_90a"]
TILE = WarpgroupTuning(128, 128, 64, 4, 2, 1, 1, False, False, 4)


def gemm(m: int, n: int, k: int) -> GemmContext:
    return context_of(plain(m, n, k, None, False, True), F16)


LONG = gemm(256, 256, 8192)


def test_what_serves() -> None:
    for parts in (2, 4, 8):
        assert not broken(TILE.plan(LONG), parts)
        assert scheduled(LONG, MACHINE, TILE, TileSchedule("cluster_k", parts))[0] == TILE
    assert not broken(replace(TILE, cluster_m=2).plan(LONG), 4)


BROKEN = {
    "cluster": (replace(TILE, cluster_m=2), LONG, 8, "8 parts of clusters of 2 x 1 are 16 workgroups > 8"),
    "steps": (TILE, gemm(256, 256, 640), 8, "10 steps of K in 8 parts of 2 leave a workgroup without any"),
    "columns": (
        replace(TILE, n_per_block=80),
        LONG,
        4,
        "n_per_block 80 does not divide into 4 parts of whole 8 columns; 64 or 96 would do",
    ),
    "ring": (
        replace(TILE, n_per_block=256, stages=2),
        LONG,
        2,
        "sums of 131072 bytes > 98304 of 2 stages",
    ),
}


def test_barriers_of_parts_have_to_fit() -> None:
    """A machine whose shared memory ends where that of a workgroup of its own tile does."""
    tight = replace(MACHINE, lds_bytes=TILE.plan(LONG).layout.bytes)
    plan = TILE.plan(LONG, tight)
    assert legal.check(TILE, LONG, tight) == ()
    more = 8 * (1 + TILE.consumers)
    (found,) = broken(plan, 2)
    assert str(found) == (
        f"lds_bytes {tight.lds_bytes + more} with the barriers of 2 parts > {tight.lds_bytes} on sm_90a"
    )
    assert not broken(TILE.plan(LONG, replace(tight, lds_bytes=tight.lds_bytes + more)), 2)


@pytest.mark.parametrize("rule", BROKEN)
def test_each_rule_alone(rule: str) -> None:
    tuning, context, parts, reason = BROKEN[rule]
    (found,) = broken(tuning.plan(context), parts)
    assert (found.rule, found.reason) == (rule, reason)
    with pytest.raises(Diagnostic) as error:
        scheduled(context, MACHINE, tuning, TileSchedule("cluster_k", parts))
    assert error.value.message == f"cluster_k:{parts} is illegal: {reason}"


def test_pingpong_consumers_share_no_tile() -> None:
    turns = replace(TILE, pingpong=True)
    assert [found.rule for found in broken(turns.plan(LONG), 2)] == ["consumers"]
    with pytest.raises(Diagnostic, match="pingpong consumers have whole tiles, which cluster_k shares out"):
        scheduled(LONG, MACHINE, turns, TileSchedule("cluster_k", 2))


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_the_tuning_that_is_chosen_is_legal(parts: int) -> None:
    for sizes in ((176, 184, 2552), (840, 400, 3072), (256, 256, 65536)):
        tuning, schedule = scheduled(gemm(*sizes), MACHINE, None, TileSchedule("cluster_k", parts))
        assert schedule == TileSchedule("cluster_k", parts)
        assert not broken(tuning.plan(gemm(*sizes)), parts)


def test_a_short_k_is_refused_with_reasons() -> None:
    with pytest.raises(Diagnostic, match="no tuning serves cluster_k:8: 1 step of K in 8 parts of 1 leaves"):
        scheduled(gemm(256, 256, 64), MACHINE, None, TileSchedule("cluster_k", 8))


@pytest.mark.parametrize("target", ["gfx942", "cpu"])
def test_other_targets_have_no_clusters(target: str) -> None:
    machine = machine_for(target, "avx2", 2)
    request = Request(Gemm(64, 64, 512), machine, target, schedule=TileSchedule("cluster_k", 4))
    with pytest.raises(Diagnostic, match="cluster_k:4 is for workgroups of warpgroups, on sm_90a"):
        lower(request)


def test_what_clusters_read_of_the_same_operand_comes_again() -> None:
    """As an H200 has shown: 128 rows took 42 us by two tiles of 64 x 128, and 35 by one of 128 x 64."""
    long = gemm(128, 4096, 14336)
    apart = WarpgroupTuning(64, 128, 64, 8, 1, 1, 1, False, False, 2)
    plans = [tuning.plan(long, MACHINE) for tuning in (apart, replace(apart, swapped=True))]
    again = read_apart_bytes(Tunings.of(*plans))
    assert again[0] > 0 == again[1]
    costs = [schedule_cycles(plan, TileSchedule("cluster_k", 2)) for plan in plans]
    assert costs[0] > 1.1 * costs[1]
