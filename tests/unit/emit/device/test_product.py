"""micro.h, product.h, operand.h: products are exact, however their operands are had."""

from __future__ import annotations

import ctypes
import mmap
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
M, MR, K, RUN = (
    23,
    6,
    48,
    16,
)  # of product.cpp; N is 50, two columns past whole vectors, or 63, one short of them


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
A_PANEL: Operand = (Axis.of(np.arange(MR) * K), Axis.of(np.arange(K)), NO_GUARD, MR * K)
A_COLUMNS: Operand = (Axis.of(np.arange(M)), Axis.of(np.arange(K) * M), NO_GUARD, M * K)


def _matrix(n: int) -> Operand:
    return Axis.of(np.arange(K) * n), Axis.of(np.arange(n)), NO_GUARD, K * n


def _columns(n: int) -> Operand:
    return Axis.of(np.arange(K)), Axis.of(np.arange(n) * K), NO_GUARD, n * K


def _every_second(n: int) -> Operand:
    return Axis.of(np.arange(K) * 2 * n), Axis.of(2 * np.arange(n)), NO_GUARD, K * 2 * n


def _channels_first(n: int, apart: int = 1) -> Operand:
    """Rows are (channel, x) of a padded 1 x 3 window, lanes are pixels: a convolution's B."""
    channel, x = np.arange(K) // 3, (np.arange(K) % 3 - 1) * apart
    return Axis.of(channel * n + x, x), Axis.of(np.arange(n), np.arange(n)), (n, 1), K // 3 * n


def _channels_last(apart: int = 1) -> Operand:
    """Rows are pixels of a padded 1 x 3 window, lanes are (x, channel): runs of 16 channels."""
    pixel, x, channel = np.arange(M) - apart, np.arange(K) // RUN * apart, np.arange(K) % RUN
    return Axis.of(pixel * RUN, pixel), Axis.of(x * RUN + channel, x), (M - 1, 1), (M - 1) * RUN


def _c_matrix(n: int, m: int = M) -> tuple[Axis, Axis]:
    return Axis.of(np.arange(m) * (n + 3)), Axis.of(np.arange(n))


def _c_columns(n: int) -> tuple[Axis, Axis]:
    return Axis.of(np.arange(M)), Axis.of(np.arange(n) * (M + 2))


def _c_pieces(n: int) -> tuple[Axis, Axis]:
    return Axis.of(np.arange(M) * 7), Axis.of(np.arange(n) // 7 * 7 * M + np.arange(n) % 7)


CASES: dict[str, tuple[Operand, Operand, tuple[Axis, Axis], Any, Any]] = {
    "in_place": (A_MATRIX, _matrix(63), _c_matrix(63), np.float32, np.float32),
    "one_panel": (A_PANEL, _matrix(63), _c_matrix(63, MR), np.float32, np.float32),
    "one_panel_guarded": (A_PANEL, _channels_first(50), _c_matrix(50, MR), np.float32, np.float32),
    "guarded": (A_MATRIX, _channels_first(50), _c_pieces(50), np.float32, np.float32),
    "some": (A_MATRIX, _channels_first(50, 33), _c_matrix(50), np.float32, np.float32),
    "some_packing": (A_MATRIX, _channels_first(50, 33), _c_pieces(50), np.float32, np.float32),
    "some_columns": (A_COLUMNS, _channels_first(50, 33), _c_columns(50), np.float32, np.float32),
    "runs": (_channels_last(9), _columns(50), _c_matrix(50), np.float32, np.float32),
    "strided": (A_MATRIX, _every_second(63), _c_matrix(63), np.float32, np.float32),
    "columns": (A_COLUMNS, _matrix(50), _c_matrix(50), np.float32, np.float32),
    "columns_in_place": (A_COLUMNS, _matrix(63), _c_matrix(63), np.float32, np.float32),
    "columns_f16": (A_COLUMNS, _matrix(63), _c_matrix(63), np.float16, np.float32),
    "transposed": (A_MATRIX, _columns(63), _c_columns(63), np.float32, np.float32),
    "f64": (A_MATRIX, _matrix(50), _c_matrix(50), np.float64, np.float64),
    "f16": (_channels_last(), _columns(63), _c_matrix(63), np.float16, np.float32),
    "bf16": (A_MATRIX, _matrix(50), _c_columns(50), ml_dtypes.bfloat16, np.float32),
}


@pytest.mark.parametrize("alpha, beta", [(1, 0), (2, 0), (1, 1), (-2, 3)])
@pytest.mark.parametrize("case", CASES)
def test_product(device: Device, case: str, alpha: int, beta: int) -> None:
    a, b = (_values(operand[3], CASES[case][3]) for operand in CASES[case][:2])
    _check(device, case, a, b, alpha, beta)


@pytest.mark.parametrize(
    "case",
    [
        "in_place", "one_panel", "one_panel_guarded", "guarded", "some", "some_packing", "runs", "strided",
        "columns", "columns_in_place",
    ],
)  # fmt: skip
def test_operands_that_fill_their_pages(device: Device, case: str) -> None:
    """What is read in place may lie right before or after a page that nobody may read."""
    for at_start in (True, False):
        a, b = (_values(operand[3], np.float32) for operand in CASES[case][:2])
        _check(device, case, _between_pages(a, at_start), _between_pages(b, at_start), 1, 0)


def _values(count: int, dtype: Any) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).integers(-2, 3, count).astype(dtype)


def _between_pages(array: np.ndarray[Any, Any], at_start: bool) -> np.ndarray[Any, Any]:
    """A copy that begins, or ends, with its pages; the page before and the one after have no access."""
    pages = -(-array.nbytes // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(base + page * mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
    offset = mmap.PAGESIZE if at_start else (pages + 1) * mmap.PAGESIZE - array.nbytes
    copy = np.frombuffer(memory, array.dtype, array.size, offset)
    copy[:] = array
    return copy


def _check(device: Device, case: str, a: Any, b: Any, alpha: int, beta: int) -> None:
    (a_rows, a_lanes, a_size, a_count), (b_rows, b_lanes, b_size, b_count), c, storage, computed = CASES[case]
    place = c[0].offset[:, None] + c[1].offset[None, :]
    before = _values(int(place.max()) + 4, storage)
    if beta == 0:
        before[:] = np.nan
    wide_a = elements(a.astype(computed), a_rows, a_lanes, a_size)
    product = wide_a @ elements(b.astype(computed), b_rows, b_lanes, b_size)
    expected = before.copy()
    expected[place] = alpha * product + (beta * before[place].astype(computed) if beta else 0)
    limits = [np.array(s, np.int32) for s in (a_size, b_size)]
    tables = (x.table for x in (a_rows, a_lanes, b_rows, b_lanes, *c))
    at = CMaps(*tables, *(x.ctypes.data for x in limits), a_count, b_count)
    found = before.copy()
    device.call(f"gemm_{case}", a, b, found, at, float(alpha), float(beta))
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
