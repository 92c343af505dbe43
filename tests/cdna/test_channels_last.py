"""Convolutions that copy what they read to channels last, executed: the copies, then the product of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.pairs import in_turn, one_in

from imbrex.kernel import compile
from imbrex.problem import Conv2d

Gpu = Callable[[str], Any]

CONV = Conv2d("forward", 2, 18, 9, 8, 26, 3, 2, stride=(2, 1), dilation=(1, 2), pad_h=(1, 0), pad_w=(0, 2))
SHAPES = {
    "strided": CONV,
    "grouped": replace(CONV, groups=2),
    "whole packs": Conv2d("forward", 2, 32, 8, 8, 32, 3, 3, pad_h=1, pad_w=1),
    "few channels": Conv2d("forward", 1, 3, 7, 5, 5, 3, 3),
}
KINDS = [
    ("f16", "forward", "gfx90a"),
    ("f16", "backward_data", "gfx942"),
    ("f16", "backward_weight", "gfx950"),
    ("bf16", "backward_weight", "gfx942"),
    ("bf16", "backward_data", "gfx950"),
    ("i8", "forward", "gfx942"),
    ("i8", "forward", "gfx950"),
]


@pytest.mark.parametrize(("shape", "kind"), one_in(2, in_turn(list(SHAPES), KINDS)), ids=str)
def test_packed(shape: str, kind: tuple[str, str, str], gpu: Gpu) -> None:
    dtype, direction, chip = kind
    hip = gpu(chip)
    problem = replace(SHAPES[shape], dtype=dtype, direction=direction)
    kernel = compile(problem, chip, algorithm="channels_last")
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
    assert kernel.launches >= 2
    assert len(hip.launched) == kernel.launches * len(outcome.passes) and not hip.memory


def test_it_is_what_compile_chooses(gpu: Gpu) -> None:
    hip = gpu("gfx942")
    kernel = compile(replace(SHAPES["whole packs"], dtype="f16"), "gfx942")
    outcome = kernel.check(2)
    assert kernel.algorithm == "channels_last" and outcome.is_right
    assert len(hip.launched) == 2 * len(outcome.passes) and not hip.memory
