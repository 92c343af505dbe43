"""Convolutions whose groups are merged, depthwise ones by vectors of channels, and those of few channels with
rows of windows as stretches, on the lane-level build: directions, layouts, pads, strides; and where they are
refused.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.many import Case, wrong
from tests.pairs import in_turn

from imbrex import Conv2d, Diagnostic
from imbrex.chip import GPU_MACHINES
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.pipeline import Request

NHWC = " -I NHWC -f KYXC -O NHWK"
GROUPED = {
    "merged_groups:2": "-n 2 -c 32 -H 6 -W 5 -k 16 -y 3 -x 3 -p 1 -q 1 -g 4",
    "merged_groups:3": "-n 1 -c 24 -H 5 -W 7 -k 12 -y 3 -x 2 -p 1,0 -q 1 -u 2 -l 2 -g 6",
    "merged_groups:8": "-n 2 -c 16 -H 7 -W 6 -k 16 -y 3 -x 3 -p 1 -q 1 -v 2 -g 16",
    "merged_groups:5": "-n 2 -c 5 -H 4 -W 4 -k 10 -y 1 -x 1 -p 0 -q 0 -g 5",
}
NARROW = (
    "-n 2 -c 3 -H 15 -W 18 -k 17 -y 7 -x 7 -p 3 -q 3 -u 2 -v 2",
    "-n 1 -c 1 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1",
    "-n 1 -c 3 -H 12 -W 13 -k 9 -y 4 -x 4 -p 0 -q 0 -u 4 -v 4",
    "-n 1 -c 5 -H 9 -W 11 -k 8 -y 3 -x 5 -p 0,2 -q 2,0 -l 2",
)
PROBLEM = Conv2d("forward", 2, 16, 9, 7, 24, 3, 3, groups=4, dtype="f16")


WAYS = [f" -F {direction}{layout}" for direction in (1, 2, 4) for layout in ("", NHWC)]
MERGED = in_turn(list(GROUPED), WAYS, whole=["merged_groups:2"])


@pytest.mark.parametrize("way", WAYS)
def test_merged_groups(way: str) -> None:
    cases = [
        Case.of(f"convfp16 {GROUPED[algorithm]}{way}", None, "gfx942", algorithm)
        for algorithm, other in MERGED
        if other == way
    ]
    assert wrong(cases, seed=len(way)) == []


def test_merged_groups_of_other_types() -> None:
    shape = GROUPED["merged_groups:2"]
    lines = [f"conv{kind} {shape} -F {direction}" for kind, direction in (("", 2), ("bfp16", 4), ("int8", 1))]
    assert wrong([Case.of(line, None, "gfx942", "merged_groups:2") for line in lines]) == []


def test_control_a_filter_that_is_not_block_diagonal_is_seen() -> None:
    small = [Case.of(f"convfp16 {GROUPED['merged_groups:2']} -F 1{NHWC}", None, "gfx942", "merged_groups:2")]
    assert wrong(small) == []
    assert len(wrong(small, damage=("i4) % 3;", "i4) % 1;"))) == 1


DEPTHWISE = (
    "-n 2 -c 16 -H 7 -W 6 -k 16 -y 3 -x 3 -p 1 -q 1 -v 2 -g 16",
    "-n 1 -c 40 -H 9 -W 9 -k 40 -y 3 -x 5 -p 0,1 -q 2 -u 2 -l 2 -g 40",
    "-n 3 -c 5 -H 9 -W 8 -k 5 -y 7 -x 7 -p 3 -q 3 -g 5",
    "-n 3 -c 8 -H 16 -W 24 -k 8 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 8",
    "-n 2 -c 4 -H 16 -W 16 -k 4 -y 1 -x 2 -p 0 -q 1 -u 2 -v 3 -g 4",
)
DEPTHWISE_TYPES = ("fp16", "bfp16", "", "fp16", "")
BY_VECTORS = in_turn(
    list(zip(DEPTHWISE, DEPTHWISE_TYPES, strict=True)), (1, 2, 4), whole=[(DEPTHWISE[1], "bfp16")]
)


@pytest.mark.parametrize("layout", ["", NHWC, " -I NHWC -f NHWC -O NHWC"])
@pytest.mark.parametrize("direction", [1, 2, 4])
def test_depthwise_by_vectors_of_channels(direction: int, layout: str) -> None:
    cases = [
        Case.of(f"conv{kind} {shape} -F {direction}{layout}", None, "gfx942", "channel_vectors")
        for (shape, kind), way in BY_VECTORS
        if way == direction
    ]
    assert wrong(cases, seed=direction) == []


TALL = (
    "-n 2 -c 8 -H 12 -W 11 -k 8 -y 9 -x 9 -p 4 -q 4 -g 8",
    "-n 1 -c 3 -H 19 -W 16 -k 3 -y 13 -x 7 -p 6,3 -q 3 -l 1 -j 2 -g 3",
    "-n 1 -c 8 -H 40 -W 8 -k 8 -y 31 -x 5 -p 15 -q 2 -v 2 -g 8",
)


@pytest.mark.parametrize("layout", ["", NHWC])
@pytest.mark.parametrize("direction", [1, 2])
def test_windows_of_many_taps_row_by_row(direction: int, layout: str) -> None:
    strided = (*TALL, "-n 1 -c 4 -H 24 -W 9 -k 4 -y 9 -x 8 -p 4 -q 4 -u 2 -v 2 -l 2 -g 4")
    cases = [
        Case.of(f"convfp16 {shape} -F {direction}{layout}", None, "gfx942", "channel_vectors")
        for shape in (strided if direction == 1 else TALL)
    ]
    assert wrong(cases, seed=direction) == []


@pytest.mark.parametrize("direction", [2, 4])
def test_windows_of_many_taps_that_are_not_served(direction: int) -> None:
    shape: dict[str, Any] = {"y": 9, "x": 9, "pad_h": 4, "pad_w": 4, "stride": 2}
    problem = Conv2d(
        "backward_data" if direction == 2 else "backward_weight", 2, 8, 12, 11, 8, groups=8, **shape
    )
    with pytest.raises(Diagnostic, match="no large windows"):
        algorithm_of(Request(problem, GPU_MACHINES["gfx942"], "gfx942", algorithm="channel_vectors"))


@pytest.mark.parametrize("direction", [1, 2, 4])
def test_control_a_tap_that_is_left_out_is_seen(direction: int) -> None:
    small = [Case.of(f"convfp16 {DEPTHWISE[0]} -F {direction}", None, "gfx942", "channel_vectors")]
    row = "imbrex::widen(wide_filter[workitem * 9 + k_thread_2 + 3])"
    damage = {
        1: (row, f"(k_thread_2 != 1) * {row}"),
        2: ("wide_filter[workitem * 9 + 4]", "0"),
        4: ("+ 4]", "+ 3]"),
    }
    assert len(wrong(small, damage=damage[direction])) == 1


PIXELS = (
    "-n 1 -c 8 -H 9 -W 7 -k 17 -y 2 -x 5 -p 1 -q 2 -u 2 -v 2",
    "-n 2 -c 20 -H 6 -W 9 -k 8 -y 3 -x 3 -p 1 -q 1",
)
"""Of 16 bytes of channels and more."""
ROWS = in_turn([*NARROW, *PIXELS], [way for way in WAYS if " -F 2" not in way], whole=[NARROW[0]])


def test_rows_of_windows() -> None:
    """Forward and backward weight, in both layouts."""
    cases = [Case.of(f"convfp16 {shape}{way}", None, "gfx942", "window_rows") for shape, way in ROWS]
    assert wrong(cases, seed=1) == []


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("merged_groups:3", "how many of 4 groups are computed as one"),
        ("merged_groups:x", "how many of 4 groups are computed as one"),
        ("window_rows", "only channels of up to 64 bytes"),
        ("channel_vectors", "one channel and one filter a group"),
    ],
)
def test_what_does_not_serve_is_refused(algorithm: str, message: str) -> None:
    with pytest.raises(Diagnostic, match=message):
        algorithm_of(Request(PROBLEM, GPU_MACHINES["gfx942"], "gfx942", algorithm=algorithm))
