"""Every direction over awkward sizes, and products of every type, compiled as users' kernels are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.test_problems import OPTIMISED, OPTIMISED_GEMMS, check, conv
from tests.pairs import one_in

from imbrex.problem import Gemm


@pytest.fixture(scope="module", autouse=True)
def effort() -> None:
    """What users' kernels get: an optimiser could take what is undefined for what is impossible."""


@pytest.mark.parametrize(("shape", "direction"), one_in(2, OPTIMISED))
def test_shapes(shape: str, direction: int, build: Any) -> None:
    check(build(conv(shape, direction)))


@pytest.mark.parametrize("gemm", OPTIMISED_GEMMS, ids=lambda g: g.key())
def test_gemm(gemm: Gemm, build: Any) -> None:
    check(build(gemm))
