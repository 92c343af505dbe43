"""Products of fewer tiles than a CPU has threads, whose K is shared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import CPU_ISAS
from imbrex.config.configured import configured
from imbrex.config.request import Request
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.kernel import compile
from imbrex.problem import Gemm

MACHINE = replace(CPU_ISAS["avx2"], threads=2)
LONG = Gemm(64, 64, 8192)


def mode(problem: Gemm, threads: int) -> str:
    (product,) = configured(Request(problem, replace(MACHINE, threads=threads))).products
    return product.schedule.mode


def test_a_long_k_is_shared_by_threads_that_have_no_tile() -> None:
    assert mode(LONG, 2) != "data_parallel"
    assert mode(LONG, 1) == "data_parallel"


def test_what_is_short_and_what_has_tiles_for_all_threads_is_not_shared() -> None:
    assert mode(Gemm(16, 16, 64), 2) == "data_parallel"
    assert mode(Gemm(1024, 1024, 8192), 2) == "data_parallel"


def test_whoever_says_one_workgroup_a_tile_gets_that() -> None:
    (product,) = configured(Request(LONG, MACHINE, schedule=DATA_PARALLEL)).products
    assert product.schedule == DATA_PARALLEL


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_it_is_right_however_many_threads_come(threads: int) -> None:
    kernel = compile(Gemm(40, 24, 8192, beta=0.5, epilogue="relu(x + bias)"), threads=2, untuned=True)
    assert "data_parallel" not in kernel.configuration
    assert kernel.check(threads=threads).is_right
