"""What becomes of NaN, infinity, subnormal numbers, -0 and what is too large, as docs/semantics.md has it.

Every function compiles a kernel or two for a target and asserts what is stored, bit for bit: for the CPU and
the lane-level build (tests/e2e), for code objects (tests/cdna) and for a GPU (tests/gpu).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from imbrex.dtype import F32, DType, dtype
from imbrex.kernel import Kernel, compile
from imbrex.kernel.target import Target
from imbrex.problem import Gemm
from imbrex.verify.poison import poison

__all__ = ["expect_casts", "expect_numbers", "expect_sums_to_wrap", "expect_unread"]

Array = npt.NDArray[Any]

SIZES: Final = (64, 64, 64)
FACTOR: Final = {"f64": 2.0**-60, "f32": 2.0**-20, "f16": 2.0**-8, "bf16": 2.0**-20}
"""Of the second column of B: it makes small products subnormal, and large ones fit."""


def expect_numbers(of: str, target: str | Target, *, flushes: bool = False) -> None:
    """What a product of floats stores.  flushes: the unit has no subnormal operands, and no such sums."""
    element = dtype(of)
    kernel = compile(Gemm(*SIZES, dtype=element), target)
    a, b = _special(element), np.ones(SIZES[1:], np.float64)
    b[:, 1], b[:, 2] = FACTOR[of], 0.0
    read = np.where(np.abs(a) < element.smallest_normal, 0.0, a) if flushes else a
    with np.errstate(invalid="ignore", over="ignore"):
        sums = read @ b
        want = np.where(flushes & (np.abs(sums) < F32.smallest_normal), 0.0, sums).astype(element.numpy)
    got = _stored(kernel, a, b)
    _expect_same(got, want, element)
    assert not np.signbit(got[got == 0]).any(), "sums begin with +0, so that no product of -0 is left"
    small = np.abs(want[[4, 5], [0, 1]].astype(np.float64))
    assert flushes or ((small > 0) & (small < element.smallest_normal)).all()


def _special(element: DType) -> Array:
    """A row for each kind of number, and rows of zeros."""
    a = np.zeros((SIZES[0], SIZES[2]))
    tiny = element.smallest_subnormal * 8
    a[0, 0], a[1, 0], a[2, :2], a[3, :2] = np.nan, np.inf, (np.inf, -np.inf), element.largest
    a[4, 0], a[5, 0], a[6], a[7, 0] = tiny, tiny / FACTOR[element.name], -0.0, -np.inf
    return a


def expect_casts(result: str, target: str | Target, of: str = "f32") -> None:
    """What a cast to integers stores of each kind of number."""
    element, largest = dtype(result), int(dtype(result).largest)
    kernel = compile(Gemm(*SIZES, dtype=of, epilogue=f"{result}(x * 4)"), target)
    least = -largest - 1
    values = {
        np.nan: 0, np.inf: largest, -np.inf: least, 1e9: largest, -1e9: least, 0.125: 0, 0.375: 2, 0.625: 2,
        0.1875: 1, -0.1875: -1, -0.375: -2, 25.0: 100,
        0.25 * largest + 1: largest, 0.25 * least: least, 0.25 * least - 1: least,
    }  # fmt: skip
    a, b = np.zeros((SIZES[0], SIZES[2])), np.zeros(SIZES[1:])
    a[: len(values), 0], b[0] = list(values), 1.0
    want = np.zeros((SIZES[0], SIZES[1]))
    want[: len(values)] = np.array(list(values.values()))[:, None]
    _expect_same(_stored(kernel, a, b), want.astype(element.numpy), element)


def expect_unread(of: str, target: str | Target, epilogue: str = "relu(x + bias)") -> None:
    """With alpha = 0 no value of A and B counts, with beta = 0 none of C; an epilogue comes after both."""
    element = dtype(of)
    nothing = compile(Gemm(*SIZES, dtype=element, alpha=0.0), target)
    a = np.full((SIZES[0], SIZES[2]), np.nan)
    got = _stored(nothing, a, a)
    assert not got.any() and not np.signbit(got).any()
    scaled = compile(Gemm(*SIZES, dtype=element, alpha=0.0, beta=2.0, epilogue=epilogue), target)
    c = np.arange(SIZES[0] * SIZES[1]).reshape(SIZES[:2]) % 8.0
    c[0, 0], c[0, 1] = np.nan, np.inf
    bias = np.full(SIZES[1], -3.0)
    want = np.maximum(2.0 * c - 3.0, 0.0).astype(scaled.problem.operands[2].dtype.numpy)
    _expect_same(_stored(scaled, a, a, c, bias), want, element)


def expect_sums_to_wrap(target: str | Target) -> None:
    """Sums of i8 beyond 32 bits, in 131,072 terms and more."""
    kernel = compile(Gemm(3, 5, 1 << 17, dtype="i8"), target)
    a, b = np.full((3, 1 << 17), -128.0), np.full((1 << 17, 5), -128.0)
    a[1], a[2] = 127, 0
    b[:, 4] = 127
    sums = a.astype(np.int64) @ b.astype(np.int64)
    assert abs(sums[0, 0]) == 1 << 31
    _expect_same(_stored(kernel, a, b), sums.astype(np.int32), dtype("i32"))


def _stored(kernel: Kernel, *given: Array) -> Array:
    """The result for values of A, B, C and a bias; poison in a C that is not given."""
    arrays = [np.zeros(o.shape, o.dtype.numpy) for o in kernel.problem.operands]
    poison(arrays[2])
    with np.errstate(invalid="ignore", over="ignore"):
        for array, values in zip(arrays, given, strict=False):
            array[...] = values.astype(array.dtype)
    kernel(*arrays)
    return arrays[2]


def _expect_same(got: Array, want: Array, element: DType) -> None:
    same = (got == want) | ((got != got) & (want != want))
    wrong = np.argwhere(~same)
    assert same.all(), f"{element} at {wrong[:8].tolist()}: {got[~same][:8]}, want {want[~same][:8]}"
