"""Kernels of arrays with gaps: what a GPU is told of them, which arrays a call takes, what is built."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from imbrex.kernel import compile
from imbrex.problem import Gemm
from imbrex.run.launch import Launch
from imbrex.view.tensor.form import Box

PLAIN = {"m": 264, "n": 392, "k": 333, "dtype": "f16"}


def boxes(gemm: Gemm, **words: Any) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Sizes and strides of the tensor maps of the last launch, by array."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    kernel = compile(gemm, "sm_90a", **words)
    step = kernel.loaded.steps[-1]  # type: ignore[union-attr]
    assert isinstance(step, Launch)
    found: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for map in step.tensors:
        assert isinstance(map.form, Box)
        place = step.arguments[map.argument]
        name = "abc"[place] if place < 3 else f"copy {place - 3}"
        found[name] = (map.form.sizes, map.form.strides)
    return found


def test_tensor_maps_show_arrays_without_their_gaps() -> None:
    assert boxes(Gemm(**PLAIN, lda=344, ldb=400, ldc=512)) == {  # type: ignore[arg-type]
        "a": ((333, 264), (344,)),
        "b": ((392, 333), (400,)),
        "c": ((392, 264), (512,)),
    }


def test_matrices_of_a_batch() -> None:
    in_turn = Gemm(**PLAIN, batch=3, lda=1008, stride_a=336, stride_b=0, ldb=392, ldc=1200, stride_c=400)  # type: ignore[arg-type]
    assert boxes(in_turn) == {
        "a": ((333, 264, 3), (1008, 336)),
        "b": ((392, 333), (392,)),
        "c": ((392, 264, 3), (1200, 400)),
    }


def test_rows_that_begin_anywhere_are_copied_or_loaded() -> None:
    odd = Gemm(2048, 2048, 2048, dtype="f16", lda=2049, ldc=2051)
    whole = ((2048, 2048), (2048,))
    assert boxes(odd, algorithm="aligned") == {"copy 0": whole, "b": whole}
    direct = boxes(odd, algorithm="direct")
    assert direct["b"] == whole and direct.get("a", ((), (8 * 2049,)))[1] == (8 * 2049,)


A, B = np.ones((5, 7), np.float32), np.ones((7, 6), np.float32)
WIDE = np.zeros((5, 9), np.float32)


def test_a_call_takes_arrays_of_the_kernels_strides() -> None:
    kernel = compile(Gemm(5, 6, 7, ldc=9))
    assert kernel(A, B, WIDE[:, 1:7]).base is WIDE
    assert (WIDE[:, 1:7] == 7).all() and not WIDE[:, [0, 7, 8]].any()
    fresh = kernel(A, B)
    assert fresh.strides == (36, 4) and (fresh == 7).all()
    for wrong, told in ((np.zeros((5, 6), "f4"), r"\(6, 1\)"), (WIDE.T[1:7].copy().T, r"\(1, 5\)")):
        with pytest.raises(ValueError, match=rf"'c' should have strides \(9, 1\) in elements.* got {told}"):
            kernel(A, B, wrong)
    with pytest.raises(ValueError, match=r"'b' should be contiguous, got strides"):
        kernel(A, np.ones((7, 12), "f4")[:, :6], WIDE[:, 1:7])


def test_the_solver_is_asked_for_strides_where_there_are_gaps() -> None:
    kernel = compile(Gemm(5, 6, 7, ldc=9))
    function = ctypes.CDLL(str(kernel.library.path))[f"imbrex_{kernel.name}_is_applicable"]
    for strides, is_right in (((7, 1, 6, 1, 9, 1), 1), ((7, 1, 6, 1, 6, 1), 0)):
        numbers = (5, 7, 7, 6, 5, 6, *strides)
        assert function((ctypes.c_int64 * 12)(*numbers), 12) == is_right
