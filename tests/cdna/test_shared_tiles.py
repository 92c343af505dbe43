"""Code objects of workgroups that share output tiles, executed one workgroup after the other in the order in
which hardware starts them: nobody may wait for one that comes later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem

Gpu = Callable[[str], Any]

WEIGHTS = Conv2d("backward_weight", 2, 8, 7, 6, 16, 3, 3, pad_h=1, pad_w=1, dtype="f16")
WAVES = "v1:xdlops:32,32,4,16,16,4"
CASES: list[tuple[Problem, str]] = [
    (Gemm(37, 41, 60), "v1:general:64,32,32,4,2,2"),
    (Gemm(40, 70, 100, dtype="f16", alpha=2.0, beta=3.0), WAVES),
    (WEIGHTS, WAVES),
]


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(("problem", "tuning"), CASES, ids=["gemm", "gemm of waves", "weights"])
def test_equals_the_reference(problem: Problem, tuning: str, chip: str, gpu: Gpu) -> None:
    gpu(chip)
    kernel = compile(problem, chip, tuning, schedule="stream_k:5")
    for seed in (1, 2):
        outcome = kernel.check(seed)
        assert outcome.is_right and outcome.is_exact, str(outcome)
