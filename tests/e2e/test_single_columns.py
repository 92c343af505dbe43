"""A matrix and few vectors on a CPU: single columns are summed along K, and lie in C's tile as in C."""

from __future__ import annotations

import pytest
from tests.e2e.test_cpu_units import expect
from tests.host_tuning import for_host

import imbrex

CASES = {
    "one column": ("gemm -m 1 -n 70 -k 130 -transB 1 -g 2", "6,16,72,16,144,16"),
    "five columns of a row of C": ("gemm -m 21 -n 70 -k 130 -transB 1", "6,16,72,32,144,16"),
    "two steps of K": ("gemm -m 5 -n 70 -k 130 -transB 1 -beta 0.5", "6,16,72,16,80,16"),
    "more rows than a vector has": ("gemm -m 3 -n 33 -k 300 -transB 1", "11,16,33,16,304,16"),
    "through an epilogue": ("gemm -m 5 -n 70 -k 130 -transB 1 --epilogue relu(x+bias)", "6,16,72,16,144,16"),
    "narrowed, in two steps": ("gemm -t bf16 -m 5 -n 70 -k 401 -transB 1", "6,16,72,16,224,16"),
}


@pytest.mark.parametrize("case", CASES)
def test_single_columns_of_a_turned_c(case: str) -> None:
    line, form = CASES[case]
    last = ""
    if "bf16" in line:
        expect("vdpbf16ps")
        last = ",vdpbf16ps"
    tuning = for_host(f"v1:cpu:{form},k_blocked,b,swapped{last}")
    kernel = imbrex.compile(line, tuning=tuning, threads=2)
    assert "c_rows" in kernel.bundle.files["gemm.hpp"]
    assert kernel.check().is_right
