"""Depthwise convolutions by lanes cost what memory and instructions take, whichever is more."""

from __future__ import annotations

from dataclasses import replace

from imbrex.chip import GPU_MACHINES, GpuMachine
from imbrex.config.channel_cost import channel_cycles
from imbrex.config.strips import Shape
from imbrex.config.warpgroup.rates import rates_of

from .test_strips import shape

HOPPER = GPU_MACHINES["sm_90a"]
MEASURED = {  # microseconds on an H200, 2026-11-21, NHWC f16, forward
    (128, 512, 14, 3, 1): 16.0,
    (128, 256, 56, 3, 2): 66.7,
    (128, 384, 28, 7, 1): 120.7,
}


def microseconds(of: Shape) -> float:
    assert isinstance(HOPPER, GpuMachine)
    return channel_cycles(of, HOPPER) / rates_of(HOPPER).clock_hz * 1e6


def test_estimates_are_near_what_was_measured() -> None:
    """The model's memory is an H100's, at three quarters of an H200's rate."""
    for sizes, measured in MEASURED.items():
        assert 0.9 < microseconds(shape(sizes, "forward", "nhwc")) / measured < 1.5, sizes


def test_more_taps_more_bytes_and_a_second_launch_cost_more() -> None:
    plain = shape((128, 384, 28, 3, 1), "forward", "nhwc")
    assert microseconds(plain) < microseconds(shape((128, 384, 28, 7, 1), "forward", "nhwc"))
    assert microseconds(plain) < microseconds(replace(plain, element_bytes=4))
    assert microseconds(plain) < microseconds(replace(plain, direction="backward_weight"))
