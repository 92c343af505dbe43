"""Which products begin early: those of short calls, and small ones behind other launches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from imbrex.chip import WARPGROUPS
from imbrex.config import configuration, overlap
from imbrex.config.algorithm.product import Products
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.products import products
from imbrex.config.tiles import parse
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.rates import rates_of
from imbrex.dtype import dtype
from imbrex.problem import Gemm

PRODUCT = TunedProduct(WarpgroupTuning(128, 256, 64, 4, 2, 1, 1, False, False, 1))
LAUNCH = rates_of(WARPGROUPS).launch
of_first = partial(overlap.of_first, rates=LAUNCH)
behind_launch = partial(overlap.behind_launch, rates=LAUNCH)


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ((304, 272, 200), True),
        ((1024, 1024, 1024), True),
        ((3072, 3072, 3072), True),
        ((4096, 4096, 4096), True),
        ((6144, 6144, 6144), False),
        ((16, 8192, 8192), True),
        ((16, 16384, 16384), False),
    ],
)
def test_multiplying_and_memory_count(sizes: tuple[int, int, int], found: bool) -> None:
    assert of_first(PRODUCT, Gemm(*sizes, dtype="f16")) == found


def test_a_batch_counts_as_many_times() -> None:
    assert of_first(PRODUCT, Gemm(512, 512, 512, batch=8, dtype="f16"))
    assert not of_first(PRODUCT, Gemm(512, 512, 512, batch=1024, dtype="f16"))


@pytest.mark.parametrize(("schedule", "found"), [("stream_k:4", False), ("cluster_k:2", True)])
def test_workgroups_that_wait_for_sums_in_memory_do_not_begin_early(schedule: str, found: bool) -> None:
    assert of_first(replace(PRODUCT, schedule=parse(schedule)), Gemm(512, 512, 512, dtype="f16")) == found


@pytest.mark.parametrize(
    ("size", "batches", "found"), [(512, 1, True), (3072, 1, True), (3200, 1, False), (512, 1024, False)]
)
def test_small_products_begin_behind_copies(size: int, batches: int, found: bool) -> None:
    """Of whole tiles: 3072 are, of 3200 the last rows and columns are not."""
    context = GemmContext(size, size, size, dtype("f16"), batches)
    assert behind_launch(PRODUCT, context) == found


@pytest.mark.parametrize(
    ("sizes", "tuning", "found"),
    [
        ((128, 6144, 4096), "64,96,64,10,1,1,1,cooperative,straight,2", True),
        ((128, 4096, 11008), "64,64,64,13,1,1,1,cooperative,straight,2", True),
        ((256, 4096, 14336), "64,128,64,8,1,1,1,cooperative,straight,4", True),
        ((128, 6144, 4096), "128,64,64,8,2,1,1,cooperative,straight,1", False),
        ((128, 6144, 4096), "64,96,64,9,1,2,1,cooperative,straight,1", False),
        ((128, 28672, 4096), "64,96,64,10,1,1,1,cooperative,straight,2", False),
        ((2048, 512, 4096), "128,64,64,8,2,1,1,cooperative,straight,2", False),
    ],
    ids=["two", "few columns", "four", "whole columns", "a cluster", "many rounds", "by multiplying"],
)
def test_neighbours_that_read_the_same_of_memory(
    sizes: tuple[int, int, int], tuning: str, found: bool
) -> None:
    """Measured on an H200: early, the first three took 1.07, 1.12 and 1.06 times as long."""
    asked = configuration.parse(f"v2:direct+product=v1:warpgroup:{tuning}@data_parallel")
    made = products(Gemm(*sizes, transpose_b=True, dtype="bf16"), asked, WARPGROUPS)
    assert isinstance(made, Products)
    (chosen,), context = asked.products, made.products[0].context
    assert overlap.is_streamed_together(chosen, context, WARPGROUPS) == found
    by_parts = replace(chosen, schedule=parse("cluster_k:2"))
    assert not overlap.is_streamed_together(by_parts, context, WARPGROUPS)
