"""Products of elements of A and of B of two types, lane by lane and instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tests.pairs import in_turn, one_in

import imbrex
from imbrex import Gemm
from imbrex.dtype import dtype, packed

WIDE = "v1:xdlops:128,128,4,64,64,{},auto,xor,ahead"
STAGED = "v1:xdlops:64,64,4,32,32,{},auto,xor,staged,swapped"
DIRECT = STAGED.replace("staged", "direct")
TURNED = "v1:xdlops:128,128,8,64,64,16,auto,xor,ahead,swapped"
CASES: dict[str, tuple[str, str, str | None, bool, bool]] = {
    "gfx942, nt": ("gfx942", "fp8_fnuz_bf8_fnuz", None, False, True),
    "gfx942, tn, staged": ("gfx942", "bf8_fnuz_fp8_fnuz", STAGED.format(16), True, False),
    "gfx950, nt, ahead": ("gfx950", "fp8_bf8", WIDE.format(16).replace("128,4", "128,8"), False, True),
    "gfx950, nn, transposed by reads": ("gfx950", "bf8_fp8", TURNED, False, False),
    "scales, nt, ahead": ("gfx950", "mxfp8_mxbf8", WIDE.format(32), False, True),
    "scales, tt": ("gfx950", "mxbf8_mxfp8", None, True, True),
    "scales, 6 bits": ("gfx950", "mxfp6_mxbf6", None, False, True),
    "scales, 6 bits, exchanged": ("gfx950", "mxbf6_mxfp6", STAGED.format(2), False, True),
    "8 by 4 bits": ("gfx950", "mxfp8_mxfp4", None, False, True),
    "4 by 8 bits, swapped, ahead": (
        "gfx950", "mxfp4_mxbf8", WIDE.format(16).replace("auto", "mfma_f32_32x32x64_bf8_fp4") + ",swapped",
        False, True,
    ),
    "8 by 6 bits, ahead": ("gfx950", "mxbf8_mxfp6", WIDE.format(2), False, True),
    "6 by 8 bits, staged": ("gfx950", "mxbf6_mxfp8", STAGED.format(2), False, True),
    "6 by 4 bits, direct": ("gfx950", "mxfp6_mxfp4", DIRECT.format(2), False, True),
    "4 by 6 bits": ("gfx950", "mxfp4_mxbf6", None, False, True),
}  # fmt: skip


@pytest.mark.parametrize(("name", "emulate"), one_in(2, in_turn(list(CASES), [True, "isa"])))
def test_equals_the_reference(name: str, emulate: Any) -> None:
    chip, kind, tuning, a_is_turned, b_is_turned = CASES[name]
    problem = Gemm(75, 96, 544, dtype=kind, transpose_a=a_is_turned, transpose_b=b_is_turned)
    assert [o.dtype for o in problem.operands[:2]] == list(problem.dtype.operands)
    kernel = imbrex.compile(problem, chip, tuning=tuning, emulate=emulate)
    assert (found := kernel.check()).is_right, str(found)


SCHEDULES: dict[str, dict[str, Any]] = {
    "mxfp8_mxfp4": {"tuning": WIDE.format(16) + ",swapped,1,3", "schedule": "stream_k:7"},
    "mxfp4_mxfp8": {"tuning": STAGED.format(16).replace("xor,staged", "padded,staged") + ",2,1"},
    "mxfp6_mxbf8": {"tuning": DIRECT.format(2), "schedule": "split_k:5"},
    "mxbf6_mxfp4": {"tuning": WIDE.format(2), "schedule": "reduce_k:60"},
}
"""Of products of elements of different bits, each by instruction: loops, layouts and schedules in turn."""


@pytest.mark.parametrize("kind", SCHEDULES)
def test_elements_of_different_bits_by_every_schedule(kind: str) -> None:
    """In batches whose rows have gaps, with an epilogue, of sizes that no tile divides."""
    problem = Gemm(
        100, 72, 1056, batch=2, dtype=kind, transpose_b=True, lda=1088, ldb=1120, alpha=2.0,
        epilogue="bf16(relu(x + bias))",
    )  # fmt: skip
    found = imbrex.compile(problem, "gfx950", emulate="isa", **SCHEDULES[kind]).check()
    assert found.is_right, str(found)


def arrays_of(kinds: Sequence[Any]) -> tuple[list[npt.NDArray[Any]], Any]:
    """Whole numbers of 20 and 36 rows of 96, and scales of 1/2 and 4."""
    random = np.random.default_rng(3)
    arrays = [
        random.integers(-4, 5, (rows, 96)).astype(kind) for rows, kind in zip((20, 36), kinds, strict=True)
    ]
    scales = [
        np.full((len(array), 3), code, np.uint8) for array, code in zip(arrays, (126, 129), strict=True)
    ]
    return arrays, tuple(scales)


@pytest.mark.parametrize(
    "kinds",
    [
        (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
        (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn),
        (ml_dtypes.float6_e3m2fn, ml_dtypes.float6_e2m3fn),
    ],
    ids=["8 bits", "8 bits, exchanged", "6 bits"],
)
def test_a_function_takes_arrays_of_two_types(kinds: tuple[Any, Any]) -> None:
    arrays, scales = arrays_of(kinds)
    want = arrays[0].astype(np.float64) @ arrays[1].astype(np.float64).T
    where: dict[str, Any] = {"target": "gfx950", "emulate": True, "transpose_b": True}
    assert np.array_equal(imbrex.gemm(*arrays, block_scales=scales, **where), 2 * want)
    if arrays[0].dtype.name.startswith("float8"):
        assert np.array_equal(imbrex.gemm(*arrays, **where), want)
        with pytest.raises(TypeError, match="'compute' is f8"):
            imbrex.gemm(*arrays, compute=arrays[1].dtype, **where)


@pytest.mark.parametrize(
    "kinds",
    [
        (ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn),
        (ml_dtypes.float6_e2m3fn, ml_dtypes.float8_e5m2),
    ],
    ids=["8 by 4 bits", "6 by 8 bits"],
)
def test_a_function_takes_arrays_of_different_bits(kinds: tuple[Any, Any]) -> None:
    """Single elements whatever is transposed, and bytes of packs beside elements of 8 bits."""
    arrays, scales = arrays_of(kinds)
    want = 2 * (arrays[0].astype(np.float64) @ arrays[1].astype(np.float64).T)
    where: dict[str, Any] = {"target": "gfx950", "emulate": True}
    turned = [np.ascontiguousarray(array.T) for array in arrays]
    assert np.array_equal(
        imbrex.gemm(turned[0], turned[1], transpose_a=True, block_scales=scales, **where), want
    )
    types = dtype(arrays[0].dtype), dtype(arrays[1].dtype)
    held = [packed(x, of).view("u1") if of.pack > 1 else x for x, of in zip(arrays, types, strict=True)]
    named = where | {"transpose_b": True, "compute": "_".join(f"mx{of}" for of in types)}
    assert np.array_equal(imbrex.gemm(*held, block_scales=scales, **named), want)
    with pytest.raises(TypeError, match="have scales of blocks; give 'block_scales'"):
        imbrex.gemm(*arrays, transpose_b=True, **where)
    wrong = [x.astype("f4") if of.pack == 1 else x for x, of in zip(arrays, types, strict=True)]
    wrong = [x if x.dtype == "f4" else y for x, y in zip(wrong, held, strict=True)]
    with pytest.raises(TypeError, match=r"'[ab]' should have dtype float8_e\w+, got float32"):
        imbrex.gemm(*wrong, block_scales=scales, **named)


@pytest.mark.parametrize("target", ["cpu", "sm_90a", "gfx942"])
def test_who_has_no_instruction_refuses(target: str) -> None:
    said = "no matrix instruction that multiplies f8e4m3fn_f8e5m2"
    with pytest.raises(imbrex.Diagnostic, match=said) as error:
        imbrex.compile("gemm -t fp8_bf8 -m 64 -n 64 -k 64", target)
    assert error.value.hint is not None and error.value.hint.startswith("gfx950 has")


def test_what_takes_one_type_refuses() -> None:
    said = "packs arrays of one type, not f8e4m3fn_f8e5m2"
    with pytest.raises(imbrex.Diagnostic, match=said):
        imbrex.compile("gemm -t fp8_bf8 -m 64 -n 64 -k 64", "gfx950", algorithm="data_tiled")
    with pytest.raises(imbrex.Diagnostic, match="work items multiply elements of one type"):
        imbrex.compile("gemm -t fp8_bf8 -m 64 -n 64 -k 64", "gfx950", tuning="v1:general:64,32,32,4,2,2")


@pytest.mark.parametrize(
    ("kind", "tuning", "letters", "emulate"),
    [
        ("mxfp8_mxfp4", WIDE.format(2), "nn", "isa"),
        ("mxfp4_mxbf8", DIRECT.format(2), "tt", True),
        ("mxfp6_mxbf8", None, "tt", "isa"),
        ("mxbf6_mxfp4", WIDE.format(2) + ",swapped", "tn", "isa"),
    ],
)
def test_elements_of_different_bits_across_k(
    kind: str, tuning: str | None, letters: str, emulate: Any
) -> None:
    problem = Gemm(96, 160, 1056, dtype=kind, transpose_a=letters[0] == "t", transpose_b=letters[1] == "t")
    found = imbrex.compile(problem, "gfx950", emulate=emulate, tuning=tuning).check()
    assert found.is_right, str(found)


def test_elements_of_8_bits_beside_packs_lie_along_k() -> None:
    said = "b of mxf4e2m1fn_mxf8e4m3fn, of 8 bits beside 4, lies along k"
    with pytest.raises(imbrex.Diagnostic, match=said):
        Gemm(64, 64, 64, dtype="mxfp4_mxfp8")
    with pytest.raises(imbrex.Diagnostic, match="lda must be a multiple of 32 elements"):
        Gemm(64, 64, 64, dtype="mxfp8_mxfp4", transpose_b=True, lda=80)
    with pytest.raises(imbrex.Diagnostic, match="products of f8e4m3fn_f4e2m1fn have scales of blocks"):
        Gemm(64, 64, 64, dtype="f8e4m3fn_f4e2m1fn", transpose_b=True)
    with pytest.raises(imbrex.Diagnostic, match="the swapped product is of mxf4e2m1fn_mxf8e4m3fn"):
        tuning = WIDE.format(16).replace("auto", "mfma_f32_32x32x64_fp8_fp4") + ",swapped"
        imbrex.compile("gemm -t mxfp8_mxfp4 -m 64 -n 64 -k 64 -transB 1", "gfx950", tuning=tuning)
