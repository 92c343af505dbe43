"""gemm on arrays: NumPy's product, whatever the strides, with its errors."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from imbrex import gemm

RNG = np.random.default_rng(5)
A = RNG.integers(-5, 6, (6, 9)).astype(np.float32)
B = RNG.integers(-5, 6, (9, 4)).astype(np.float32)


def test_product() -> None:
    np.testing.assert_array_equal(gemm(A, B), A @ B)


def test_a_transposed_view_is_read_where_it_lies() -> None:
    from imbrex.function.gemm import _kernel

    np.testing.assert_array_equal(gemm(A.T, B, transpose_a=True), A @ B)
    kernels = _kernel.cache_info().currsize
    np.testing.assert_array_equal(gemm(A.T.copy().T.T, B, transpose_a=True), A @ B)
    np.testing.assert_array_equal(gemm(A, B), A @ B)
    assert _kernel.cache_info().currsize <= kernels + 1


def test_gaps_are_copied() -> None:
    np.testing.assert_array_equal(gemm(np.repeat(A, 2, axis=1)[:, ::2], B[::-1][::-1]), A @ B)


def test_alpha_beta_and_a_broadcast_c() -> None:
    bias = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(gemm(A, B, bias, alpha=2, beta=3), 2 * (A @ B) + 3 * bias)
    np.testing.assert_array_equal(bias, np.arange(4))
    c = np.ones((6, 4), np.float32)
    assert gemm(A, B, c, alpha=2, beta=3, out=c) is c
    np.testing.assert_array_equal(c, 2 * (A @ B) + 3)


def test_without_beta_c_is_not_read() -> None:
    nothing = np.full((6, 4), np.nan, np.float32)
    np.testing.assert_array_equal(gemm(A, B, nothing, beta=0), A @ B)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_8_bit_floats_give_f32(name: str) -> None:
    a = np.arange(-7, 8).reshape(3, 5).astype(getattr(ml_dtypes, name))
    b = np.arange(-5, 5).reshape(5, 2).astype(a.dtype)
    result = gemm(a, b)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, a.astype(np.float32) @ b.astype(np.float32))


def test_batches() -> None:
    a, b = np.stack([A, A + 1]), np.stack([B, B - 1])
    np.testing.assert_array_equal(gemm(a, b), a @ b)
    np.testing.assert_array_equal(gemm(a[:1], b[:1]), a[:1] @ b[:1])


def test_empty_sizes() -> None:
    assert gemm(A[:0], B).shape == (0, 4)
    np.testing.assert_array_equal(gemm(A[:, :0], B[:0]), np.zeros((6, 4)))
    np.testing.assert_array_equal(gemm(A[:, :0], B[:0], np.ones(4, np.float32), beta=2), np.full((6, 4), 2))


def test_sequences_and_scalars_of_numpy() -> None:
    np.testing.assert_array_equal(gemm([[1.0, 2.0]], [[3.0], [4.0]]), [[11.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gemm(A, A), ValueError, "do not fit: op.a. is 6 x 9, op.b. is 6 x 9"),
        (lambda: gemm(A[0], B), ValueError, "'a' should have 2 dimensions, or 3 with a batch first, got 1"),
        (lambda: gemm(A[None], B), ValueError, "equally many matrices, got a batch of 1 and no"),
        (lambda: gemm(A, B.astype(np.float64)), TypeError, "'a' and 'b' should have the same dtype"),
        (lambda: gemm(A.astype(int), B.astype(int)), TypeError, "'a' has dtype int64; kernels take"),
        (lambda: gemm(A, B, A), ValueError, r"'c' should broadcast to shape \(6, 4\), got \(6, 9\)"),
        (lambda: gemm(A, B, np.ones(4)), TypeError, "'c' should have dtype float32, got float64"),
        (lambda: gemm(A, B, out=np.zeros((4, 6), "f4")), ValueError, r"'out' should have shape \(6, 4\)"),
        (lambda: gemm(A, B, out=np.zeros((4, 6), "f4").T), ValueError, "'out' should be row-major"),
        (
            lambda: gemm(A[:, :6], A[:, :6], out=np.zeros((6, 6), "f4").T),
            ValueError,
            "'out' should be row-major",
        ),
        (lambda: gemm(A, B, alpha=float("nan")), ValueError, "alpha must be a finite number"),
        (lambda: gemm(None, B), TypeError, "'a' should be an array"),
        (lambda: gemm(np.ma.masked_array(A), B), TypeError, "'a' is a masked array"),
    ],
)
def test_mistakes_are_those_of_numpy(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
