"""Epilogues of gemm and conv2d, and the type that they multiply in, on the CPU; on a GPU that is played, see
test_gpu.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from imbrex import conv2d, gemm
from imbrex.diagnostic import Diagnostic
from imbrex.problem.epilogue import parse

RNG = np.random.default_rng(11)


def integers(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.integers(-4, 5, shape).astype(np.float32)


A, B, BIAS, RESIDUAL = integers(6, 9), integers(9, 4), integers(4), integers(6, 4)
X, W = integers(2, 4, 6, 5), integers(3, 4, 3, 3)


def test_bias_and_residual_are_added() -> None:
    np.testing.assert_array_equal(gemm(A, B, bias=BIAS), A @ B + BIAS)
    np.testing.assert_array_equal(gemm(A, B, residual=RESIDUAL), A @ B + RESIDUAL)
    np.testing.assert_array_equal(gemm(A, B, bias=BIAS, residual=RESIDUAL), A @ B + BIAS + RESIDUAL)


def test_an_expression() -> None:
    want = np.maximum(2 * (A @ B) + BIAS, 0) - RESIDUAL
    for epilogue in ("relu(2 * x + bias) - residual", parse("relu(2 * x + bias) - residual")):
        np.testing.assert_array_equal(gemm(A, B, epilogue=epilogue, bias=BIAS, residual=RESIDUAL), want)
    np.testing.assert_array_equal(gemm(A, B, epilogue="clamp(x, -3, 3)"), np.clip(A @ B, -3, 3))


def test_the_type_of_the_result() -> None:
    half = A.astype(np.float16), B.astype(np.float16)
    result = gemm(*half, epilogue="f32(x + bias)", bias=BIAS)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, A @ B + BIAS)
    out = np.empty((6, 4), np.float32)
    assert gemm(*half, epilogue="f32(x)", out=out) is out
    with pytest.raises(TypeError, match="'out' should have dtype float16, got float32"):
        gemm(*half, epilogue="relu(x)", out=out)


def test_batches_and_arrays_with_gaps() -> None:
    a, b, residual = integers(3, 6, 9), integers(3, 9, 4), integers(3, 4, 6)
    for many in (slice(0, 3), slice(0, 1)):
        got = gemm(a[many], b[many], bias=np.repeat(BIAS, 2)[::2], residual=residual[many].transpose(0, 2, 1))
        np.testing.assert_array_equal(got, a[many] @ b[many] + BIAS + residual[many].transpose(0, 2, 1))


def test_scales() -> None:
    """Shapes as a kernel has them, or as PyTorch's scaled products do."""
    rows, channels, one = integers(6), integers(4), np.array([2], np.float32)
    sums = A @ B
    got = gemm(A, B, scales={"row_scale": rows, "channel_scale": channels, "scale_c": one}, bias=BIAS)
    np.testing.assert_array_equal(got, (sums * rows[:, None] * channels + BIAS) * 2)
    broadcast = {"row_scale": rows[:, None], "channel_scale": channels[None], "scale_a": np.float32(2)}
    np.testing.assert_array_equal(gemm(A, B, scales=broadcast), sums * rows[:, None] * channels * 2)
    whole = A.astype(np.int8), B.astype(np.int8)
    got = gemm(*whole, epilogue="f16(x * row_scale)", scales={"row_scale": rows})
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, sums * rows[:, None])
    y = conv2d(X, W, scales={"channel_scale": integers(3) * 0 + 3})
    np.testing.assert_array_equal(y, 3 * conv2d(X, W))


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ({"row_scales": BIAS}, "there is no scale 'row_scales'"),
        ({"row_scale": BIAS}, r"'row_scale' should have shape \(6,\), got \(4,\)"),
        ({"scale_a": BIAS}, r"'scale_a' should have shape \(1,\), got \(4,\)"),
        (
            {"channel_scale": BIAS.astype(np.float64)},
            "'channel_scale' should have dtype float32, got float64",
        ),
    ],
)
def test_scales_that_do_not_fit(scales: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        gemm(A, B, scales=scales)


def test_a_convolution_has_no_rows() -> None:
    with pytest.raises(ValueError, match="row_scale is for products"):
        conv2d(X, W, scales={"row_scale": BIAS})


def test_a_second_term_and_the_residual_in_one_array() -> None:
    want = A @ B + 2 * BIAS - RESIDUAL
    for out in (None, RESIDUAL.copy()):
        residual = RESIDUAL if out is None else out
        got = gemm(A, B, BIAS, beta=2, epilogue="x - residual", residual=residual, out=out)
        np.testing.assert_array_equal(got, want)


def test_the_residual_may_be_the_result() -> None:
    a, b, out = integers(70, 90), integers(90, 130), integers(70, 130)
    want = np.maximum(a @ b + out, 0)
    assert gemm(a, b, epilogue="relu(x + residual)", residual=out, out=out) is out
    np.testing.assert_array_equal(out, want)


def test_a_sum_of_no_products_is_finished() -> None:
    got = gemm(A[:, :0], B[:0], epilogue="relu(x + bias)", bias=BIAS)
    np.testing.assert_array_equal(got, np.tile(np.maximum(BIAS, 0), (6, 1)))
    got = gemm(A[:, :0], B[:0], BIAS, beta=2, epilogue="x - 1")
    np.testing.assert_array_equal(got, np.tile(2 * BIAS - 1, (6, 1)))
    assert gemm(A[:0], B, bias=BIAS).shape == (0, 4)


def plain(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return conv2d(x, W, padding=1)


def test_a_convolution() -> None:
    bias, residual = integers(3), integers(2, 3, 6, 5)
    sums = plain(X)
    got = conv2d(X, W, padding=1, bias=bias, residual=residual, epilogue="relu(x + bias) + residual")
    np.testing.assert_array_equal(got, np.maximum(sums + bias[:, None, None], 0) + residual)
    np.testing.assert_array_equal(conv2d(X, W, padding=1, bias=bias), sums + bias[:, None, None])
    np.testing.assert_array_equal(conv2d(X, W, padding=1, epilogue="abs(x)"), np.abs(sums))
    assert conv2d(X[:0], W, padding=1, bias=bias).shape == (0, 3, 6, 5)


def test_a_residual_lies_as_the_result_or_is_copied() -> None:
    residual = integers(2, 3, 6, 5)
    last = np.ascontiguousarray(residual.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    x = np.ascontiguousarray(X.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for images in (X, x):
        for array in (residual, last):
            got = conv2d(images, W, padding=1, residual=array)
            np.testing.assert_array_equal(got, plain(X) + residual)
    got = conv2d(x.transpose(0, 2, 3, 1), W.transpose(0, 2, 3, 1), padding=1, layout="NHWC",
                 residual=residual.transpose(0, 2, 3, 1))  # fmt: skip
    np.testing.assert_array_equal(got, (plain(X) + residual).transpose(0, 2, 3, 1))


def test_the_type_of_the_arrays_may_be_said() -> None:
    for compute in ("f32", "float32", np.float32):
        np.testing.assert_array_equal(gemm(A, B, compute=compute), A @ B)  # type: ignore[arg-type]
    with pytest.raises(Diagnostic, match="has no matrix instruction that multiplies tf32"):
        gemm(A, B, compute="tf32")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: gemm(A, B, epilogue="relu(x + bias)"),
            TypeError,
            "reads 'bias', which is not given",
        ),
        (
            lambda: gemm(A, B, epilogue="relu(x)", bias=BIAS),
            TypeError,
            "'bias' is given, and the epilogue 'relu.x.' does not read it",
        ),
        (lambda: gemm(A, B, epilogue="rellu(x)"), ValueError, "no function 'rellu'; did you mean 'relu'"),
        (lambda: gemm(A, B, epilogue="x +"), ValueError, "'epilogue' is 'x [+]': no expression"),
        (lambda: gemm(A, B, epilogue=["x"]), TypeError, "'epilogue' should be a text such as"),
        (lambda: gemm(A, B, bias=BIAS[:3]), ValueError, r"'bias' should have shape \(4,\), got \(3,\)"),
        (
            lambda: gemm(A, B, bias=BIAS.astype("f8")),
            TypeError,
            "'bias' should have dtype float32, got float64",
        ),
        (lambda: gemm(A, B, residual=BIAS), ValueError, r"'residual' should have shape \(6, 4\), got \(4,\)"),
        (lambda: gemm(A, B, bias="abc"), TypeError, "'bias'"),
        (lambda: conv2d(X, W, bias=BIAS), ValueError, r"'bias' should have shape \(3,\), got \(4,\)"),
        (
            lambda: conv2d(X, W, residual=X),
            ValueError,
            r"'residual' should have shape \(2, 3, 4, 3\), got \(2, 4, 6, 5\)",
        ),
        (lambda: gemm(A, B, compute="tf33"), ValueError, "'compute' is no type: unknown element type 'tf33'"),
        (lambda: gemm(A, B, compute="f16"), TypeError, "'compute' is f16, and the arrays have dtype float32"),
        (
            lambda: gemm(A.astype("f8"), B.astype("f8"), epilogue="gelu(x)"),
            ValueError,
            "'gelu' is computed in f32",
        ),
    ],
)
def test_mistakes_are_those_of_numpy(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_pre_activation_is_a_second_result_of_a_product() -> None:
    random = np.random.default_rng(3)
    a, b, bias = (random.integers(-4, 5, shape).astype("f4") for shape in ((20, 30), (30, 40), (40,)))
    words = {"epilogue": "relu(pre_activation(x + bias)) * 0.5", "bias": bias}
    want = a @ b + bias
    out = np.empty((20, 40), "f4"), np.empty((20, 40), "f4")
    for given in ({}, {}, {"out": out}, {"out": out}):  # the second time by a plan
        for array in out:
            array.fill(np.nan)
        result, before = gemm(a, b, **words, **given)  # type: ignore[arg-type]
        assert np.array_equal(before, want) and np.array_equal(result, np.maximum(want, 0) / 2)
        assert not given or (result is out[0] and before is out[1])
    added = gemm(a, b, np.ones((20, 40), "f4"), **words)  # type: ignore[arg-type]
    assert np.array_equal(added[1], want + 1)
    batch = gemm(np.stack([a, a]), np.stack([b, -b]), epilogue="relu(pre_activation(x))")
    assert np.array_equal(batch[1], np.stack([a @ b, -(a @ b)]))
    assert [x.shape for x in gemm(a[:0], b, epilogue="abs(pre_activation(x))")] == [(0, 40)] * 2


def test_a_pre_activation_lies_as_a_convolutions_result_does() -> None:
    random = np.random.default_rng(4)
    x, w = (random.integers(-4, 5, shape).astype("f4") for shape in ((2, 8, 9, 7), (6, 8, 3, 3)))
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for images in (x, last):
        want = conv2d(images, w, padding=1)
        out = np.empty_like(want), np.empty_like(want)
        for given in (None, None, out):
            result, before = conv2d(images, w, padding=1, epilogue="relu(pre_activation(x)) * 2", out=given)
            assert np.array_equal(before, want) and np.array_equal(result, np.maximum(want, 0) * 2)
            assert before.strides == result.strides == want.strides


@pytest.mark.parametrize("beta", [0, 1])
@pytest.mark.parametrize("name", ["residual", "bias", "row_scale"])
def test_what_lies_in_out_is_copied_first(name: str, beta: int) -> None:
    """The result itself, a view of it, and what overlaps it; none of it changes what is computed."""
    for first in (0, 2):
        whole = integers(8, 4)
        out, c = whole[:6], integers(6, 4)
        where = {"residual": whole[first:][:6], "bias": whole[first], "row_scale": whole[first:, 1][:6]}
        read = where[name].copy()
        sums = A @ B + beta * c
        want = sums * read[:, None] if name == "row_scale" else sums + read
        given = {"scales": {name: where[name]}} if name == "row_scale" else {name: where[name]}
        assert gemm(A, B, c, beta=beta, out=out, **given) is out
        np.testing.assert_array_equal(out, want)


def test_a_residual_may_lie_in_both_results() -> None:
    for place in (0, 1):
        out = integers(6, 4), integers(6, 4)
        want = A @ B + out[place]
        gemm(A, B, residual=out[place][:], epilogue="relu(pre_activation(x + residual))", out=out)
        np.testing.assert_array_equal(out[1], want)
        np.testing.assert_array_equal(out[0], np.maximum(want, 0))
    x, w = integers(2, 3, 6, 5), integers(3, 3, 3, 3)
    both = integers(3, 3, 6, 5)
    want = conv2d(x, w, padding=1) + both[1:]
    np.testing.assert_array_equal(conv2d(x, w, padding=1, residual=both[1:], out=both[:2]), want)


@pytest.mark.parametrize(
    ("epilogue", "out", "message"),
    [
        ("relu(pre_activation(x))", lambda c, _: c, "two arrays, .result, pre_activation."),
        ("relu(pre_activation(x))", lambda c, _: (c, c), "shares memory with 'result'"),
        ("relu(pre_activation(x))", lambda c, p: (c, p.T), "should have shape"),
        ("relu(pre_activation(x))", lambda c, _: (c, np.empty((4, 5), "f4", order="F")), "in one order"),
        ("relu(x)", lambda c, p: (c, p), "got a sequence"),
    ],
)
def test_out_is_a_pair_where_there_are_two_results(epilogue: str, out: Any, message: str) -> None:
    a, b = np.ones((4, 3), "f4"), np.ones((3, 5), "f4")
    with pytest.raises((TypeError, ValueError), match=message):
        gemm(a, b, epilogue=epilogue, out=out(np.empty((4, 5), "f4"), np.empty((4, 5), "f4")))
