"""Gradients of the ops, of the second order too, against differences in float64, and against torch's."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex.torch as ours  # noqa: E402
from imbrex.torch.activation import ACTIVATIONS  # noqa: E402

MOVES = ([2, 1], [1, 0, 1, 1], [1, 2], 2)
X, W, Y = (2, 2, 5, 6), (4, 1, 2, 2), (2, 4, 3, 6)


def some(*shape: int) -> Any:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)
    return made.requires_grad_()


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "conv2d": (
        lambda x, w, s, b, r: torch.ops.imbrex.conv2d(x, w, s, b, r, *MOVES, "relu", False),
        (some(*X), some(*W), some(4), some(4), some(*Y)),
    ),
    "backward data": (
        lambda dy, w: torch.ops.imbrex.conv2d_backward_data(dy, w, X, *MOVES, False),
        (some(*Y), some(*W)),
    ),
    "backward weight": (
        lambda dy, x: torch.ops.imbrex.conv2d_backward_weight(dy, x, W, *MOVES, False),
        (some(*Y), some(*X)),
    ),
    "transposed": (
        lambda x, w, b: ours.conv_transpose2d(x, w, b, stride=2, output_padding=1, activation="tanh"),
        (some(1, 2, 3, 2), some(2, 3, 2, 2), some(3)),
    ),
    "product": (
        lambda a, b, c, r: torch.ops.imbrex.product(a, b, c, r, 0.5, "hardswish", False),
        (some(3, 4), some(4, 5), some(5), some(3, 5)),
    ),
    "conv2d, its sums": (
        lambda x, w, s, b, r: torch.ops.imbrex.conv2d_with_sums(x, w, s, b, r, *MOVES, "leaky_relu", False),
        (some(*X), some(*W), some(4), some(4), some(*Y)),
    ),
    "product, its sums": (
        lambda a, b, c, r: torch.ops.imbrex.product_with_sums(a, b, c, r, 0.5, "hardswish", False),
        (some(3, 4), some(4, 5), some(5), some(3, 5)),
    ),
    "products": (ours.bmm, (some(2, 3, 4), some(2, 4, 3))),
    "linear": (lambda x, w, b: ours.linear(x, w, b, activation="gelu"), (some(2, 3, 4), some(5, 4), some(5))),
    "addmm": (
        lambda c, a, b: ours.addmm(c, a, b, beta=0.5, alpha=2.0, activation="leaky_relu"),
        (some(5), some(3, 4), some(4, 5)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_first_and_second_derivatives(case: str) -> None:
    function, given = CASES[case]
    assert torch.autograd.gradcheck(function, given)
    assert torch.autograd.gradgradcheck(function, given)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_fused_activation_has_the_gradient_of_torchs(name: str) -> None:
    a, b, bias, residual = (
        some(*s).detach().float().requires_grad_() for s in ((5, 8), (8, 6), (6,), (5, 6))
    )
    got = torch.ops.imbrex.product(a, b, bias, residual, 2.0, name, False)
    want = ACTIVATIONS[name].forward(2 * (a @ b) + bias + residual)
    dy = torch.randn_like(want)
    for ours_, theirs in zip(
        torch.autograd.grad(got, (a, b, bias, residual), dy),
        torch.autograd.grad(want, (a, b, bias, residual), dy),
        strict=True,
    ):
        torch.testing.assert_close(ours_, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_gradient_of_an_activation_has_a_gradient(name: str) -> None:
    row = ACTIVATIONS[name]
    assert torch.autograd.gradcheck(row.backward, (some(3, 4), some(4, 3).mT))
    with torch.no_grad():
        fast = row.backward(some(3, 4), some(4, 3).mT)
    torch.testing.assert_close(fast, row.backward(some(3, 4), some(4, 3).mT))


@pytest.mark.parametrize("fallback", [False, True])
def test_sums_are_kept_and_not_computed_again(fallback: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a convolution and of a product: one kernel forward, and one by each factor back."""
    counted: list[str] = []

    class Count(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counted.append(str(op))
            return op(*args, **(kwargs or {}))

    x, w, bias, m = (some(*s).detach().float().requires_grad_() for s in (X, W, (4,), (6, 5)))
    if fallback:
        monkeypatch.setattr("imbrex.torch.ops.answered", lambda ours, theirs, out: theirs())
    with Count():
        y = ours.conv2d(x, w, bias, 1, 1, 1, 2, activation="gelu", fallback=fallback)
        z = ours.linear(y[..., :6].contiguous(), m.mT, activation="silu", fallback=fallback)
        z.square().mean().backward()
    kernels = [op.split(".")[1] for op in counted if op.startswith("imbrex.")]
    assert kernels == [
        "conv2d_with_sums", "product_with_sums", "product", "product", "conv2d_backward_data",
        "conv2d_backward_weight",
    ]  # fmt: skip
    got = [v.grad for v in (x, w, bias, m)]
    F = torch.nn.functional
    want = F.silu(F.gelu(F.conv2d(x, w, bias, 1, 1, 1, 2))[..., :6] @ m).square().mean()
    for one, other in zip(got, torch.autograd.grad(want, (x, w, bias, m)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_only_what_needs_a_gradient_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = some(*X).detach(), some(*W)
    counted: list[str] = []

    class Count(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counted.append(str(op))
            return op(*args, **(kwargs or {}))

    y = torch.ops.imbrex.conv2d(x, w, None, None, None, *MOVES, "", False)
    with Count():
        y.sum().backward()
    assert "imbrex.conv2d_backward_weight.default" in counted
    assert "imbrex.conv2d_backward_data.default" not in counted
    assert w.grad is not None and x.grad is None


def test_twice_gives_the_same_bits() -> None:
    def once() -> list[Any]:
        x, w = (some(*s).detach().float().requires_grad_() for s in (X, W))
        y = torch.ops.imbrex.conv2d(x, w, None, None, None, *MOVES, "", False)
        return [y, *torch.autograd.grad(y.square().sum(), (x, w))]

    torch.use_deterministic_algorithms(True)
    try:
        assert all(torch.equal(a, b) for a, b in zip(once(), once(), strict=True))
    finally:
        torch.use_deterministic_algorithms(False)
