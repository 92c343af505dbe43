"""The bytes that copies are charged for are those of arrays, however many work items have nothing to do."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config.algorithm.choice import algorithm_of, alternatives, plain_of
from imbrex.config.algorithm.cost import cheapest, cycles, in_all
from imbrex.config.algorithm.product import Products
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.warpgroup.rates import rates_of
from imbrex.problem import Conv2d
from imbrex.problem.conv import Direction


def moved(direction: Direction, algorithm: str, **changed: Any) -> int:
    sizes = {"n": 4, "c": 64, "h": 7, "w": 7, "k": 128, "y": 1, "x": 1, "dtype": "f16", **changed}
    request = Request(Conv2d(direction, **sizes), GPU_MACHINES["sm_90a"], "sm_90a")
    made = products(request.problem, outline(request, algorithm), request.machine)
    assert isinstance(made, Products)
    return made.moved_bytes


CASES = {
    "two arrays through shared memory": (
        moved("backward_weight", "channels_last"),
        2 * 2 * 4 * 49 * (64 + 128),
    ),
    "two of whole 16 bytes": (
        moved("backward_weight", "channels_last", h=8, w=8),
        2 * 2 * 4 * 64 * (64 + 128),
    ),
    "of every second row": (
        moved("forward", "channels_last", h=56, w=56, stride=2),
        2 * 4 * 64 * (28 * 56 + 28 * 28),
    ),
    "of planes that begin anywhere, all": (
        moved("forward", "channels_last", h=14, w=14, stride=2),
        2 * 4 * 64 * (14 * 14 + 7 * 7),
    ),
    "the result, too": (
        moved("forward", "all_last"),
        2 * 2 * 4 * 49 * (64 + 128),
    ),
    "phases, and the zeros between": (
        moved("backward_data", "interleaved", h=8, w=8, stride=2),
        2 * 4 * 64 * (4 * 4 + 8 * 8),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_array_counts_once(name: str) -> None:
    found, wanted = CASES[name]
    assert found == wanted


def test_control_a_product_that_copies_nothing_moves_nothing() -> None:
    assert moved("forward", "v4r4") == 0


@pytest.mark.parametrize(
    ("layout", "window", "wanted"),
    [("KCYX", 3, "all_last"), ("KYXC", 3, "channels_last"), ("KCYX", 1, "channels_last")],
)
def test_large_gradients_of_filters_are_turned_back_rather_than_scattered(
    layout: str, window: int, wanted: str
) -> None:
    sizes = {"n": 128, "c": 512, "h": 7, "w": 7, "k": 512, "y": window, "x": window}
    pads = {"pad_h": window // 2, "pad_w": window // 2}
    problem = Conv2d("backward_weight", **sizes, **pads, filter_layout=layout, dtype="f16")
    assert algorithm_of(Request(problem, GPU_MACHINES["sm_90a"], "sm_90a")) == wanted


def test_products_of_whole_images_are_cheaper_by_the_row_of_the_machine() -> None:
    request = Request(
        Conv2d("forward", 4, 64, 7, 7, 128, 1, 1, dtype="f16"), GPU_MACHINES["sm_90a"], "sm_90a"
    )
    made = products(request.problem, outline(request, "channels_last"), request.machine)
    assert isinstance(made, Products)
    beside = in_all(request, "whole_images", made, 0.0)
    rate = rates_of(GPU_MACHINES["sm_90a"]).product.whole_rows
    assert 0.5 < rate < 1.0
    assert in_all(request, "whole_images", made, 1e6) - beside == pytest.approx(rate * 1e6)
    assert in_all(request, "channels_last", made, 1e6) - beside == pytest.approx(1e6)


@pytest.mark.parametrize("direction", ["backward_data", "backward_weight"])
def test_the_cheapest_is_found_without_counting_all_that_others_cost(direction: Direction) -> None:
    problem = Conv2d(direction, 2, 64, 12, 12, 64, 3, 3, pad_h=1, pad_w=1, stride=2, dtype="f16")
    request = Request(problem, GPU_MACHINES["sm_90a"], "sm_90a")
    names = (plain_of(problem), *alternatives(problem))
    assert len(names) > 2
    assert cheapest(request, names) == min(names, key=lambda name: cycles(request, name))
    assert cheapest(request, names[::-1]) == min(names[::-1], key=lambda name: cycles(request, name))
