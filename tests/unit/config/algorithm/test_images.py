"""Algorithms of images whose channels do not come last, on sm_90a: which are chosen, which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex import Diagnostic
from imbrex.chip import GPU_MACHINES
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.memory import FillOp
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}


def request(direction: Any, algorithm: str | None = None, chip: str = "sm_90a", **sizes: Any) -> Request:
    given = {"n": 128, "c": 256, "h": 56, "w": 56, "k": 512, "y": 1, "x": 1, "dtype": "f16", **sizes}
    return Request(Conv2d(direction, **given), GPU_MACHINES[chip], chip, None, algorithm)


@pytest.mark.parametrize(
    ("wanted", "algorithm"),
    [
        (request("backward_data", stride=2), "interleaved"),
        (request("backward_weight", stride=2), "input_last"),
        (request("backward_weight", c=64, k=64, y=3, x=3, pad_h=1, pad_w=1), "input_last"),
        (request("backward_weight", c=256, k=1024, h=14, w=14), "input_last"),
        (request("backward_weight", c=1024, k=256, h=14, w=14), "output_last"),
        (request("forward", stride=2), "channels_last"),
        (request("backward_data"), "v4r1"),
        (request("backward_data", stride=2, **NHWC), "v4r1"),
    ],
    ids=str,
)
def test_the_model_chooses(wanted: Request, algorithm: str) -> None:
    assert algorithm_of(wanted) == algorithm


def test_phases_are_put_together_by_one_launch_that_fills_the_rest() -> None:
    """v4r1 sets the result to zero first, and stores between the zeros."""
    kinds = {}
    for algorithm in ("interleaved", "v4r1"):
        *_, last = levels(request("backward_data", algorithm, stride=2))
        ops = list(last.module.walk())
        zeroed = [op for op in ops if isinstance(op, FillOp) and not isinstance(op.parent_op(), LaunchOp)]
        kinds[algorithm] = sum(isinstance(op, LaunchOp) for op in ops), len(zeroed)
    assert kinds == {"interleaved": (2, 0), "v4r1": (1, 1)}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (request("backward_data", "interleaved"), "phases leave no gaps"),
        (request("backward_data", "interleaved", stride=2, **NHWC), "phases leave no gaps"),
        (
            request("backward_data", "interleaved", "gfx942", stride=2),
            "and gfx942 has none",
        ),
        (request("backward_weight", "output_last", stride=2), "has nothing to pack"),
        (request("backward_weight", "input_last", **NHWC), "has nothing to pack"),
        (request("forward", "whole_images:32", h=7, w=7), "only pointwise convolutions of one group serve"),
        (request("forward", "whole_images:32", h=28, w=28, y=3, x=3), "only pointwise convolutions"),
        (request("backward_weight", "whole_images:32", stride=2), "without strides"),
        (request("forward", "whole_images:24", h=28, w=28), "how many positions of an image a row"),
        (
            request("forward", "whole_images:32", "gfx942", h=28, w=28),
            "and gfx942 has none",
        ),
    ],
    ids=str,
)
def test_what_is_refused(wanted: Request, message: str) -> None:
    with pytest.raises(Diagnostic) as refused:
        algorithm_of(wanted)
    assert message in refused.value.message and refused.value.hint
