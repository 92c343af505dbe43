"""Buckets of a run-time size: which tunings a kernel has for the parts of its range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.pairs import in_turn

from imbrex.chip import CPU_ISAS, CpuMachine
from imbrex.config.algorithm.product import Products
from imbrex.config.bucket_tuning import LARGER
from imbrex.config.buckets import bucketed, of_size
from imbrex.config.configuration import Configuration
from imbrex.config.configured import configured
from imbrex.config.cpu.cost import cycles
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.problem import Problem, parse_problem

LAYER = "conv -n ?1..16 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -I NHWC -f NHWC -O NHWC"
IMAGES = "conv -n ? -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"


def requested(text: str, threads: int) -> Request:
    (problem,) = parse_problem(text)
    return Request(problem, replace(CPU_ISAS["avx512"], threads=threads))


def losses(text: str, threads: int, sizes: tuple[int, ...]) -> Iterator[float]:
    """Times by the model of the tunings of buckets, over those of the kernels of each number."""
    request = requested(text, threads)
    chosen = bucketed(request)
    for size in sizes:
        fixed = replace(request, problem=request.problem.at(size), algorithm=chosen.algorithm)
        both = of_size(chosen, size), configured(fixed)
        ours, theirs = (seconds(fixed.problem, of, request.machine) for of in both)
        yield ours / theirs


def seconds(problem: Problem, of: Configuration, machine: object) -> float:
    assert isinstance(machine, CpuMachine)
    made, tuning = products(problem, of, machine), of.products[0].tuning
    assert isinstance(made, Products) and isinstance(tuning, CpuTuning)
    return cycles(tuning, made.products[0].context, machine)


@pytest.mark.parametrize(("text", "threads"), in_turn([LAYER, IMAGES], [1, 2, 4]))
def test_no_number_loses_much(text: str, threads: int) -> None:
    """Of few images each block is one that all threads have work with."""
    found = dict(zip(range(1, 17), losses(text, threads, tuple(range(1, 17))), strict=True))
    assert max(found[number] for number in range(1, 9)) <= 1.05, found
    assert max(found.values()) <= 1.4, found  # nine to fifteen have one block


def test_no_thread_has_memory_for_a_thousand_images() -> None:
    """Of a range to 1024 images the greatest has one block, which few images would pay for."""
    request = requested(IMAGES, 1)
    chosen, least = bucketed(request), 1
    for product in chosen.products:
        assert isinstance(product.tuning, CpuTuning) and not product.tuning.swapped
        assert product.tuning.n_per_block <= LARGER * least * 56 * 56
        least = (product.upto or 0) + 1
    fixed = configured(replace(request, problem=request.problem.at(1024)))
    tuning = fixed.products[0].tuning
    assert isinstance(tuning, CpuTuning) and tuning.n_per_block == 1024 * 56 * 56, "the case says something"


@pytest.mark.parametrize(("text", "threads", "ends"), [(LAYER, 1, 1), (IMAGES, 1, 5), (IMAGES, 2, 5)])
def test_no_more_buckets_than_do(text: str, threads: int, ends: int) -> None:
    """Four and eight images of NCHW, whose rows of B lie a page apart, have other tiles by 3 %."""
    assert len(bucketed(requested(text, threads)).products) == ends
