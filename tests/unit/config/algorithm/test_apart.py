"""Gradients of images whose windows share no pixel: one product, however many taps, where that is fastest."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from imbrex.chip import WARPGROUPS
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.serving import SERVING
from imbrex.config.algorithm.task import task_of
from imbrex.config.context import Access, GemmContext
from imbrex.config.tuning import parse
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.warpgroup.traffic import memory_bytes
from imbrex.config.warpgroup.tunings import Tunings
from imbrex.dtype import F16
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.warpgroup import WarpgroupGemmOp
from imbrex.pipeline import Request, levels
from imbrex.problem import Conv2d

NHWC: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
LAYOUTS: dict[str, dict[str, Any]] = {"nchw": {}, "nhwc": NHWC}
PATCH: dict[str, Any] = {"n": 16, "h": 35, "w": 37, "k": 96, "dtype": "f16"}
ONE_PRODUCT = ("v1r1", "v1r1_last")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("window", "stride", "pad", "channels"),
    [(14, 14, 0, 3), (4, 4, 0, 3), (7, 9, 2, 1), (5, 5, 2, 4), (3, 3, 1, 16)],
)
def test_patches_are_one_product(layout: str, window: int, stride: int, pad: int, channels: int) -> None:
    sizes = {"y": window, "x": window, "stride": stride, "pad_h": pad, "pad_w": pad, "c": channels}
    request = Request(Conv2d("backward_data", **PATCH | sizes | LAYOUTS[layout]), WARPGROUPS, "sm_90a")
    assert algorithm_of(request) in ONE_PRODUCT
    *_, last = levels(request)
    ops = list(last.module.walk())
    assert sum(isinstance(op, WarpgroupGemmOp) for op in ops) == 1
    assert sum(isinstance(op, LaunchOp) for op in ops) <= 2


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("window", "channels"), [(14, 3), (4, 3), (2, 16)])
def test_patches_by_work_items_are_one_launch_too(layout: str, window: int, channels: int) -> None:
    """One a tap were 196 launches of f32, which NVRTC compiled for more than a minute."""
    sizes = {"n": 3, "dtype": "f32", "y": window, "x": window, "stride": window, "c": channels}
    request = Request(Conv2d("backward_data", **PATCH | sizes | LAYOUTS[layout]), WARPGROUPS, "sm_90a")
    assert algorithm_of(request) == "v1r1"


def test_a_tuning_of_work_items_leaves_the_algorithm_as_it_was() -> None:
    problem = Conv2d("backward_data", **PATCH | {"dtype": "f32", "c": 3, "y": 4, "x": 4, "stride": 4})
    given = Request(problem, WARPGROUPS, "sm_90a", tuning=parse("v1:general:128,64,96,16,4,4"))
    assert algorithm_of(given) == "v4r1"


def test_short_lines_of_many_channels_share_phases() -> None:
    """Two taps side by side are four bytes in NCHW: an H200 took up to 1.8 times as long by one product."""
    sizes = {"n": 16, "c": 64, "h": 112, "w": 112, "k": 128, "y": 2, "x": 2, "stride": 2, "dtype": "f16"}
    request = Request(Conv2d("backward_data", **sizes), WARPGROUPS, "sm_90a")
    assert algorithm_of(request) in ("shared_phases", "shared_phases_last")
    last = replace(request.problem, **NHWC)  # type: ignore[type-var]
    assert algorithm_of(replace(request, problem=last)) == "v1r1"


@pytest.mark.parametrize(
    ("sizes", "algorithm"),
    [
        ({"y": 3, "x": 3, "stride": 2}, "windows overlap"),
        ({"y": 1, "x": 1, "stride": 2}, "a window of one tap has one product as it is"),
        ({"y": 4, "x": 4, "stride": 4, **NHWC, "filter_layout": "CYXK"}, "has nothing to pack"),
    ],
)
def test_what_copies_do_not_serve_says_why(sizes: dict[str, Any], algorithm: str) -> None:
    task = task_of(Conv2d("backward_data", **PATCH | {"c": 16} | sizes))
    found = SERVING["v1r1_last"].refused(task, "")
    assert found is not None and algorithm in found.reason
    assert not list(SERVING["v1r1_last"].offers(task))


def _moved(run: float, width: int, pitch: int = 1) -> float:
    """Bytes of C of a product whose rows lie in stretches of so many."""
    c = Access((width, 1), (run, 1.0), (1, 0), pitch=(1, pitch))
    context = GemmContext(1024, 1024, 64, F16, c=c)
    tuning = WarpgroupTuning(128, 128, 64, 4, 2, 1, 1, False, False, 1)
    of = Tunings.of(tuning.plan(context))
    return float(memory_bytes(of, of.units)[0]) - of.a.array - of.b.array


def test_short_stretches_of_a_result_cost_the_sectors_that_they_touch() -> None:
    whole = 1024 * 1024 * 2
    assert _moved(1024.0, 8) == whole == _moved(64.0, 8) == _moved(16.0, 8)
    assert _moved(2.0, 2) == 8 * whole
    assert _moved(3.0, 1) == pytest.approx(whole * (6 - 2 + 32) / 6)
    assert all(_moved(a, 1) > _moved(b, 1) for a, b in product((2.0, 3.0, 5.0), (7.0, 14.0, 31.0)))
