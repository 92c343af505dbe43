"""What is said where matrix instructions compute much that nobody asked for."""

from __future__ import annotations

import pytest

import imbrex
from imbrex.chip import GPU_MACHINES
from imbrex.cli.useful import LITTLE, useful_rows
from imbrex.config.context import GemmContext
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.dtype import F16

DEPTHWISE = "conv -n 2 -c 8 -H 6 -W 6 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 -g 8"


@pytest.mark.parametrize(
    ("target", "line", "found"),
    [
        ("gfx942", DEPTHWISE, True),
        ("gfx942", "gemm -t f16 -m 64 -n 64 -k 64", False),
        ("avx2", DEPTHWISE, False),
    ],
)
def test_little_of_the_matrix_work_is_useful(target: str, line: str, found: bool) -> None:
    kernel = imbrex.compile(line, target)
    rows = useful_rows(kernel)
    assert bool(rows) is found
    for word, text in rows:
        assert word == "warning" and "of the matrix work is useful: tiles of" in text
        assert float(text.split("%")[0]) < 100 * LITTLE


def test_the_share_is_that_of_the_tiles() -> None:
    tuning = XdlopsTuning(64, 32, 4, 32, 32, 8)
    plan = tuning.plan(GemmContext(32, 33, 40, F16), GPU_MACHINES["gfx942"])
    assert plan.useful == 32 * 33 * 40 / (64 * 64 * 64)
