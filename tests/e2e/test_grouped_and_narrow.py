"""Convolutions whose groups are merged, depthwise ones by vectors of channels, and those of few channels with
rows of windows as stretches, on the lane-level build: directions, layouts, pads, strides; and where they are
refused.
"""

from __future__ import annotations

import pytest
from tests.e2e.many import Case, wrong

from imbrex import Conv2d, Diagnostic
from imbrex.pipeline import Request, algorithm_of
from imbrex.schedule.target import GPU_TARGETS

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


@pytest.mark.parametrize("layout", ["", NHWC])
@pytest.mark.parametrize("direction", [1, 2, 4])
def test_merged_groups(direction: int, layout: str) -> None:
    cases = [
        Case.of(f"convfp16 {shape} -F {direction}{layout}", None, "gfx942", algorithm)
        for algorithm, shape in GROUPED.items()
    ]
    assert wrong(cases, seed=direction) == []


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
)


@pytest.mark.parametrize("layout", ["", NHWC])
@pytest.mark.parametrize("direction", [1, 2])
def test_depthwise_by_vectors_of_channels(direction: int, layout: str) -> None:
    cases = [
        Case.of(f"conv{kind} {shape} -F {direction}{layout}", None, "gfx942", "channel_vectors")
        for shape, kind in zip(DEPTHWISE, ("fp16", "bfp16", ""), strict=True)
    ]
    assert wrong(cases, seed=direction) == []


@pytest.mark.parametrize("layout", ["", NHWC])
@pytest.mark.parametrize("direction", [1, 4])
def test_rows_of_windows(direction: int, layout: str) -> None:
    cases = [
        Case.of(f"convfp16 {shape} -F {direction}{layout}", None, "gfx942", "window_rows") for shape in NARROW
    ]
    assert wrong(cases, seed=direction) == []


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("merged_groups:3", "how many of the 4 groups are computed as one"),
        ("merged_groups:x", "how many of the 4 groups are computed as one"),
        ("window_rows", "only forward and backward weight"),
        ("channel_vectors", "one channel and one filter a group"),
    ],
)
def test_what_does_not_serve_is_refused(algorithm: str, message: str) -> None:
    with pytest.raises(Diagnostic, match=message):
        algorithm_of(Request(PROBLEM, GPU_TARGETS["gfx942"], "gfx942", algorithm=algorithm))
