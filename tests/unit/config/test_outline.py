"""The outline of a configuration: what of it follows from the problem and the machine."""

from __future__ import annotations

from dataclasses import replace

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


WEIGHTS = replace(
    LAYER, direction="backward_weight", n=64, filter_layout="KYXC", input_layout="NHWC", output_layout="NHWK"
)


@pytest.mark.parametrize(
    ("chip", "problem", "algorithm", "is_last"),
    [
        ("gfx942", WEIGHTS, "v4r4", True),
        ("gfx950", replace(WEIGHTS, n=192), "v4r4", True),
        ("gfx950", replace(WEIGHTS, n=32, dtype="f32"), "v4r4", True),
        ("gfx950", replace(WEIGHTS, y=1, x=1, pad_h=0, pad_w=0, stride=2), "v4r4", True),
        ("gfx950", replace(WEIGHTS, input_layout="NCHW", output_layout="NKHW"), "channels_last", True),
        ("gfx950", replace(WEIGHTS, input_layout="NCHW", output_layout="NKHW"), "v4r4", False),
        ("gfx950", replace(WEIGHTS, n=32), "v4r4", False),  # half of a step of K
        ("gfx950", replace(WEIGHTS, y=1, x=1, pad_h=0, pad_w=0), "v4r4", False),  # windows are pixels
        ("gfx950", replace(WEIGHTS, direction="forward"), "v4r4", False),
        ("sm_90a", WEIGHTS, "v4r4", False),
    ],
)
def test_the_order_of_images(chip: str, problem: Conv2d, algorithm: str, is_last: bool) -> None:
    """Pixels before images, where a GPU of waves would take the pixels of each step apart."""
    assert outline(Request(problem, GPU_MACHINES[chip], chip), algorithm).images_last == is_last
