"""A CPU takes vectors of windows for depthwise convolutions, and for groups where the models say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from imbrex.chip import CPU_ISAS, CpuMachine
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.task import task_of
from imbrex.config.buckets import bucketed
from imbrex.config.request import Request
from imbrex.config.window_strips import PLANES_BYTES, chosen_box
from imbrex.diagnostic import Diagnostic
from imbrex.emit.bundle import device_headers
from imbrex.problem import Conv2d
from imbrex.problem.conv import Direction

NHWC: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
CASES = {
    "depthwise": ({"groups": 128}, "window_vectors"),
    "groups of 4, channels last": ({"groups": 32, **NHWC}, "window_vectors"),
    "groups of 4, planes": ({"groups": 32, "h": 56, "w": 56}, "window_vectors"),
    "groups of 16, planes": ({"groups": 8}, "v4r4"),
    "groups of 16, planes, stride 2": ({"groups": 8, "stride": (2, 2)}, "window_vectors"),
    "groups of 32, small planes": ({"groups": 4, "h": 7, "w": 7}, "v4r4"),
    "groups of 64": ({"groups": 2, **NHWC}, "v4r4"),
    "groups of 8 by one tap, planes": (
        {"groups": 16, "y": 1, "x": 1, "pad_h": 0, "pad_w": 0},
        "window_vectors",
    ),
}


FILTERS = {
    "depthwise": ({"groups": 128}, "window_vectors"),
    "depthwise, one thread for all": ({"n": 8, "c": 2, "k": 2, "groups": 2}, "window_vectors"),
    "groups of 8": ({"groups": 16}, "window_vectors"),
    "groups of 16, channels last, stride 2": ({"groups": 8, "stride": (2, 2), **NHWC}, "window_vectors"),
    "groups of 64": ({"groups": 2}, "v4r4"),
    "rows of 40000 pixels": ({"groups": 16, "h": 1, "w": 40000, "y": 1, "pad_h": 0}, "v4r4"),
}


ZEN4 = replace(CPU_ISAS["avx512"], threads=1, fma_per_cycle=1.0)
"""Where the cases above were timed: a multiply-add a cycle."""
TWO_A_CYCLE = replace(CPU_ISAS["avx2"], threads=1, fma_per_cycle=2.0)
"""The same core by vectors of 32 bytes, which was timed for these."""
BY_TWO: dict[str, tuple[Direction, dict[str, Any], str]] = {
    "groups of 4, planes": ("forward", {"groups": 32, "h": 56, "w": 56}, "window_vectors"),
    "groups of 64, channels last": ("forward", {"groups": 2, **NHWC}, "v4r4"),
    "filters of groups of 4": ("backward_weight", {"groups": 32, "h": 56, "w": 56}, "window_vectors"),
}


@pytest.mark.parametrize("name", CASES)
def test_groups_take_what_costs_least(name: str) -> None:
    given, expected = CASES[name]
    assert chosen("forward", given) == expected


@pytest.mark.parametrize("name", FILTERS)
def test_filters_of_groups_take_what_costs_least(name: str) -> None:
    given, expected = FILTERS[name]
    assert chosen("backward_weight", given) == expected


def test_a_run_time_number_of_images_is_summed_by_products() -> None:
    sizes: dict[str, Any] = {"c": 64, "h": 28, "w": 28, "k": 64, "y": 3, "x": 3, "groups": 2}
    problem = Conv2d("backward_weight", n=4, least_n=1, **sizes)
    machine = replace(CPU_ISAS["avx512"], threads=1)
    assert algorithm_of(Request(problem.at(4), machine)) == "window_vectors"
    assert bucketed(Request(problem, machine)).algorithm == "v4r4"
    with pytest.raises(Diagnostic, match="'window_vectors' is not made for a run-time n"):
        bucketed(Request(problem, machine, algorithm="window_vectors"))


@pytest.mark.parametrize("name", BY_TWO)
def test_two_multiply_adds_a_cycle_take_what_costs_least(name: str) -> None:
    direction, given, expected = BY_TWO[name]
    assert chosen(direction, given, TWO_A_CYCLE) == expected


def chosen(direction: Direction, given: dict[str, Any], machine: CpuMachine = ZEN4) -> str | None:
    sizes: dict[str, Any] = {"n": 1, "c": 128, "h": 28, "w": 28, "k": 128, "y": 3, "x": 3}
    problem = Conv2d(direction, **(sizes | {"pad_h": 1, "pad_w": 1} | given))
    return algorithm_of(Request(problem, machine))


@pytest.mark.parametrize(("size", "slots"), [(7, 16), (112, 1)], ids=["small", "large"])
def test_small_planes_are_turned(size: int, slots: int) -> None:
    conv = Conv2d("forward", n=1, c=64, h=size, w=size, k=64, y=5, x=5, pad_h=2, pad_w=2, groups=64)
    box = chosen_box(strips_shape(task_of(conv)), replace(CPU_ISAS["avx512"], threads=1))
    assert box.slots % slots == 0 and (box.slots == 1) == (slots == 1)


def test_the_model_has_the_planes_of_the_device() -> None:
    (header,) = [text for name, text in device_headers("cpu").items() if name.endswith("filter_planes.h")]
    assert f"constexpr int planes_bytes = {PLANES_BYTES};" in header
