"""Products of elements of A and of B of two types, lane by lane and instruction by instruction."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tests.pairs import in_turn

import imbrex
from imbrex import Gemm
from imbrex.dtype import PAIRS, DType

WIDE = "v1:xdlops:128,128,4,64,64,{},auto,xor,ahead"
STAGED = "v1:xdlops:64,64,4,32,32,{},auto,xor,staged,swapped"
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
}


@pytest.mark.parametrize(("name", "emulate"), in_turn(list(CASES), [True, "isa"]))
def test_equals_the_reference(name: str, emulate: Any) -> None:
    chip, kind, tuning, a_is_turned, b_is_turned = CASES[name]
    problem = Gemm(75, 96, 544, dtype=kind, transpose_a=a_is_turned, transpose_b=b_is_turned)
    assert [o.dtype for o in problem.operands[:2]] == list(problem.dtype.operands)
    kernel = imbrex.compile(problem, chip, tuning=tuning, emulate=emulate)
    assert (found := kernel.check()).is_right, str(found)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
        (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn),
        (ml_dtypes.float6_e3m2fn, ml_dtypes.float6_e2m3fn),
    ],
    ids=["8 bits", "8 bits, exchanged", "6 bits"],
)
def test_a_function_takes_arrays_of_two_types(a: Any, b: Any) -> None:
    random = np.random.default_rng(3)
    arrays: list[npt.NDArray[Any]] = [
        random.integers(-4, 5, (rows, 96)).astype(kind) for rows, kind in ((20, a), (36, b))
    ]
    scales: Any = tuple(
        np.full((len(array), 3), code, np.uint8) for array, code in zip(arrays, (126, 129), strict=True)
    )
    want = arrays[0].astype(np.float64) @ arrays[1].astype(np.float64).T
    where: dict[str, Any] = {"target": "gfx950", "emulate": True, "transpose_b": True}
    assert np.array_equal(imbrex.gemm(*arrays, block_scales=scales, **where), 2 * want)
    if arrays[0].dtype.name.startswith("float8"):
        assert np.array_equal(imbrex.gemm(*arrays, **where), want)
        with pytest.raises(TypeError, match="'compute' is f8"):
            imbrex.gemm(*arrays, compute=arrays[1].dtype, **where)


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


def test_types_of_other_bits_are_no_pair() -> None:
    def bits(of: DType) -> set[int]:
        return {operand.bits for operand in of.operands}

    assert all(len(bits(pair)) == 1 for pair in PAIRS.values())
    with pytest.raises(imbrex.Diagnostic, match="unknown element type 'mxfp8_mxfp4'"):
        Gemm(64, 64, 64, dtype="mxfp8_mxfp4")
