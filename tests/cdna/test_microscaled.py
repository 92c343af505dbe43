"""Microscaled products of gfx950, lane by lane and instruction by instruction, by each schedule.

Scales are drawn for each run of 32 neighbours, so that one that belongs to another run, row or step is seen.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.pairs import one_in

import imbrex
from imbrex.dtype import DTYPES, MXF4E2M1FN, MXF6E2M3FN, MXF6E3M2FN, MXF8E4M3FN, MXF8E5M2, DType, packed
from imbrex.kernel import Emulate
from imbrex.problem import Gemm

WIDE = "mfma_f32_32x32x64_{0}_{0},xor,{1}"
TALL = "mfma_f32_16x16x128_{0}_{0},{1}"


def nt(m: int, n: int, k: int, dtype: DType = MXF8E4M3FN, **given: Any) -> Gemm:
    return Gemm(m, n, k, transpose_b=True, dtype=dtype, **given)


def across(m: int, n: int, k: int, letters: str, dtype: DType, **given: Any) -> Gemm:
    """Packs along m of a, or along n of b, or both, by the letters of BLAS: t is transposed."""
    return Gemm(m, n, k, transpose_a=letters[0] == "t", transpose_b=letters[1] == "t", dtype=dtype, **given)


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
    "4 bits, chosen": (nt(37, 53, 96, MXF4E2M1FN), None, None, "isa"),
    "4 bits, ahead, in parts": (
        nt(100, 72, 2080, MXF4E2M1FN), WIDE.format("fp4", "ahead,swapped"), "stream_k:7", "isa",
    ),
    "4 bits, staged, rows with gaps": (
        nt(37, 53, 672, MXF4E2M1FN, batch=2, lda=704, beta=3.0), TALL.format("fp4", "padded,staged"),
        None, "isa",
    ),
    "4 bits, direct": (nt(100, 72, 1056, MXF4E2M1FN), TALL.format("fp4", "xor,direct"), "split_k:5", True),
    "6 bits, chosen": (nt(37, 53, 160, MXF6E2M3FN), None, None, "isa"),
    "6 bits, ahead": (nt(100, 72, 1056, MXF6E3M2FN), WIDE.format("bf6", "ahead,swapped"), None, "isa"),
    "6 bits, direct": (nt(100, 72, 672, MXF6E2M3FN), TALL.format("fp6", "xor,direct"), "stream_k:7", True),
    "6 bits, staged, rows with gaps": (
        nt(37, 53, 96, MXF6E3M2FN, batch=2, ldb=128), TALL.format("bf6", "padded,staged"), None, "isa",
    ),
    "4 bits, nn, chosen": (across(37, 64, 160, "nn", MXF4E2M1FN), None, None, "isa"),
    "4 bits, tn, ahead, in parts": (
        across(96, 160, 2080, "tn", MXF4E2M1FN, batch=2, ldb=192), WIDE.format("fp4", "ahead,swapped"),
        "stream_k:7", "isa",
    ),
    "4 bits, tt, ahead, three buffers, lane by lane": (
        across(96, 53, 800, "tt", MXF4E2M1FN), WIDE.format("fp4", "ahead,straight,1,3"), None, True,
    ),
    "4 bits, nn, direct, plain": (
        across(100, 96, 672, "nn", MXF4E2M1FN), TALL.format("fp4", "plain,direct"), "split_k:5", "isa",
    ),
    "6 bits, tn, ahead": (across(96, 160, 1056, "tn", MXF6E3M2FN), WIDE.format("bf6", "ahead"), None, "isa"),
    "6 bits, nn, direct, rows with gaps": (
        across(37, 96, 672, "nn", MXF6E2M3FN, batch=2, ldb=160, beta=3.0),
        TALL.format("fp6", "xor,direct,swapped"),
        None, True,
    ),
    "6 bits, tt, ahead, in parts": (
        across(64, 72, 2080, "tt", MXF6E2M3FN), WIDE.format("fp6", "ahead,swapped"), "stream_k:7", "isa",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(2, list(CASES)))
def test_equals_the_reference(name: str) -> None:
    problem, tuning, schedule, emulate = CASES[name]
    pack = 32 // problem.multiplied_type.pack
    given = f"v1:xdlops:64,64,4,32,32,{pack},{tuning}" if tuning else None
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


@pytest.mark.parametrize("name", [n for n, t in DTYPES.items() if t.is_microscaled and t.pack > 1])
def test_a_function_takes_single_elements_and_packed_bytes(name: str) -> None:
    random, dtype = np.random.default_rng(2), DTYPES[name]
    a, b = (random.integers(-4, 5, shape).astype(dtype.unpacked) for shape in ((20, 96), (96, 36)))
    powers = [random.integers(-3, 4, (rows, 3)) for rows in (20, 36)]
    scales: Any = tuple((p + 127).astype("u1") for p in powers)
    wide_a, wide_b = (
        x.astype(np.float64) * np.repeat(2.0**p, 32, axis=1) for x, p in zip((a, b.T), powers, strict=True)
    )
    where: dict[str, Any] = {"target": "gfx950", "emulate": True, "block_scales": scales}
    assert np.array_equal(imbrex.gemm(a, b, **where), wide_a @ wide_b.T)
    bytes_a, bytes_b = (packed(x, dtype).view("u1") for x in (a, b.T))
    assert bytes_a.shape == (20, 96 * dtype.bits // 8)
    found = imbrex.gemm(bytes_a, bytes_b, transpose_b=True, compute=name, **where)
    assert np.array_equal(found, wide_a @ wide_b.T)
    across = packed(b[:, :32], dtype).view("u1")
    for_32 = {**where, "block_scales": (scales[0], scales[1][:32])}
    turned = imbrex.gemm(bytes_a, across, compute=name, **for_32)
    assert np.array_equal(turned, (wide_a @ wide_b.T)[:, :32])
    more, for_48 = packed(np.resize(b, (96, 48)), dtype).view("u1"), np.resize(scales[1], (48, 3))
    with pytest.raises(ValueError, match=r"'b' has rows of \d+ bytes, no multiple of \d+, 32 elements"):
        imbrex.gemm(bytes_a, more, compute=name, **{**where, "block_scales": (scales[0], for_48)})
    with pytest.raises(ValueError, match="'a' has 90 elements along k, no multiple of 32"):
        imbrex.gemm(a[:, :90], b[:90], **where)


def test_what_packs_along_m_or_n_want_is_said() -> None:
    with pytest.raises(imbrex.Diagnostic, match=r"b of mxf4e2m1fn has packs along n.*, and n is 68") as said:
        Gemm(64, 68, 64, dtype="mxfp4")
    assert said.value.hint is not None and "transpose_b true" in said.value.hint
    for copy, why in (("xor,staged", "direct or ahead"), ("padded,direct", "rows of k, not padded")):
        given = f"v1:xdlops:64,64,4,32,32,2,{TALL.format('fp4', copy)}"
        with pytest.raises(imbrex.Diagnostic, match=why):
            imbrex.compile("gemm -t mxfp4 -m 64 -n 64 -k 128", "gfx950", emulate=True, tuning=given)
    with pytest.raises(
        imbrex.Diagnostic, match="lda must be a multiple of 32 elements of mxf6e2m3fn, got 80"
    ):
        nt(64, 64, 64, MXF6E2M3FN, lda=80)
    with pytest.raises(imbrex.Diagnostic, match="products of f4e2m1fn have scales of blocks"):
        nt(64, 64, 64, DTYPES["f4e2m1fn"])
