"""Pixels that come into LDS once for the taps of a row, executed: every copy, direction and schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.pairs import one_in

from imbrex.diagnostic import Diagnostic
from imbrex.kernel import compile
from imbrex.problem import Conv2d

Gpu = Callable[[str], Any]

LAST: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
PLAIN = Conv2d("forward", 16, 128, 6, 5, 72, 3, 3, pad_h=(1, 1), pad_w=(1, 1), dtype="f16", **LAST)
BACK = replace(PLAIN, direction="backward_data", n=7, c=136, k=64, dtype="bf16")
WIDE = replace(PLAIN, n=3, c=64, y=1, x=5, dilation=(1, 2), pad_h=(0, 0), pad_w=(3, 2), h=4, w=11)
GROUPS = replace(PLAIN, n=8, c=128, k=128, groups=2, h=5, w=4)
SMALL = "v1:xdlops:64,64,8,32,32,8,auto,xor"
CASES: dict[str, tuple[Conv2d, str, str, str, str | None]] = {
    "ahead": (PLAIN, "gfx950", "row_halo:16", f"{SMALL},ahead,straight,2,3,3", None),
    "ahead, a buffer more, reduced": (
        BACK, "gfx950", "row_halo:2", f"{SMALL},ahead,straight,1,4,3", "reduce_k:4",
    ),
    "ahead, shared": (PLAIN, "gfx950", "row_halo:16", f"{SMALL},ahead,straight,1,3,3", "stream_k:3"),
    "ahead, two taps, one step": (
        replace(PLAIN, c=64, y=1, x=2, pad_h=(0, 0), pad_w=(0, 1)), "gfx950", "row_halo:5",
        f"{SMALL},ahead,straight,2,2,2", None,
    ),
    "ahead, bytes": (
        replace(PLAIN, dtype="f8e4m3fn"), "gfx950", "row_halo:8",
        "v1:xdlops:64,64,8,32,32,16,auto,xor,ahead,straight,2,3,3", None,
    ),
    "direct": (WIDE, "gfx950", "row_halo:3", f"{SMALL},direct,straight,2,2,5", None),
    "staged": (GROUPS, "gfx942", "row_halo:8", f"{SMALL},staged,straight,2,1,3", "split_k:3"),
    "staged, turned": (
        BACK, "gfx90a", "row_halo:1", "v1:xdlops:64,64,8,32,32,4,auto,padded,staged,straight,1,1,3", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", one_in(2, list(CASES)))
def test_a_convolution_is_right(case: str, gpu: Gpu) -> None:
    problem, chip, algorithm, tuning, schedule = CASES[case]
    gpu(chip)
    kernel = compile(problem, chip, tuning, algorithm=algorithm, schedule=schedule)
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)


def test_a_tuning_of_several_taps_names_its_algorithm(gpu: Gpu) -> None:
    gpu("gfx950")
    kernel = compile(PLAIN, "gfx950", f"{SMALL},ahead,straight,2,3,3")
    assert str(kernel.configuration).startswith("v2:row_halo:16+")


@pytest.mark.parametrize(
    ("problem", "algorithm", "reason"),
    [
        (replace(PLAIN, stride=(2, 2)), "row_halo:1", "strides 2 x 2"),
        (replace(PLAIN, input_layout="NCHW"), "row_halo:1", "channels do not come last"),
        (PLAIN, "row_halo:17", "how many of 16 images"),
        (PLAIN, "row_halo", "row_halo:COUNT"),
        (replace(PLAIN, direction="backward_weight"), "row_halo:1", "row_halo"),
    ],
)
def test_what_is_not_served_says_why(problem: Conv2d, algorithm: str, reason: str) -> None:
    with pytest.raises(Diagnostic) as told:
        compile(problem, "gfx950", algorithm=algorithm)
    assert reason in str(told.value)
