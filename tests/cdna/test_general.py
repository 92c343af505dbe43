"""Code objects of the general schedule, executed: every direction, type, chip, and awkward shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem

Gpu = Callable[[str], Any]

CHIPS = ("gfx90a", "gfx942", "gfx950")
TYPES = ("f32", "f16", "bf16", "f64", "i8")
CONV = Conv2d("forward", 2, 6, 9, 7, 10, 3, 2, stride=(2, 1), dilation=(1, 2), pad_h=(1, 0), pad_w=(0, 2))
PROBLEMS: dict[str, Problem] = {
    "gemm": Gemm(37, 41, 29, transpose_a=True),
    "gemm of many": Gemm(33, 17, 20, transpose_b=True, batch=2),
    "forward": CONV,
    "forward grouped": replace(CONV, groups=2),
    "backward data": replace(CONV, direction="backward_data"),
    "backward weight": replace(CONV, direction="backward_weight"),
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_equals_the_reference(name: str, dtype: str, chip: str, gpu: Gpu) -> None:
    hip = gpu(chip)
    kernel = compile(replace(PROBLEMS[name], dtype=dtype), chip, "v1:general:64,32,32,4,2,2")
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
    assert len(hip.launched) == kernel.launches and not hip.memory
