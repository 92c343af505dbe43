"""docs/semantics.md, on a Hopper GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.semantics import expect_casts, expect_numbers, expect_sums_to_wrap, expect_unread

from imbrex.diagnostic import Diagnostic
from imbrex.run.cuda.driver import require_gpu

pytestmark = pytest.mark.gpu

CHIP = "sm_90a"


@pytest.fixture(scope="module", autouse=True)
def gpu() -> Iterator[Any]:
    try:
        yield require_gpu(CHIP)
    except Diagnostic as missing:
        pytest.skip(missing.message)


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_numbers(dtype: str) -> None:
    expect_numbers(dtype, CHIP)


@pytest.mark.parametrize(("result", "dtype"), [("i32", "f32"), ("i8", "f16"), ("i32", "f16")])
def test_casts(result: str, dtype: str) -> None:
    expect_casts(result, CHIP, dtype)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_what_a_factor_of_0_multiplies_is_not_read(dtype: str) -> None:
    expect_unread(dtype, CHIP)


def test_sums_of_integers_wrap() -> None:
    expect_sums_to_wrap(CHIP)
