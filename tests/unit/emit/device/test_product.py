"""micro.h, block.h, product.h, operand.h: products are exact, however their operands are had."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.unit.emit.device.conftest import Axis, CTable, Device, elements

K_MAJOR, K_BLOCKED, ROWS = range(3)
MICRO = {
    "f32": (6, 2, np.float32),
    "f32_tall": (14, 1, np.float32),
    "f64": (5, 3, np.float64),
    "i32": (3, 2, np.int32),
}
M, N, K, RUN = 23, 50, 48, 16  # as in product.cpp


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("layout", [K_MAJOR, K_BLOCKED, ROWS])
@pytest.mark.parametrize("kind", MICRO)
def test_micro_gemm(device: Device, kind: str, layout: int, adds: bool) -> None:
    m, vectors, dtype = MICRO[kind]
    w = device.width[kind.split("_")[0]]
    rng = np.random.default_rng(5)
    for k in (0, 1, 3, 4, w - 1, w, w + 1, 2 * w + 3):
        a, b = (rng.integers(-9, 9, s).astype(dtype) for s in ((m, k), (k, vectors * w)))
        c = rng.integers(-9, 9, (m, vectors * w)).astype(dtype)
        blocks = -(-k // w)
        padded = np.zeros((m, blocks * w), dtype)
        padded[:, :k] = a
        packed = {K_MAJOR: a.T, K_BLOCKED: padded.reshape(m, blocks, w).transpose(1, 0, 2), ROWS: a}[layout]
        expected = a @ b + (c if adds else 0)
        device.call(f"micro_{kind}", layout, k, np.ascontiguousarray(packed), b, c, adds)
        np.testing.assert_array_equal(c, expected)


def test_block_gemm(device: Device) -> None:
    k, w = 11, device.width["f32"]
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-9, 9, s).astype(np.float32) for s in ((2, k, 3), (3, k, 2 * w)))
    c = np.full((6, 6 * w), 5, np.float32)
    expected = 5 + a.transpose(0, 2, 1).reshape(6, k) @ b.transpose(1, 0, 2).reshape(k, 6 * w)
    device.call("block_f32", k, a, b, c, True)
    np.testing.assert_array_equal(c, expected)


class CMaps(ctypes.Structure):
    """`maps` of product.cpp."""

    _fields_ = (
        *((name, CTable) for name in ("a_rows", "a_lanes", "b_rows", "b_lanes", "c_rows", "c_lanes")),
        *((name, ctypes.c_void_p) for name in ("a_size", "b_size")),
        *((name, ctypes.c_int64) for name in ("a_elements", "b_elements")),
    )


NO_GUARD = (1, 1)
Operand = tuple[Axis, Axis, tuple[int, int], int]  # rows, lanes, sizes of the guards, elements of the array
A_MATRIX: Operand = (Axis.of(np.arange(M) * K), Axis.of(np.arange(K)), NO_GUARD, M * K)
B_MATRIX: Operand = (Axis.of(np.arange(K) * N), Axis.of(np.arange(N)), NO_GUARD, K * N)
C_MATRIX = (Axis.of(np.arange(M) * N), Axis.of(np.arange(N)))


def _channels_last() -> Operand:
    """Rows are pixels of a padded 1 x 3 window, lanes are (x, channel): runs of 16 channels."""
    pixel, x, channel = np.arange(M), np.arange(K) // RUN, np.arange(K) % RUN
    return Axis.of((pixel - 1) * RUN, pixel - 1), Axis.of(x * RUN + channel, x), (M - 1, 1), (M - 1) * RUN


def _channels_first() -> Operand:
    """Rows are (channel, x) of a padded 1 x 3 window, lanes are pixels: a convolution's B."""
    channel, x = np.arange(K) // 3, np.arange(K) % 3
    return Axis.of(channel * N + x - 1, x - 1), Axis.of(np.arange(N), np.arange(N)), (N, 1), K // 3 * N


def _every_second() -> Operand:
    return Axis.of(np.arange(K) * 2 * N), Axis.of(2 * np.arange(N)), NO_GUARD, K * 2 * N


def _columns() -> Operand:
    return Axis.of(np.arange(K)), Axis.of(np.arange(N) * K), NO_GUARD, N * K


C_COLUMNS = (Axis.of(np.arange(M)), Axis.of(np.arange(N) * M))
C_PIECES = (Axis.of(np.arange(M) * 7), Axis.of(np.arange(N) // 7 * 7 * M + np.arange(N) % 7))
CASES: dict[str, tuple[Operand, Operand, tuple[Axis, Axis], Any, Any]] = {
    "in_place": (A_MATRIX, B_MATRIX, C_MATRIX, np.float32, np.float32),
    "guarded": (A_MATRIX, _channels_first(), C_PIECES, np.float32, np.float32),
    "runs": (_channels_last(), _columns(), C_MATRIX, np.float32, np.float32),
    "strided": (A_MATRIX, _every_second(), C_MATRIX, np.float32, np.float32),
    "transposed": (A_MATRIX, _columns(), C_COLUMNS, np.float32, np.float32),
    "f64": (A_MATRIX, B_MATRIX, C_MATRIX, np.float64, np.float64),
    "f16": (_channels_last(), _columns(), C_MATRIX, np.float16, np.float32),
    "bf16": (A_MATRIX, B_MATRIX, C_COLUMNS, ml_dtypes.bfloat16, np.float32),
}


@pytest.mark.parametrize("alpha, beta", [(1, 0), (2, 0), (1, 1), (-2, 3)])
@pytest.mark.parametrize("case", CASES)
def test_product(device: Device, case: str, alpha: int, beta: int) -> None:
    (a_rows, a_lanes, a_size, a_count), (b_rows, b_lanes, b_size, b_count), c, storage, computed = CASES[case]
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-2, 3, count).astype(storage) for count in (a_count, b_count))
    place = c[0].offset[:, None] + c[1].offset[None, :]
    size = int(place.max()) + 1
    before = rng.integers(-2, 3, size).astype(storage)
    if beta == 0:
        before[:] = np.nan
    product = elements(a.astype(computed), a_rows, a_lanes, a_size) @ elements(
        b.astype(computed), b_rows, b_lanes, b_size
    )
    expected = before.copy()
    expected[place] = alpha * product + (beta * before[place].astype(computed) if beta else 0)
    limits = [np.array(s, np.int32) for s in (a_size, b_size)]
    tables = (x.table for x in (a_rows, a_lanes, b_rows, b_lanes, *c))
    at = CMaps(*tables, *(x.ctypes.data for x in limits), a_count, b_count)
    found = before.copy()
    device.call(f"gemm_{case}", a, b, found, at, float(alpha), float(beta))
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
