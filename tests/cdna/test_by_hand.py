"""The kernels written by hand that the report compares with: right in every element, free of races."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imbrex.build.amd.code_object import compile_code_object
from imbrex.cdna.code_object import load_code_object
from imbrex.cdna.execute import Launch, Memory, execute

HAND = Path(__file__).resolve().parents[2] / "benchmarks" / "amd"
FORMS = {"f32": (np.float32, np.float32, 1), "f16": (np.float16, np.float32, 4), "i8": (np.int8, np.int32, 8)}
"""Operand type, accumulator, neighbours along k of one lane in one matrix instruction."""


@pytest.mark.parametrize("dtype", FORMS)
def test_whole_numbers_come_out_exactly(dtype: str, tmp_path: Path) -> None:
    """1 x 2 tiles of 128 x 128, three steps of 64 bytes of K."""
    element, sum_type, k_base = FORMS[dtype]
    k = 3 * 64 // np.dtype(element).itemsize
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(element) for rows in (128, 2 * 128))
    c = np.full((1, 2, 8, 8, 4, 16, 4), 77, sum_type)
    code = load_code_object(_built(dtype, tmp_path).read_bytes())
    arrays = [_tiled(a, k_base), _tiled(b, k_base), c]
    pointers = [array.ctypes.data.to_bytes(8, "little") for array in arrays]
    owned = [Memory(array.ctypes.data, array.nbytes) for array in arrays]
    execute(code, f"hand_{dtype}", Launch((1, 2), (256,)), [*pointers, (3).to_bytes(4, "little")], owned)
    found = c.transpose(0, 2, 4, 6, 1, 3, 5).reshape(128, 2 * 128)
    assert np.array_equal(found, a.astype(sum_type) @ b.astype(sum_type).T)


def _built(dtype: str, directory: Path) -> Path:
    sources = {path.name: path.read_text(encoding="utf-8") for path in HAND.glob("hand_*")}
    return compile_code_object(sources, f"hand_{dtype}.hip.cpp", "gfx942", directory)


def _tiled(matrix: np.ndarray[Any, Any], k_base: int) -> np.ndarray[Any, Any]:
    """[row, k] as [row / 128][step][fragment][k group][row][instruction][k]: 16 bytes of a lane last."""
    repeats = 16 // matrix.itemsize // k_base
    parts = matrix.reshape(len(matrix) // 128, 8, 16, -1, repeats, 4, k_base)
    return np.ascontiguousarray(parts.transpose(0, 3, 1, 5, 2, 4, 6))
