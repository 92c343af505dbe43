"""Tunings of a CPU given by hand to strided convolutions whose padding is on one side only.

Pixels of backward data then come in runs that no panel's height divides, and a guard may compare a pixel plus
a tap of the window, both of which a panel counts.
"""

from __future__ import annotations

import pytest

from imbrex.kernel import compile
from imbrex.problem import Conv2d

SIDES = ((1, 0), (0, 1))


@pytest.mark.parametrize("direction", ["forward", "backward_data", "backward_weight"])
@pytest.mark.parametrize("pad_h", SIDES)
@pytest.mark.parametrize("pad_w", SIDES)
def test_rows_of_pixels(direction: str, pad_h: tuple[int, int], pad_w: tuple[int, int]) -> None:
    problem = Conv2d(direction, 1, 8, 9, 9, 16, 3, 3, stride=(2, 2), pad_h=pad_h, pad_w=pad_w)
    tuning = "v1:cpu:4,16,8,32,16,16,k_major,b,swapped"
    for schedule in (None, "stream_k:3"):
        outcome = compile(problem, tuning=tuning, schedule=schedule).check(1)
        assert outcome.is_right and outcome.is_exact, str(outcome)


@pytest.mark.parametrize("form", ["k_blocked,b", "k_major,b", "k_major,a", "k_blocked,a"])
@pytest.mark.parametrize("side", ["swapped", "straight"])
def test_a_guard_of_a_pixel_and_a_tap(form: str, side: str) -> None:
    problem = Conv2d("backward_data", 1, 8, 9, 8, 5, 3, 2, stride=(2, 1), pad_h=(1, 0), pad_w=(2, 0))
    outcome = compile(problem, tuning=f"v1:cpu:4,16,8,16,5,16,{form},{side}").check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
