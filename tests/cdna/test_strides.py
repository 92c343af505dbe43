"""Matrices with gaps in code objects: what lies in them is not read, and still there afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.pairs import in_turn

from imbrex.kernel import compile
from imbrex.problem import Gemm

Gpu = Callable[[str], Any]

CHIPS = ("gfx90a", "gfx942", "gfx950")
FORMS = {
    "odd": Gemm(37, 41, 29, transpose_a=True, lda=39, ldb=43, ldc=47),
    "aligned": Gemm(64, 48, 40, lda=64, ldb=56, ldc=64),
    "many, in turn": Gemm(33, 17, 31, transpose_b=True, batch=2, lda=64, stride_a=32, ldc=51, stride_c=17),
    "many, the same one": Gemm(33, 17, 31, batch=3, stride_a=0, ldb=17, stride_b=600, ldc=24, stride_c=800),
    "read and written": Gemm(40, 24, 32, lda=33, ldc=29, alpha=2.0, beta=3.0),
}
TYPES = ("f32", "f16", "i8")
FAMILIES = {"general": "v1:general:64,32,32,4,2,2", "chosen": None}


@pytest.fixture
def whole_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes back from the GPU are the gaps, too, so that a check sees what was written there."""
    from imbrex.run import gpu
    from imbrex.run.arrays import in_memory

    def put_back(memory: Any, array: Any, parameter: Any) -> None:
        assert parameter.strides is not None
        np.copyto(in_memory(array), memory)

    monkeypatch.setattr(gpu, "put_back", put_back)


@pytest.mark.usefixtures("whole_memory")
@pytest.mark.parametrize(
    ("form", "dtype", "chip", "family"), in_turn(list(FORMS), TYPES, CHIPS, list(FAMILIES))
)
def test_gaps(form: str, dtype: str, chip: str, family: str, gpu: Gpu) -> None:
    hip = gpu(chip)
    outcome = compile(replace(FORMS[form], dtype=dtype), chip, FAMILIES[family]).check(1)
    assert outcome.is_right and outcome.is_exact, str(outcome)
    assert not hip.memory


@pytest.mark.usefixtures("whole_memory")
def test_data_tiled(gpu: Gpu) -> None:
    gpu("gfx942")
    problem = replace(FORMS["odd"], dtype="f16")
    assert compile(problem, "gfx942", algorithm="data_tiled").check(1).is_right
