"""Panels that are met again: packed ones of A, kept for all panels of B, and those of B that are copied while
the first of many panels of A meets them, whatever their heights, types and last columns.
"""

from __future__ import annotations

import pytest
from tests.host_tuning import for_host

from imbrex import compile

CUT = "-n 1 -c 50 -H 6 -W 40 -k 16 -y 3 -x 3 -p 1 -q 1 -F 2"
"""A whose first rows see padding where others see B."""
IMAGE = "-n 2 -c 21 -H 9 -W 11 -k 19 -y 3 -x 3 -p 1 -q 1 -F 2"


@pytest.mark.parametrize(
    ("line", "tuning"),
    [
        (f"conv {IMAGE}", for_host("v1:cpu:8,48,24,96,176,16,k_blocked,b,straight")),
        (f"conv {IMAGE}", for_host("v1:cpu:6,32,24,256,96,16,k_blocked,b,straight")),
        (f"convbfp16 {IMAGE}", for_host("v1:cpu:6,32,24,256,176,16,k_blocked,b,straight")),
        (f"conv {IMAGE} -u 2 -v 2", for_host("v1:cpu:5,32,25,64,96,16,k_blocked,b,straight")),
        ("gemm -m 23 -n 131 -k 1024", for_host("v1:cpu:12,32,24,160,1024,16,k_blocked,b,straight")),
        (
            "gemm -m 23 -n 131 -k 77 -t f16 -transB 1",
            for_host("v1:cpu:6,32,24,160,80,16,k_blocked,b,straight"),
        ),
        (
            "gemm -m 23 -n 131 -k 77 -t f64 -transA 1",
            for_host("v1:cpu:6,16,24,144,80,8,k_blocked,b,straight"),
        ),
    ],
)
def test_panels_of_a_are_packed_once(line: str, tuning: str) -> None:
    for threads in (1, 2):
        assert compile(line, tuning=tuning, threads=threads).check(threads=threads).is_right


@pytest.mark.parametrize("rows", [2, 7, 12, 13])
def test_the_next_panel_is_fetched_behind_the_last_of_a(rows: int) -> None:
    """B where it lies, met by one panel of A to three: every one reads the same."""
    tuning = for_host("v1:cpu:6,32,18,320,112,16,k_blocked,b,straight")
    assert compile(f"gemm -m {rows} -n 300 -k 100", tuning=tuning, threads=1).check(threads=1).is_right


@pytest.mark.parametrize(
    ("line", "tile"),
    [
        (
            "gemm -m 37 -n 300 -k 75",
            "8,48,40,336,80,16,k_blocked,b,straight",
        ),  # two heights, the last panel cut
        ("gemm -m 25 -n 256 -k 205", "6,64,30,256,80,16,k_blocked,b,straight"),  # rows that crowd, steps
        ("gemm -m 54 -n 100 -k 33 -alpha 0.5 -beta 2", "14,32,56,128,48,16,k_blocked,b,straight"),
        ("gemm -m 23 -n 61 -k 40 -t f64 -transA 1", "5,24,25,72,40,8,k_major,b,straight"),
        ("gemm -m 40 -n 90 -k 1 -g 3", "8,48,40,96,16,16,k_blocked,b,straight"),
        (f"conv {CUT} -f NHWC -I NHWC -O NHWC", "8,48,240,96,144,16,k_blocked,b,swapped"),
        ("conv -n 3 -c 5 -H 9 -W 11 -k 38 -y 1 -x 1 -F 1", "8,48,40,336,16,16,k_blocked,b,straight"),
        ("conv -n 2 -c 6 -H 20 -W 70 -k 33 -y 3 -x 3 -F 1", "6,32,36,2464,64,16,k_blocked,b,straight"),
        (
            "conv -n 1 -c 6 -H 21 -W 70 -k 33 -y 3 -x 3 -p 1 -q 2 -F 1",
            "6,32,36,1536,64,16,k_blocked,b,straight",
        ),
        (
            "conv -n 2 -c 41 -H 12 -W 67 -k 7 -y 3 -x 3 -p 1 -q 1 -F 2",
            "9,48,45,1632,64,16,k_blocked,b,straight",
        ),
        (
            "conv -n 1 -c 9 -H 13 -W 66 -k 40 -y 3 -x 3 -p 2 -l 2 -j 2 -F 1",
            "8,48,40,864,96,16,k_blocked,b,straight",
        ),
    ],
)
def test_panels_of_b_are_copied_as_they_are_met(line: str, tile: str) -> None:
    for threads in (1, 2):
        kernel = compile(line, tuning=for_host(f"v1:cpu:{tile}"), threads=threads)
        assert kernel.check(threads=threads).is_right
