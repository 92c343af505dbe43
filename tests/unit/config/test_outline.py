"""The outline of a configuration: what of it follows from the problem and the machine."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config import tuning as tunings
from imbrex.config.outline import outline
from imbrex.config.request import Request
from imbrex.problem import Conv2d

LAYER = Conv2d("forward", n=2, c=64, h=8, w=8, k=64, y=3, x=3, pad_h=1, pad_w=1, dtype="f16")
GENERAL = "v1:general:64,32,32,8,2,2"


@pytest.mark.parametrize(("chip", "is_first"), [("sm_90a", True), ("gfx942", False)])
def test_the_order_of_taps(chip: str, is_first: bool) -> None:
    """Of warpgroups it is no tuning's; with work items of a GPU of waves the filter unfolds, as seeds say."""
    machine = GPU_MACHINES[chip]
    given = outline(Request(LAYER, machine, chip, tunings.parse(GENERAL)), "v4r4")
    assert outline(Request(LAYER, machine, chip), "v4r4").taps_first and given.taps_first == is_first
