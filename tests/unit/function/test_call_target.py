"""Functions of arrays on other targets: the same results, and NumPy's errors for a word that is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import imbrex
from imbrex.diagnostic import Diagnostic

RANDOM = np.random.default_rng(3)
A, B = (RANDOM.integers(-4, 5, shape).astype(np.float32) for shape in ((9, 20), (20, 13)))
X, W = (RANDOM.integers(-4, 5, shape).astype(np.float32) for shape in ((2, 3, 6, 5), (4, 3, 3, 3)))


@pytest.mark.parametrize(
    "words", [{"target": "emulate"}, {"emulate": True}, {"target": "gfx90a", "emulate": True}]
)
def test_the_lane_level_build_gives_the_same(words: dict[str, Any]) -> None:
    np.testing.assert_array_equal(imbrex.gemm(A, B, **words), A @ B)
    want = imbrex.conv2d(X, W, padding=1)
    np.testing.assert_array_equal(imbrex.conv2d(X, W, padding=1, **words), want)
    for other, shape, function in (
        (W, X.shape, imbrex.conv2d_backward_data),
        (X, W.shape, imbrex.conv2d_backward_weight),
    ):
        expected = function(want, other, shape, padding=1)
        np.testing.assert_array_equal(function(want, other, shape, padding=1, **words), expected)


def test_a_gpu_that_is_not_here_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    with pytest.raises(Diagnostic, match="a kernel for gfx942 cannot run here"):
        imbrex.gemm(A, B, target="gfx942")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: imbrex.gemm(A, B, target="gfx1"), "target 'gfx1' is not supported"),
        (lambda: imbrex.conv2d(X, W, target="cpu", emulate=True), "target 'cpu' has no lane-level form"),
    ],
)
def test_a_wrong_word_is_a_value_error(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
