"""Rows of a transposed B come turned to panels on a CPU, the last few of them, too."""

from __future__ import annotations

import pytest
from tests.host_tuning import for_host

import imbrex


@pytest.mark.parametrize(("last", "k"), [(1, 80), (7, 93), (12, 64), (15, 80)])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_a_last_group_of_few_rows(last: int, k: int, dtype: str) -> None:
    """Fewer rows than lanes, whole vectors of k and a last one that is cut; widened on their way or not."""
    tuning = for_host(f"v1:cpu:6,32,24,32,{-(-k // 16) * 16},16,k_blocked,b,straight")
    kernel = imbrex.compile(
        f"gemm -t {dtype} -m 23 -n {32 + last} -k {k} -transB 1", tuning=tuning, threads=1
    )
    assert kernel.check().is_right
