"""Transforms of `torch.func` and forward mode: the same results as those of torch's own ops, or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex  # noqa: E402
import imbrex.torch as ours  # noqa: E402
from imbrex.torch.activation import ACTIVATIONS  # noqa: E402

F: Any = torch.nn.functional
func: Any = torch.func
forward: Any = pytest.importorskip("torch.autograd.forward_ad")


def some(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


X, W, S, B, R = some(2, 3, 5, 5), some(4, 3, 2, 2), some(4), some(4) + 1, some(2, 4, 4, 4)
M, N, C = some(3, 5), some(5, 4), some(4)


def convolved(name: str | None) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    def theirs(x: Any, w: Any, s: Any, b: Any, r: Any) -> Any:
        sums = F.conv2d(x, w) * s.reshape(-1, 1, 1) + b.reshape(-1, 1, 1) + r
        return ACTIVATIONS[name].forward(sums) if name else sums

    def kernels(x: Any, w: Any, s: Any, b: Any, r: Any) -> Any:
        return ours.conv2d(x, w, b, scale=s, residual=r, activation=name)

    return kernels, theirs, (X, W, S, B, R)


def multiplied(name: str | None) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    def theirs(m: Any, n: Any, c: Any) -> Any:
        sums = 0.5 * (m @ n) + c
        return ACTIVATIONS[name].forward(sums) if name else sums

    return lambda m, n, c: ours.addmm(c, m, n, alpha=0.5, activation=name), theirs, (M, N, C)


CASES = {
    "convolution": convolved(None),
    "by the result": convolved("relu"),
    "by the sums": convolved("leaky_relu"),
    "product": multiplied("hardswish"),
    "transposed": (
        lambda x, w: ours.conv_transpose2d(x, w, stride=2),
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        (X, some(3, 2, 2, 2)),
    ),
}


def of_all(wrapped: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    return func.grad(lambda *each: wrapped(*each).square().sum(), tuple(range(len(given))))(*given)


@pytest.mark.parametrize("case", CASES)
def test_tangents_gradients_and_second_derivatives(case: str) -> None:
    kernels, theirs, given = CASES[case]
    tangents = tuple(value + 1 for value in given)
    close = torch.testing.assert_close
    close(func.jvp(kernels, given, tangents), func.jvp(theirs, given, tangents))
    close(of_all(kernels, given), of_all(theirs, given))
    at = (given[0], tangents[0])
    each = [
        func.jvp(lambda one, f=f: of_all(f, (one, *given[1:])), at[:1], at[1:]) for f in (kernels, theirs)
    ]
    close(*each)
    for number in range(len(given)):
        close(of_one(kernels, given, number), of_one(theirs, given, number))


def of_one(f: Callable[..., Any], given: tuple[Any, ...], number: int) -> Any:
    """The tangent where one argument alone has one."""
    value = (given[number],)
    return func.jvp(lambda one: f(*given[:number], one, *given[number + 1 :]), value, value)


def test_gradients_of_each_image_and_jacobians() -> None:
    def of_images(f: Any) -> Any:
        gradient = func.grad(lambda w, x: f(x[None], w).square().sum())
        return func.vmap(gradient, (None, 0))(W, X)

    torch.testing.assert_close(of_images(ours.conv2d), of_images(F.conv2d))
    for of in (func.jacrev, func.jacfwd):
        torch.testing.assert_close(of(ours.mm, (0, 1))(M, N), of(torch.mm, (0, 1))(M, N))


@pytest.mark.parametrize("is_recorded", [False, True])
def test_tensors_with_tangents(is_recorded: bool) -> None:
    """Also where no gradient is asked for, and calls else go past torch's dispatcher."""

    def of(f: Any) -> Any:
        with torch.set_grad_enabled(is_recorded), forward.dual_level():
            weight = N.clone().requires_grad_(is_recorded)
            return forward.unpack_dual(f(M, forward.make_dual(weight, N + 1))).tangent

    torch.testing.assert_close(of(ours.mm), of(torch.mm))


def test_tensors_with_tangents_are_no_arrays() -> None:
    """Nor are those of other transforms: imbrex.gemm would forget what is asked of them."""
    assert imbrex.gemm(M, N).shape == (3, 4)
    with forward.dual_level(), pytest.raises(TypeError, match=r"'b' has a tangent.*imbrex\.torch"):
        imbrex.gemm(M, forward.make_dual(N, N))
    with pytest.raises(TypeError, match=r"'a' is a value of a transform.*imbrex\.torch"):
        func.vmap(lambda m: imbrex.gemm(m, N))(M[None])


def test_an_op_that_would_lose_a_tangent_is_refused() -> None:
    def op(n: Any) -> Any:
        return torch.ops.imbrex.product(M, n, None, None, 1.0, "", False)

    with pytest.raises(NotImplementedError, match=r"imbrex\.product' has no tangents.*imbrex\.torch have"):
        func.jvp(op, (N,), (N,))
    assert op(N).shape == (3, 4)
