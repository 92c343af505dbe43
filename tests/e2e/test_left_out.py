"""Taps that lie in the padding are left out where all of a panel's pixels lie there."""

from __future__ import annotations

import pytest
from tests.host_tuning import for_host

from imbrex import compile

LAST = " -I NHWC -O NHWC -f NHWC"
ODD = "-n 2 -c 32 -H 23 -W 29 -k 21 -y 3 -x 3 -p 9 -q 12 -l 9 -j 12"


@pytest.mark.parametrize(
    "line, tuning",
    [
        (f"conv {ODD} -F 1", for_host("v1:cpu:6,32,24,192,144,16,k_blocked,a,straight")),
        (f"conv {ODD} -F 2", for_host("v1:cpu:6,32,36,192,112,16,k_blocked,b,straight")),
        (
            f"convfp16 {ODD.replace('21', '24')} -u 2 -v 2 -g 4 -F 1",
            for_host("v1:cpu:6,32,6,64,80,16,k_blocked,a,straight"),
        ),
        (f"conv {ODD} -F 1{LAST}", for_host("v1:cpu:5,32,700,64,144,16,k_blocked,a,swapped")),
        (f"conv {ODD} -u 3 -v 2 -F 1{LAST}", for_host("v1:cpu:6,32,120,32,288,16,k_blocked,b,swapped")),
    ],
)
def test_dilated_windows_of_mostly_padding(line: str, tuning: str) -> None:
    assert compile(line, tuning=tuning, threads=1).check(threads=1).is_right
