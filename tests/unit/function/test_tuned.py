"""Calls that are told to tune themselves: gemm, conv2d and its gradients; on a tuner that is made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import imbrex
from imbrex.kernel import CPU
from imbrex.problem import Conv2d, Gemm
from imbrex.tuner import interface

A, B = np.ones((6, 5), np.float32), np.ones((5, 7), np.float32)
X, W = np.ones((1, 2, 5, 5), np.float32), np.ones((3, 2, 3, 3), np.float32)
DY = np.ones((1, 3, 3, 3), np.float32)
Tuned = list[tuple[Any, ...]]


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> Tuned:
    """What was tuned, each time."""
    found: Tuned = []

    def tune(problem: Any, target: Any, *, threads: int | None, effort: str) -> None:
        found.append((problem, target, threads, effort))

    monkeypatch.setattr(interface, "tune", tune)
    monkeypatch.setattr("imbrex.kernel.tuned._tuned", set())
    return found


@pytest.mark.parametrize(
    ("call", "kind", "direction"),
    [
        (lambda **words: imbrex.gemm(A, B, **words), Gemm, None),
        (lambda **words: imbrex.conv2d(X, W, **words), Conv2d, "forward"),
        (lambda **words: imbrex.conv2d_backward_data(DY, W, X.shape, **words), Conv2d, "backward_data"),
        (lambda **words: imbrex.conv2d_backward_weight(DY, X, W.shape, **words), Conv2d, "backward_weight"),
    ],
)
def test_a_call_is_tuned_before_its_first_kernel_and_once(
    call: Callable[..., Any], kind: type, direction: str | None, tuned: Tuned
) -> None:
    plain = call(threads=1)
    assert tuned == []
    for _ in range(3):
        assert np.array_equal(call(threads=1, tune="quick"), plain)
    ((problem, target, threads, effort),) = tuned
    assert isinstance(problem, kind) and getattr(problem, "direction", None) == direction
    assert (target, threads, effort) == (CPU, 1, "quick")


def test_another_effort_and_another_database_are_tuned_for_again(
    tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    imbrex.compile("gemm -m 6 -n 7 -k 5", threads=1, tune="quick")
    imbrex.gemm(A, B, threads=1, tune="full")
    monkeypatch.setenv("IMBREX_DB", "/nowhere/t.db")
    imbrex.gemm(A, B, threads=1, tune="quick")
    assert [effort for *_, effort in tuned] == ["quick", "full", "quick"]


@pytest.mark.parametrize("more", [{"algorithm": "direct"}, {"batches": "any"}])
def test_what_is_chosen_cannot_be_tuned(more: dict[str, Any], tuned: Tuned) -> None:
    (name,) = more
    with pytest.raises(imbrex.Diagnostic, match=f"'tune' chooses what '{name}' says"):
        imbrex.gemm(A, B, threads=1, tune="quick", **more)
    with pytest.raises(ValueError, match="'tune' should be 'quick', 'normal' or 'full', got 'fast'"):
        imbrex.conv2d(X, W, tune="fast")  # type: ignore[arg-type]
    assert tuned == []
