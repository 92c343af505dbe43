"""Calls that were made before go by their plan, and give what they gave."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.torch import again as module  # noqa: E402
from imbrex.torch.again import Again  # noqa: E402
from imbrex.torch.ops import KERNELS  # noqa: E402


def some(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_third_call_looks_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    again = Again(lambda *given: (calls.append(1), KERNELS["product"](*given))[1], tensors=4)

    def expect_right(a: Any, b: Any, bias: Any, called: int) -> None:
        sums = a @ b if bias is None else a @ b + bias
        torch.testing.assert_close(again(a, b, bias, None, 1.0, "relu", False), torch.relu(sums))
        assert len(calls) == called

    with torch.no_grad():
        a, b, bias = some(5, 8), some(8, 6), some(6)
        for seed in range(5):
            expect_right(some(5, 8, seed=seed), b, some(6, seed=seed), min(seed + 1, 2))
        expect_right(a, b, None, 3)
        expect_right(a.mT.contiguous().mT, b, bias, 4)
        monkeypatch.setattr(module, "verdicts", lambda: -1)
        expect_right(a, b, bias, 5)


def test_a_tensor_that_is_given_twice_tells_nothing() -> None:
    """Which of the two a plan read could not be told, and later calls give two."""
    x, w = some(1, 8, 6, 6), some(8, 8, 3, 3)
    with torch.no_grad():
        for residual in (x, x, x, some(1, 8, 6, 6, seed=1), some(1, 8, 6, 6, seed=2)):
            want = torch.nn.functional.conv2d(x, w, padding=1) + residual
            got = ours.conv2d(x, w, padding=1, residual=residual)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def test_a_call_with_its_sums_is_made_again() -> None:
    calls: list[int] = []
    name = "product_with_sums"
    again = Again(lambda *given: (calls.append(1), KERNELS[name](*given))[1], tensors=4)
    with torch.no_grad():
        for seed in range(5):
            a, b = some(5, 8, seed=seed), some(8, 6)
            result, sums = again(a, b, None, None, 1.0, "relu", False)
            torch.testing.assert_close(sums, a @ b)
            assert torch.equal(result, torch.relu(sums)) and len(calls) == min(seed + 1, 2)
