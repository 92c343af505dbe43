"""Every family of kernels on a GPU against float64: see `gpu_cases` for what, `gpu_check` for how."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gpu_case import Case
from gpu_cases import all_cases

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_a_kernel(case: Case, on_gpu: Callable[[Case], None]) -> None:
    on_gpu(case)
