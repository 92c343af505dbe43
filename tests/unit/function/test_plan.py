"""A call that was made before takes the short way, and what differs from it in anything goes the long one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.patience import HANG_S

import imbrex
from imbrex.function import conv, gemm, plan

RNG = np.random.default_rng(8)
A = RNG.integers(-5, 6, (6, 9)).astype(np.float32)
B = RNG.integers(-5, 6, (9, 4)).astype(np.float32)
X = RNG.integers(-5, 6, (1, 4, 5, 5)).astype(np.float32)
W = RNG.integers(-5, 6, (3, 4, 3, 3)).astype(np.float32)


@pytest.fixture
def long_ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The long ways that were gone, none of them before this test."""
    gone: list[str] = []
    plan.clear()
    for module, name in ((gemm, "memory_of"), (conv, "memory_of")):
        whole = getattr(module, name)

        def told(*given: Any, of: Callable[..., Any] = whole, at: str = module.__name__) -> Any:
            gone.append(at)
            return of(*given)

        monkeypatch.setattr(module, name, told)
    yield gone
    plan.clear()


def test_the_second_call_is_short(long_ways: list[str]) -> None:
    np.testing.assert_array_equal(imbrex.gemm(A, B), A @ B)
    np.testing.assert_array_equal(imbrex.gemm(A + 1, 2 * B), (A + 1) @ (2 * B))
    assert len(long_ways) == 1


def test_a_call_that_finds_no_plan_makes_none(long_ways: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take the place of one that is found."""
    monkeypatch.setattr(plan, "_MOST", 1)
    for _ in range(2):
        np.testing.assert_array_equal(imbrex.gemm(A, B), A @ B)
        np.testing.assert_array_equal(imbrex.gemm(A, B, np.ones((6, 4), np.float32)), A @ B + 1)
    assert len(long_ways) == 3


def test_one_array_twice_is_not_a_call_with_two(long_ways: list[str]) -> None:
    square, other = A[:4, :4].copy(), B[:4, :4].copy()
    np.testing.assert_array_equal(imbrex.gemm(square, square), square @ square)
    np.testing.assert_array_equal(imbrex.gemm(square, other), square @ other)
    assert len(long_ways) == 1


def test_results_that_are_given_and_read_arrays(long_ways: list[str]) -> None:
    out, bias, residual = np.empty((6, 4), np.float32), B[0].copy(), A[:, :4].copy()
    for scale in (1, 2):
        given = {"epilogue": "relu(x + bias + residual)", "bias": scale * bias, "residual": scale * residual}
        assert imbrex.gemm(A, B, out=out, **given) is out
        np.testing.assert_array_equal(out, np.maximum(A @ B + scale * (bias + residual), 0))
    assert len(long_ways) == 1


def test_convolutions_have_plans(long_ways: list[str]) -> None:
    first = imbrex.conv2d(X, W, padding=1)
    np.testing.assert_array_equal(imbrex.conv2d(3 * X, W, padding=1), 3 * first)
    lying = X.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    for _ in range(2):
        last = imbrex.conv2d(lying, W, padding=1)
        np.testing.assert_array_equal(last, first)
        assert last.strides == first.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2).strides
    dx = imbrex.conv2d_backward_data(first, W, X.shape, padding=1)
    np.testing.assert_array_equal(imbrex.conv2d_backward_data(2 * first, W, X.shape, padding=1), 2 * dx)
    assert len(long_ways) == 3


@pytest.mark.parametrize(
    ("b", "out", "error"),
    [
        (B, np.broadcast_to(np.float32(0), (6, 4)), ValueError),
        (B, np.empty((6, 5), np.float32), ValueError),
        (B, np.empty((6, 4), np.float64), TypeError),
        (B, np.empty((6, 8), np.float32)[:, ::2], ValueError),
        (B, [[0.0] * 4] * 6, TypeError),
        (B, np.zeros(100, np.uint8)[1:97].view(np.float32).reshape(6, 4), ValueError),
        (B.astype(np.float64), None, TypeError),
        (B[:8], None, ValueError),
        (np.ma.masked_array(B), None, TypeError),
    ],
)
def test_a_plan_hides_no_mistake(long_ways: list[str], b: Any, out: Any, error: type[Exception]) -> None:
    def said() -> str:
        with pytest.raises(error) as caught:
            imbrex.gemm(A, b, out=out)
        return str(caught.value)

    before = said()
    imbrex.gemm(A, B)
    imbrex.gemm(A, B, out=np.empty((6, 4), np.float32))
    assert said() == before


def test_overlap_is_seen_in_every_call(long_ways: list[str]) -> None:
    whole = np.zeros(200, np.float32)
    a, b = whole[:16].reshape(4, 4), whole[50:66].reshape(4, 4)
    imbrex.gemm(a, b, out=whole[100:116].reshape(4, 4))
    for start in (4, 40, 60):
        with pytest.raises(ValueError, match="'out' shares memory with"):
            imbrex.gemm(a, b, out=whole[start : start + 16].reshape(4, 4))
    assert imbrex.gemm(a, b, out=whole[16:32].reshape(4, 4)) is not None


def test_copied_arrays_are_copied_every_time(long_ways: list[str]) -> None:
    wide = np.repeat(A, 2, axis=1)
    for scale in (1, 2):
        np.testing.assert_array_equal(imbrex.gemm((scale * wide)[:, ::2], B), scale * (A @ B))
    assert len(long_ways) == 2


def test_another_database_and_other_threads_are_looked_at_again(
    long_ways: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    imbrex.gemm(A, B)
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "other.db"))
    imbrex.gemm(A, B)
    monkeypatch.setenv("IMBREX_THREADS", "1")
    imbrex.gemm(A, B)
    imbrex.gemm(A, B, threads=1)
    assert len(long_ways) == 4


def test_a_kernel_takes_the_short_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = imbrex.compile("gemm -t f32 -m 6 -n 4 -k 9", threads=1)
    np.testing.assert_array_equal(kernel(A, B), A @ B)
    monkeypatch.setattr(type(kernel.loaded), "__call__", None)
    np.testing.assert_array_equal(kernel(A, B + 1), A @ (B + 1))
    out = np.empty((6, 4), np.float32)
    assert kernel(A, B, out) is out
    monkeypatch.undo()
    with pytest.raises(ValueError, match="shares memory"):
        kernel(A, B, A.reshape(-1)[:24].reshape(6, 4))
    with pytest.raises(TypeError, match="'stream' is of a GPU"):
        kernel(A, B, out, stream=1)
    with pytest.raises(ValueError, match="'threads' should be an integer from 1"):
        kernel(A, B, out, threads=0)


def test_calls_from_several_threads_and_a_forked_child() -> None:
    a, b = RNG.integers(-3, 4, (2, 96, 96)).astype(np.float32)
    right, wrong = a @ b, list[int]()

    def work() -> None:
        for _ in range(10):
            if not np.array_equal(imbrex.gemm(a, b, threads=2), right):
                wrong.append(1)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(HANG_S)
    assert not any(caller.is_alive() for caller in callers)
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:  # else what is raised here goes on as a second run of all that follows
            os._exit(len(wrong))
    assert os.waitpid(child, 0)[1] == 0
    assert not wrong
