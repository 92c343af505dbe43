"""Launches whose workgroups meet: one kernel of both on a GPU, two where they follow each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config.tiles import parse
from imbrex.lower.build import program
from imbrex.lower.one_launch import apart, in_one_launch
from imbrex.lower.stmt import Join, Kernel, Program, walk
from imbrex.pipeline import Request, levels, lower
from imbrex.problem import Gemm

PIECES, TILES = 4, 6
PROBLEM = Gemm(64, 96, 512, dtype="f16", alpha=2.0, beta=1.0)
REQUEST = Request(
    PROBLEM, GPU_MACHINES["gfx942"], "gfx942", schedule=parse(f"scatter_k:{PIECES * TILES}")
)  # fmt: skip


@pytest.fixture(scope="module")
def made() -> Program:
    *_, threadwise = levels(REQUEST)
    return program(threadwise.module, frozenset({2}), REQUEST.machine)


def test_a_gpu_runs_both_as_one(made: Program) -> None:
    """Its statements are those of both, in order."""
    first, second = made.kernels
    (both,) = in_one_launch(made).kernels
    assert both == replace(first, body=(*first.body, *second.body), maps=both.maps)
    assert dict(both.maps) == dict(first.maps) | dict(second.maps)
    (join,) = (stmt for stmt in walk(both.body) if isinstance(stmt, Join))
    assert join.flag.buffer.name in made.zeroed and join.count * join.flag.buffer.elements == first.grid_size


def test_elsewhere_they_follow_each_other(made: Program) -> None:
    first, second = apart(made).kernels
    assert first == made.kernels[0]
    assert not any(isinstance(stmt, Join) for kernel in (first, second) for stmt in walk(kernel.body))
    assert len(second.body) == len(made.kernels[1].body) - 1


def test_a_program_without_joins_stays_as_it_is() -> None:
    *_, threadwise = levels(replace(REQUEST, schedule=parse("reduce_k:24")))
    found = program(threadwise.module, frozenset({2}), REQUEST.machine)
    assert in_one_launch(found) == apart(found) == found and len(found.kernels) == 2


def test_targets_have_as_many_launches_as_they_run() -> None:
    assert len(lower(REQUEST).steps) == 1
    assert len(lower(replace(REQUEST, target="emulate")).steps) == 2


def test_other_workgroups_than_those_before_do_not_join(made: Program) -> None:
    first, second = made.kernels
    wrong: tuple[Kernel, Kernel] = (first, replace(second, grid_size=second.grid_size + 1))
    with pytest.raises(AssertionError, match="joins workgroups"):
        in_one_launch(replace(made, launches=wrong))
