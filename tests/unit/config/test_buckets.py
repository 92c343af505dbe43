"""Buckets of a run-time size: which tunings a kernel has for the parts of its range."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import CPU_ISAS
from imbrex.config.buckets import bucketed, of_size
from imbrex.config.configured import configured
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.request import Request
from imbrex.problem import Problem, parse_problem

LAYER = "conv -n ?1..16 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -I NHWC -f NHWC -O NHWC"
ENDS = (1, 2, 4, 8, 16)


def busy(problem: Problem, tuning: object, threads: int) -> int:
    """Threads that have a workgroup."""
    assert isinstance(tuning, CpuTuning) and tuning.swapped
    rows = -(-problem.gemm.n // tuning.m_per_block)
    return min(threads, rows * -(-problem.gemm.m // tuning.n_per_block))


@pytest.mark.parametrize("threads", [2, 4])
def test_few_images_leave_no_more_threads_idle_than_in_the_fixed_kernel(threads: int) -> None:
    (problem,) = parse_problem(LAYER)
    request = Request(problem, replace(CPU_ISAS["avx512"], threads=threads))
    chosen = bucketed(request)
    for size in ENDS:
        fixed = configured(replace(request, problem=problem.at(size), algorithm=chosen.algorithm))
        wanted = busy(problem.at(size), fixed.products[0].tuning, threads)
        assert wanted > 1, "the case says something"
        assert busy(problem.at(size), of_size(chosen, size).products[0].tuning, threads) >= wanted, size


def test_one_thread_has_one_bucket_for_blocks_of_any_size() -> None:
    (problem,) = parse_problem(LAYER)
    one = bucketed(Request(problem, CPU_ISAS["avx512"]))
    assert [product.upto for product in one.products] == [None]
