"""Packed panels of A that are kept for all panels of B, whatever their heights, types and last columns."""

from __future__ import annotations

import pytest
from tests.host_tuning import for_host

from imbrex import compile

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
