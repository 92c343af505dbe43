"""The outline of a configuration follows from the problem and the machine, whatever tuning is given."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_TARGETS
from imbrex.config import tuning as tunings
from imbrex.config.outline import outline
from imbrex.config.request import Request
from imbrex.problem import Conv2d

LAYER = Conv2d("forward", n=2, c=64, h=8, w=8, k=64, y=3, x=3, pad_h=1, pad_w=1, dtype="f16")
GENERAL = "v1:general:64,32,32,8,2,2"


@pytest.mark.parametrize("chip", ["sm_90a", "gfx942"])
def test_the_order_of_taps_is_no_tunings(chip: str) -> None:
    machine = GPU_TARGETS[chip]
    free = outline(Request(LAYER, machine, chip), "v4r4")
    given = outline(Request(LAYER, machine, chip, tunings.parse(GENERAL)), "v4r4")
    assert free.taps_first and given.taps_first
