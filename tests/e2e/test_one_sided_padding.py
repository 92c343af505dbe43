"""Tunings of a CPU given by hand to strided convolutions whose padding is on one side only.

Pixels of backward data then come in runs that no panel's height divides, and a guard may compare a pixel plus
a tap of the window, both of which a panel counts.
"""

from __future__ import annotations

import pytest
from tests.e2e.covering import Row, covering
from tests.host_tuning import for_host
from tests.pairs import in_turn

from imbrex.kernel import compile
from imbrex.problem import Conv2d

SIDES = ((1, 0), (0, 1))
AXES = {
    "direction": ("forward", "backward_data", "backward_weight"),
    "pad_h": SIDES,
    "pad_w": SIDES,
    "schedule": (None, "stream_k:3"),
}


@pytest.mark.parametrize("row", covering(AXES, lambda row: True), ids=str)
def test_rows_of_pixels(row: Row) -> None:
    direction, schedule = row["direction"], row["schedule"]
    problem = Conv2d(direction, 1, 8, 9, 9, 16, 3, 3, stride=2, pad_h=row["pad_h"], pad_w=row["pad_w"])
    tuning = for_host("v1:cpu:4,16,8,32,16,16,k_major,b,swapped")
    outcome = compile(problem, tuning=tuning, schedule=schedule).check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)


FORMS = ("k_blocked,b", "k_major,b", "k_major,a", "k_blocked,a")


@pytest.mark.parametrize(("form", "side"), in_turn(FORMS, ["swapped", "straight"], whole=FORMS[1:2]))
def test_a_guard_of_a_pixel_and_a_tap(form: str, side: str) -> None:
    problem = Conv2d("backward_data", 1, 8, 9, 8, 5, 3, 2, stride=(2, 1), pad_h=(1, 0), pad_w=(2, 0))
    outcome = compile(problem, tuning=for_host(f"v1:cpu:4,16,8,16,5,16,{form},{side}")).check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
