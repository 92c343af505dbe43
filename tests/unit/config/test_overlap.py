"""Which products begin early: those of short calls, and small ones behind other launches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from imbrex.chip import WARPGROUPS
from imbrex.config import overlap
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
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
