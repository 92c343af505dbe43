"""Runs of neighbours along k that are no whole vectors, read where they lie, to the edges of an image."""

from __future__ import annotations

import pytest
from tests.host_tuning import for_host

from imbrex import compile
from imbrex.config.context import round_up

STEM, PADDED = "-H 15 -W 17 -y 7 -x 7 -u 2 -v 2", "-H 7 -W 5 -y 3 -x 3 -p 1 -q 1"


@pytest.mark.parametrize(
    "layer, rows, k",
    [
        (f"-n 2 -c 3 -k 16 {STEM}", 6, 147),
        (f"-n 1 -c 40 -k 33 {PADDED}", 5, 360),
        (f"-n 1 -c 3 -k 40 {STEM}", 7, 147),
    ],
)
def test_runs_of_odd_length(layer: str, rows: int, k: int) -> None:
    """Of 21 and of 40: filters that fill no vector are not summed along k here."""
    tuning = for_host(f"v1:cpu:{rows},16,{4 * rows},64,{round_up(k, 16)},16,k_blocked,b,swapped")
    line = f"conv {layer} -F 1 -I NHWC -O NHWC -f NHWC"
    assert compile(line, tuning=tuning, threads=1).check(threads=1).is_right
