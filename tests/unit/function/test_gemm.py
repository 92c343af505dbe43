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


class Uncopied:
    """Fails where an array is copied."""

    @pytest.fixture(autouse=True)
    def nothing_is_copied(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(self: object, array: object) -> object:
            raise AssertionError("an array was copied")

        monkeypatch.setattr("imbrex.function.host.Host.contiguous", refused)


class TestViewsInPlace(Uncopied):
    @pytest.mark.parametrize("turned", [False, True])
    def test_rows_and_columns(self, turned: bool) -> None:
        wide = {"a": np.full((12, 20), np.nan, np.float32), "b": np.full((20, 8), np.nan, np.float32)}
        a, b = wide["a"][3:9, 5:14], wide["b"][::2][:9, 1:5]
        a[...], b[...] = A, B
        if turned:
            np.testing.assert_array_equal(gemm(b.T, a.T), (A @ B).T)
        else:
            np.testing.assert_array_equal(gemm(a, b), A @ B)

    def test_gaps_of_the_result_stay(self) -> None:
        wide = np.full((8, 9), 7, np.float32)
        out = wide[1:7, 3:7]
        for words in ({}, {"epilogue": "relu(x)"}, {"alpha": 2.0}):
            want = np.full((8, 9), 7, np.float32)
            product = (A @ B) * words.get("alpha", 1.0)  # type: ignore[operator]
            want[1:7, 3:7] = np.maximum(product, 0) if "epilogue" in words else product
            assert gemm(A, B, out=out, **words) is out  # type: ignore[arg-type]
            np.testing.assert_array_equal(wide, want)

    def test_a_product_is_added_to_a_part(self) -> None:
        wide = np.ones((8, 9), np.float32)
        gemm(A, B, wide[1:7, 3:7], out=wide[1:7, 3:7])
        want = np.ones((8, 9), np.float32)
        want[1:7, 3:7] += A @ B
        np.testing.assert_array_equal(wide, want)

    def test_heads_of_one_array(self) -> None:
        """[rows, heads, columns] seen as [heads, rows, columns]; the result as one array of all heads."""
        q, k = (RNG.integers(-3, 4, (6, 5, 8)).astype(np.float32) for _ in "qk")
        out = np.zeros((6, 5, 6), np.float32)
        gemm(q.transpose(1, 0, 2), k.transpose(1, 2, 0), out=out.transpose(1, 0, 2))
        np.testing.assert_array_equal(out, np.einsum("ihd,jhd->ihj", q, k))

    def test_one_matrix_for_all(self) -> None:
        many = np.stack([A, A + 1, A - 1])
        got = gemm(many, np.broadcast_to(B, (3, *B.shape)))
        np.testing.assert_array_equal(got, many @ B)

    def test_halves_of_one_array(self) -> None:
        both = np.zeros((6, 13), np.float32)
        both[:, :9] = A
        gemm(both[:, :9], B, out=both[:, 9:])
        np.testing.assert_array_equal(both, np.hstack([A, A @ B]))
        with pytest.raises(ValueError, match="'out' shares memory with 'a'"):
            gemm(both[:, :9], B, out=both[:, 8:12])


def test_out_is_not_touched_where_it_is_read() -> None:
    square = np.arange(16, dtype=np.float32).reshape(4, 4)
    before = square.copy()
    with pytest.raises(ValueError, match="'out' shares memory with 'b'"):
        gemm(before, square, np.ones((4, 4), np.float32), out=square)
    np.testing.assert_array_equal(square, before)


def test_other_strides_are_copied() -> None:
    want = A @ B
    np.testing.assert_array_equal(gemm(A[:, ::-1], B[::-1]), want)
    np.testing.assert_array_equal(
        gemm(np.repeat(A, 2, axis=1)[:, ::2], np.repeat(B, 2, axis=1)[:, ::2]), want
    )
    rows = np.lib.stride_tricks.sliding_window_view(np.arange(12, dtype=np.float32), 9)
    np.testing.assert_array_equal(gemm(rows, B), rows @ B)
    np.testing.assert_array_equal(gemm(np.stack([A, A])[::-1], np.stack([B, B])), np.stack([want] * 2))


def test_strides_of_one_row_say_nothing() -> None:
    from imbrex.function.gemm import _kernel

    gemm(A[:1], B)
    kernels = _kernel.cache_info().currsize
    gemm(np.repeat(A, 2, axis=0)[::2][:1], B)
    gemm(np.lib.stride_tricks.as_strided(A, (1, 9), (4, 4)), B)
    assert _kernel.cache_info().currsize == kernels


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
        (lambda: gemm(A[None], B), ValueError, "'a' has a batch of 1 and 'b' has none; reshape 'a' to "),
        (lambda: gemm(A, B.astype(np.float64)), TypeError, "'a' and 'b' should have the same dtype"),
        (lambda: gemm(A.astype(int), B.astype(int)), TypeError, "'a' has dtype int64; convert it to"),
        (lambda: gemm(A, B, A), ValueError, r"'c' should broadcast to shape \(6, 4\), got \(6, 9\)"),
        (lambda: gemm(A, B, np.ones(4)), TypeError, "'c' should have dtype float32, got float64"),
        (lambda: gemm(A, B, out=np.zeros((4, 6), "f4")), ValueError, r"'out' should have shape \(6, 4\)"),
        (lambda: gemm(A, B, out=np.zeros((4, 6), "f4").T), ValueError, "'out' should be row-major"),
        (
            lambda: gemm(A[:, :6], A[:, :6], out=np.zeros((6, 6), "f4").T),
            ValueError,
            "'out' should be row-major",
        ),
        (
            lambda: gemm(A, B, out=np.zeros((6, 8), "f4")[:, ::2]),
            ValueError,
            r"'out' should be row-major, its rows without gaps, got strides \(32, 8\) for shape \(6, 4\)",
        ),
        (
            lambda: gemm(A, B, out=np.lib.stride_tricks.as_strided(np.zeros(24, "f4"), (6, 4), (8, 4))),
            ValueError,
            "'out' should be row-major",
        ),
        (
            lambda: gemm(
                np.stack([A, A]),
                np.stack([B, B]),
                out=np.lib.stride_tricks.as_strided(np.zeros(99, "f4"), (2, 6, 4), (32, 16, 4)),
            ),
            ValueError,
            "stride_c = 8 lets the 2 matrices of c overlap",
        ),
        (lambda: gemm(A, B, beta=0.5), ValueError, "'beta' is 0.5, and there is no 'c' that it multiplies"),
        (lambda: gemm(A, B, alpha=float("nan")), ValueError, "'alpha' should be a finite number"),
        (lambda: gemm(None, B), TypeError, "'a' should be an array"),
        (lambda: gemm(np.ma.masked_array(A), B), TypeError, "'a' is a masked array"),
    ],
)
def test_mistakes_are_those_of_numpy(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
