"""Microscaled products of gfx950, lane by lane and instruction by instruction, by each schedule.

Scales are drawn for each run of 32 neighbours, so that one that belongs to another run, row or step is seen.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import imbrex
from imbrex.dtype import MXF8E4M3FN, MXF8E5M2
from imbrex.kernel import Emulate
from imbrex.problem import Gemm

WIDE = "mfma_f32_32x32x64_{0}_{0},xor,{1}"
TALL = "mfma_f32_16x16x128_{0}_{0},{1}"


def nt(m: int, n: int, k: int) -> Gemm:
    return Gemm(m, n, k, transpose_b=True, dtype=MXF8E4M3FN)


CASES: dict[str, tuple[Gemm, str | None, str | None, Emulate]] = {
    "chosen": (nt(37, 53, 160), None, None, True),
    "nn, staged, a batch, beta": (
        Gemm(37, 53, 96, batch=2, alpha=2.0, beta=3.0, dtype=MXF8E5M2),
        TALL.format("bf8", "xor,staged"), None, "isa",
    ),
    "nt, ahead, sizes that no tile divides": (
        nt(100, 72, 672), WIDE.format("fp8", "ahead,swapped"), None, "isa",
    ),
    "nt, ahead, in parts": (
        nt(100, 72, 2080), WIDE.format("fp8", "ahead"), "stream_k:7", "isa",
    ),
    "nt, direct, in parts": (
        nt(100, 72, 1056), TALL.format("fp8", "xor,direct"), "split_k:5", True,
    ),
    "tn, ahead, turned": (
        Gemm(128, 96, 640, transpose_a=True, dtype=MXF8E5M2), WIDE.format("bf8", "ahead"), None, "isa",
    ),
    "tt, three buffers": (
        Gemm(64, 96, 800, transpose_a=True, transpose_b=True, dtype=MXF8E4M3FN),
        WIDE.format("fp8", "ahead,swapped,1,3"), None, True,
    ),
    "nt, one buffer, rows in turn": (
        Gemm(64, 96, 480, transpose_b=True, dtype=MXF8E4M3FN, epilogue="bf16(x)"),
        TALL.format("fp8", "padded,staged,swapped,2,1"), None, "isa",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference(name: str) -> None:
    problem, tuning, schedule, emulate = CASES[name]
    given = f"v1:xdlops:64,64,4,32,32,32,{tuning}" if tuning else None
    kernel = imbrex.compile(problem, "gfx950", emulate=emulate, tuning=given, schedule=schedule)
    assert (found := kernel.check()).is_right, str(found)


def test_a_function_takes_arrays_of_ml_dtypes() -> None:
    random = np.random.default_rng(1)
    a, b = (random.integers(-8, 9, (rows, 96)).astype(ml_dtypes.float8_e4m3fn) for rows in (20, 36))
    powers = [random.integers(-3, 4, (rows, 3)) for rows in (20, 36)]
    scales: tuple[Any, Any] = (
        (2.0 ** powers[0]).astype(ml_dtypes.float8_e8m0fnu),
        (powers[1] + 127).astype("u1"),
    )
    wide_a, wide_b = (
        x.astype(np.float64) * np.repeat(2.0**p, 32, axis=1) for x, p in zip((a, b), powers, strict=True)
    )
    where: dict[str, Any] = {"target": "gfx950", "emulate": True}
    got = imbrex.gemm(a, b, transpose_b=True, block_scales=scales, **where)
    assert got.dtype == np.float32 and np.array_equal(got, wide_a @ wide_b.T)
    with pytest.raises(ValueError, match=r"'block_scales\[1\]' should have shape \(36, 3\), got \(20, 3\)"):
        imbrex.gemm(a, b, transpose_b=True, block_scales=(scales[0], scales[0]), **where)
    with pytest.raises(TypeError, match="'block_scales' are of float8_e4m3fn, float8_e5m2"):
        imbrex.gemm(a.astype("f4"), b.astype("f4"), transpose_b=True, block_scales=scales, **where)
    with pytest.raises(
        imbrex.Diagnostic, match="gfx942 has no matrix instruction that multiplies mxf8e4m3fn"
    ):
        imbrex.gemm(a, b, transpose_b=True, block_scales=scales, target="gfx942", emulate=True)
