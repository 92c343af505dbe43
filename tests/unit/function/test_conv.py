"""conv2d and its gradients on arrays: equal to a definition in six loops, whatever the layout in memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from imbrex import conv2d, conv2d_backward_data, conv2d_backward_weight

RNG = np.random.default_rng(7)
X = RNG.integers(-4, 5, (2, 4, 6, 5)).astype(np.float32)
W = RNG.integers(-4, 5, (6, 2, 3, 2)).astype(np.float32)
WAY: dict[str, Any] = {"stride": (2, 1), "padding": ((1, 2), (0, 1)), "dilation": (1, 2), "groups": 2}
DY = RNG.integers(-4, 5, (2, 6, 4, 4)).astype(np.float32)


def terms() -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Indices of y, x and w, one triple a product of the definition with WAY."""
    found = []
    for n, k, ho, wo, c, y, x in product(
        range(2), range(6), range(4), range(4), range(2), range(3), range(2)
    ):
        h, w = 2 * ho + y - 1, wo + 2 * x
        if 0 <= h < 6 and 0 <= w < 5:
            found.append(((n, k, ho, wo), (n, k // 3 * 2 + c, h, w), (k, c, y, x)))
    return found


TERMS = tuple(np.array(column).T for column in zip(*terms(), strict=True))


def summed(
    shape: tuple[int, ...], into: int, left: tuple[int, np.ndarray], right: tuple[int, np.ndarray]
) -> Any:
    """The sum over all terms of left times right, at the index that term number `into` says."""
    total = np.zeros(shape, np.float32)
    np.add.at(total, tuple(TERMS[into]), left[1][tuple(TERMS[left[0]])] * right[1][tuple(TERMS[right[0]])])
    return total


def test_numbers_of_numpy_are_numbers() -> None:
    words = {"stride": np.array([2, 1]), "padding": np.array([[1, 2], [0, 1]]), "dilation": np.int64(1)}
    same = {"stride": (2, 1), "padding": ((1, 2), (0, 1))}
    np.testing.assert_array_equal(conv2d(X, W, groups=2, **words), conv2d(X, W, groups=2, **same))
    with pytest.raises(TypeError, match=r"'stride' should be integers, got \[1.5, 2.0\]"):
        conv2d(X, W, groups=2, stride=np.array([1.5, 2]))


def test_forward() -> None:
    want = summed((2, 6, 4, 4), 0, (1, X), (2, W))
    np.testing.assert_array_equal(conv2d(X, W, **WAY), want)


def test_backward_data() -> None:
    want = summed(X.shape, 1, (0, DY), (2, W))
    np.testing.assert_array_equal(conv2d_backward_data(DY, W, X.shape, **WAY), want)


def test_backward_weight() -> None:
    want = summed(W.shape, 2, (0, DY), (1, X))
    np.testing.assert_array_equal(conv2d_backward_weight(DY, X, W.shape, **WAY), want)


def test_channels_last_by_index_and_by_memory() -> None:
    """Two ways to the same kernel: arrays indexed as NHWC, and arrays indexed as NCHW that lie as NHWC."""
    x, w = X.transpose(0, 2, 3, 1).copy(), W.transpose(0, 2, 3, 1).copy()
    want = summed((2, 6, 4, 4), 0, (1, X), (2, W))
    by_index = conv2d(x, w, layout="NHWC", **WAY)
    np.testing.assert_array_equal(by_index, want.transpose(0, 2, 3, 1))
    by_memory = conv2d(x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2), **WAY)
    np.testing.assert_array_equal(by_memory, want)
    assert by_memory.transpose(0, 2, 3, 1).flags.c_contiguous


def test_gaps_are_copied() -> None:
    wide = np.repeat(X, 2, axis=3)[..., ::2]
    assert not wide.flags.c_contiguous
    np.testing.assert_array_equal(conv2d(wide, W, **WAY), summed((2, 6, 4, 4), 0, (1, X), (2, W)))


def test_out_in_any_order() -> None:
    out = np.full((2, 4, 4, 6), np.nan, np.float32).transpose(0, 3, 1, 2)
    x, w = (
        X.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2),
        W.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2),
    )
    assert conv2d(x, w, out=out, **WAY) is out
    np.testing.assert_array_equal(out, summed((2, 6, 4, 4), 0, (1, X), (2, W)))


def test_no_images() -> None:
    assert conv2d(X[:0], W, **WAY).shape == (0, 6, 4, 4)
    assert conv2d_backward_data(DY[:0], W, (0, 4, 6, 5), **WAY).shape == (0, 4, 6, 5)
    np.testing.assert_array_equal(conv2d_backward_weight(DY[:0], X[:0], W.shape, **WAY), np.zeros(W.shape))


def test_same_and_valid_padding() -> None:
    x, w = np.ones((1, 1, 5, 5), np.float32), np.ones((1, 1, 3, 2), np.float32)
    same = conv2d(x, w, padding="same")
    assert same.shape == x.shape
    np.testing.assert_array_equal(same[0, 0, :, -1], [2, 3, 3, 3, 2])
    np.testing.assert_array_equal(same, conv2d(x, w, padding=((1, 1), (0, 1))))


def test_integers_give_wide_integers() -> None:
    x, w = np.full((1, 200, 1, 1), -128, np.int8), np.full((1, 200, 1, 1), -128, np.int8)
    result = conv2d(x, w)
    assert (result.dtype, result.item()) == (np.int32, 200 * 128 * 128)


def test_torch_bfloat16_channels_last() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.from_numpy(X).to(torch.bfloat16).to(memory_format=torch.channels_last)
    w = torch.from_numpy(W).to(torch.bfloat16)
    result = conv2d(x, w, **WAY)
    assert (result.dtype, type(result)) == (torch.bfloat16, torch.Tensor)
    assert result.is_contiguous(memory_format=torch.channels_last)
    want = torch.from_numpy(summed((2, 6, 4, 4), 0, (1, X), (2, W))).to(torch.bfloat16)
    assert torch.equal(result, want)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: conv2d(X[0], W, **WAY), ValueError, r"'x' should have 4 dimensions \(n, c, hi, wi\), got 3"),
        (lambda: conv2d(X, W[0], **WAY), ValueError, "'w' should have 4 dimensions"),
        (
            lambda: conv2d(X, W),
            ValueError,
            r"'w' should have shape \(6, 4, 3, 2\) for 4 channels in 1 group",
        ),
        (lambda: conv2d(X, W, groups=3), ValueError, "c = 4 channels do not divide into 3 groups"),
        (lambda: conv2d(X, W, groups=0), ValueError, "'groups' should be a positive integer"),
        (lambda: conv2d(X, W, groups=2, stride=0), ValueError, "'stride' should be at least 1"),
        (
            lambda: conv2d(X, W, groups=2, stride=(1, 2, 3)),
            ValueError,
            "'stride' should be one number or two",
        ),
        (lambda: conv2d(X, W, groups=2, stride=1.5), TypeError, "'stride' should be integers"),
        (
            lambda: conv2d(X, W, groups=2, padding="full"),
            ValueError,
            "numbers, 'same' or 'valid', got 'full'",
        ),
        (lambda: conv2d(X, W, groups=2, padding="same", stride=2), ValueError, "'same' needs a stride of 1"),
        (lambda: conv2d(X, W, groups=2, padding=-1), ValueError, "'padding' should be at least 0"),
        (
            lambda: conv2d(X[:, :, :2], W, groups=2),
            ValueError,
            "window y = 3 is larger than the padded input",
        ),
        (lambda: conv2d(X, W, groups=2, layout="NCHX"), ValueError, "did you mean 'NCHW'"),
        (
            lambda: conv2d(X, W.astype(np.float64), groups=2),
            TypeError,
            "'x' and 'w' should have the same dtype",
        ),
        (
            lambda: conv2d(X.astype(int), W.astype(int), groups=2),
            TypeError,
            "'x' has dtype int64; convert it to what kernels take: float32",
        ),
        (lambda: conv2d(X > 0, W > 0, groups=2), TypeError, "'x' has dtype bool"),
        (lambda: conv2d("abc", W), TypeError, "'x' should be an array of numbers"),
        (lambda: conv2d(X, W, groups=2, out=X), ValueError, r"'out' should have shape \(2, 6, 4, 4\)"),
        (lambda: conv2d(X, np.ones((4, 4, 1, 1), "f4"), out=X), ValueError, "'out' shares memory with 'x'"),
        (lambda: conv2d(X, W, **WAY, out=[1]), TypeError, "'out' should be an array, got a sequence"),
        (
            lambda: conv2d(X, W, **WAY, out=DY.astype(np.float64)),
            TypeError,
            "'out' should have dtype float32",
        ),
        (
            lambda: conv2d(X, W, **WAY, out=np.zeros((2, 6, 4, 8), "f4")[..., ::2]),
            ValueError,
            "'out' should be dense",
        ),
        (lambda: conv2d_backward_data(X, W, X.shape, groups=2), ValueError, "'dy' should have shape"),
        (
            lambda: conv2d_backward_data(DY, W, X.shape[1:], groups=2),
            ValueError,
            "'input_shape' should have 4",
        ),
        (
            lambda: conv2d_backward_weight(DY, X, (6, 2, 3), groups=2),
            ValueError,
            "'filter_shape' should have 4",
        ),
        (
            lambda: conv2d_backward_weight(DY, X, "abcd", groups=2),
            TypeError,
            "'filter_shape' should be integers",
        ),
    ],
)
def test_mistakes_are_those_of_numpy(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
