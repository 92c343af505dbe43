"""Groups that are computed as one lie side by side: no box of one is stored over the next."""

from __future__ import annotations

import pytest

from imbrex.chip import GPU_MACHINES
from imbrex.config.configuration import parse
from imbrex.config.request import Request
from imbrex.pipeline import lower
from imbrex.problem import Conv2d

LAYOUT = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
TUNINGS = ("64,96,64,10,1,1,1,cooperative", "64,48,64,13,2,1,1,pingpong")


@pytest.mark.parametrize("tuning", TUNINGS)
def test_boxes_of_64_channels_do_not_store_groups_of_16(tuning: str) -> None:
    """Zeros beyond a group's channels came after the next group's sums: an H200 gave wrong results."""
    problem = Conv2d(
        "forward", 32, 128, 28, 28, 32, 3, 3, pad_h=1, pad_w=1, stride=2, groups=8, dtype="f16", **LAYOUT
    )
    of = f"v2:merged_groups:4+taps_first+channels=64+product=v1:warpgroup:{tuning},straight,1@data_parallel"
    files = lower(Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", config=parse(of))).bundle.files
    kernel = next(text for path, text in files.items() if path.endswith(".hpp") and "stores_boxes" in text)
    assert "stores_boxes = false;" in kernel
    assert "uint32_t(row) < 16u" in kernel
