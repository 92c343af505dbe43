"""Merged groups: which arrays of a convolution whose channels do not run fastest are copied."""

from __future__ import annotations

import pytest

from imbrex.ir.dialect import context
from imbrex.ir.from_problem import problem_module
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.passes.arranged import ChannelsLast, MergeGroups
from imbrex.ir.shape import shape_of
from imbrex.problem import Conv2d
from imbrex.problem.conv import Direction


def copied(direction: Direction, side: int) -> list[tuple[int | None, ...]]:
    window = {"y": 3, "x": 3, "pad_h": 1, "pad_w": 1}
    problem = Conv2d(direction, n=2, c=64, h=side, w=side, k=64, groups=8, dtype="f16", **window)
    module = problem_module(problem, "merged", "merged_groups:4")
    for step in (MergeGroups(), ChannelsLast()):
        step.apply(context(), module)
    return [shape_of(o.result) for o in module.walk() if isinstance(o, WorkspaceOp)]


@pytest.mark.parametrize(("side", "arrays"), [(16, 1), (14, 2)])
def test_backward_weight_copies_an_output_whose_planes_are_no_whole_pieces(side: int, arrays: int) -> None:
    """16 x 16 elements of f16 are a multiple of 16 bytes, 14 x 14 are not."""
    assert copied("backward_weight", side) == [(2, 2, side, side, 32)] * arrays


def test_forward_copies_the_input_and_makes_the_filter() -> None:
    assert copied("forward", 16) == [(2, 32, 3, 3, 32), (2, 2, 16, 16, 32)]
