"""Gradients whose phases share tiles, on sm_90a: how many launches, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from imbrex import Diagnostic
from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning as tunings
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.memory import FillOp
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
LAST = {"filter_layout": "CYXK", "output_layout": "NHWK"}
WINDOW = {"y": 3, "x": 3, "pad_h": (1, 1), "pad_w": (1, 1)}


def request(algorithm: str, chip: str = "sm_90a", tuning: str | None = None, **sizes: Any) -> Request:
    given = {"n": 8, "c": 64, "h": 28, "w": 28, "k": 64, "y": 1, "x": 1, "stride": 2, "dtype": "f16", **sizes}
    chosen = None if tuning is None else tunings.parse(tuning)
    return Request(Conv2d("backward_data", **given), GPU_MACHINES[chip], chip, chosen, algorithm)


@pytest.mark.parametrize(
    ("wanted", "launches", "zeroed", "phases"),
    [
        (request("shared_phases"), 1, 0, 4),
        (request("shared_phases_last"), 2, 0, 4),
        (request("shared_phases_last", **WINDOW), 2, 0, 2),
        (request("shared_phases", **WINDOW, **LAST), 1, 0, 2),
    ],
    ids=str,
)
def test_products_write_the_gradient(wanted: Request, launches: int, zeroed: int, phases: int) -> None:
    *_, last = levels(wanted)
    ops = list(last.module.walk())
    fills = [op for op in ops if isinstance(op, FillOp) and not isinstance(op.parent_op(), LaunchOp)]
    counts = {op.phase_count for op in ops if isinstance(op, WarpgroupGemmOp)}
    assert (sum(isinstance(op, LaunchOp) for op in ops), len(fills), counts) == (launches, zeroed, {phases})


def test_where_no_tap_meets_a_row_there_is_no_product() -> None:
    missed = {"n": 3, "c": 8, "k": 8, "h": 1, "w": 2, "y": 2, "x": 3, "pad_h": (3, 0), "stride": (5, 3)}
    wanted = request("shared_phases", **missed, pad_w=1)
    assert algorithm_of(replace(wanted, algorithm=None)) == "v4r1"
    with pytest.raises(Diagnostic, match="no tap of the filter meets a row of the input"):
        algorithm_of(wanted)


@pytest.mark.parametrize(("groups", "k"), [(64, 64), (16, 64), (1, 67)])
def test_channels_that_are_few_have_a_step_of_their_own(groups: int, k: int) -> None:
    for algorithm in (None, "shared_phases_last"):
        wanted = request(algorithm or "v4r1", **WINDOW, groups=groups, k=k)
        assert algorithm_of(replace(wanted, algorithm=algorithm)) is not None
    *_, last = levels(request("shared_phases_last", **WINDOW, groups=groups, k=k))
    (product,) = (op for op in last.module.walk() if isinstance(op, WarpgroupGemmOp))
    assert product.phases is not None
    assert all(length % product.tuning_.k_per_block == 0 for length in product.phases.data.lengths)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (request("shared_phases", stride=1), "leave no gaps between columns"),
        (request("shared_phases", stride=(2, 1)), "leave no gaps between columns"),
        (request("shared_phases", **NHWC), "leave no gaps between columns"),
        (request("shared_phases", stride=(2, 3)), "6 phases of 2 bytes do not share a tile"),
        (request("shared_phases", stride=4), "a power of two up to 8"),
        (request("shared_phases", "gfx942"), "and gfx942 has none"),
        (request("shared_phases", tuning="v1:general:64,32,32,4,2,2"), "phases share tiles of warpgroups"),
        (request("shared_phases_last", **WINDOW, **LAST), "has nothing to pack"),
    ],
    ids=str,
)
def test_what_is_refused(wanted: Request, message: str) -> None:
    with pytest.raises(Diagnostic) as refused:
        algorithm_of(wanted)
    assert message in refused.value.message and refused.value.hint
