"""docs/semantics.md, in code objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.semantics import expect_casts, expect_numbers, expect_unread

Gpu = Callable[[str], Any]


@pytest.mark.parametrize(
    ("dtype", "chip", "flushes"),
    [
        ("f32", "gfx90a", False),
        ("f16", "gfx90a", True),
        ("bf16", "gfx90a", True),
        ("f16", "gfx942", False),
    ],
)
def test_numbers(dtype: str, chip: str, flushes: bool, gpu: Gpu) -> None:
    gpu(chip)
    expect_numbers(dtype, chip, flushes=flushes)


@pytest.mark.parametrize(("result", "dtype"), [("i32", "f32"), ("i8", "f16")])
def test_casts(result: str, dtype: str, gpu: Gpu) -> None:
    gpu("gfx942")
    expect_casts(result, "gfx942", dtype)


def test_what_a_factor_of_0_multiplies_is_not_read(gpu: Gpu) -> None:
    gpu("gfx942")
    expect_unread("f16", "gfx942")
