"""Last vectors of which half is enough, on a CPU: the other half of their lanes is not multiplied."""

from __future__ import annotations

from itertools import product

import pytest
from tests.e2e.test_cpu_units import expect
from tests.host_tuning import for_host
from tests.pairs import one_in

import imbrex

FORMS = {
    "a panel that is all of B": "13,32,39,32,96,16,k_blocked,b,straight",
    "the last of whole panels": "9,48,36,96,96,16,k_blocked,b,straight",
    "a panel of fewer vectors": "6,64,36,128,96,16,k_blocked,b,straight",
    "one vector": "20,16,40,96,96,16,k_blocked,b,straight",
    "A stays": "13,32,39,64,96,16,k_blocked,a,straight",
    "steps of K": "9,48,36,48,48,16,k_blocked,b,straight",
    "A cut from columns": "14,32,42,64,96,16,k_major,a,straight",
    "C turned": "9,48,36,96,96,16,k_blocked,b,swapped",
}
TYPES = {"f32": "", "f64": "", "bf16": "vdpbf16ps", "i8": "vpdpbusd"}
ODD = {"f32": (5, 24, 83), "f64": (3, 20, 41), "bf16": (1, 56, 87), "i8": (7, 72, 88)}
"""Columns: of one vector, of whole panels and of others, with some of half a vector left."""


@pytest.mark.parametrize(("dtype", "form"), one_in(2, list(product(TYPES, FORMS))))
def test_products_that_end_in_half_a_vector(dtype: str, form: str) -> None:
    unit, turned = TYPES[dtype], "k_major" in FORMS[form]
    if unit:
        expect(unit)
    lanes = 8 if dtype == "f64" else 16
    rows, columns, *rest = FORMS[form].split(",")
    if dtype == "f64":  # as many vectors, of half as many lanes
        columns, rest[1], rest[3] = (str(int(n) // 2) for n in (columns, rest[1], rest[3]))
    tuning = for_host(f"v1:cpu:{','.join((rows, columns, *rest))}" + (f",{unit}" if unit else ""))
    n = ODD[dtype][list(FORMS).index(form) % 3]
    assert 0 < n % lanes <= lanes // 2
    line = f"gemm -t {dtype} -k 77 -transA {int(turned)} -transB {int('steps' in form)}"
    line += f" -m {n} -n 37" if "swapped" in tuning else f" -m 37 -n {n}"
    assert imbrex.compile(line, tuning=tuning, threads=1).check().is_right


@pytest.mark.parametrize(
    "line",
    [
        "conv -n 1 -c 20 -H 7 -W 7 -k 33 -y 3 -x 3 -p 1 -q 1 -F 1",
        "conv -n 2 -c 16 -H 9 -W 9 -k 20 -y 3 -x 3 -p 4 -q 4 -l 4 -j 4 -F 1",
        "conv -n 1 -c 20 -H 9 -W 7 -k 24 -y 3 -x 3 -p 1 -q 1 -F 2 -f NHWC -I NHWC -O NHWC",
        "conv -n 1 -c 18 -H 14 -W 14 -k 40 -y 1 -x 1 -F 4",
        "gemm -m 5 -n 21 -k 30 -g 7 --epilogue relu(x+bias)",
        "gemm -t f16 -m 30 -n 21 -k 31 -alpha 0.5 -beta 2",
    ],
)
def test_others(line: str) -> None:
    assert imbrex.compile(line, threads=1).check().is_right
