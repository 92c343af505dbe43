"""Runs of neighbours along k that are no whole vectors, read where they lie, to the edges of an image."""

from __future__ import annotations

import pytest

from imbrex import compile
from imbrex.chip import CPU_ISAS
from imbrex.run.host_machine import host_machine

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
    lanes = CPU_ISAS[host_machine().isa.level].lanes(4)
    tuning = (
        f"v1:cpu:{rows},{lanes},{4 * rows},{4 * lanes},{-(-k // lanes) * lanes},{lanes},k_blocked,b,swapped"
    )
    line = f"conv {layer} -F 1 -I NHWC -O NHWC -f NHWC"
    assert compile(line, tuning=tuning, threads=1).check(threads=1).is_right
