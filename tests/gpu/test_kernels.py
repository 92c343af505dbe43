"""Every family of kernels on a GPU against float64: see `gpu_cases` for what, `gpu_check` for how."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gpu_case import Case

pytestmark = pytest.mark.gpu


def test_a_kernel(case: Case, on_gpu: Callable[[Case], None]) -> None:
    on_gpu(case)
