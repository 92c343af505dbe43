"""Functions of JAX: values and gradients of every order beside JAX's own, under jit and vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax: Any = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402

import imbrex  # noqa: E402
import imbrex.jax as ours  # noqa: E402
from imbrex.jax import ops  # noqa: E402

MOVES: dict[str, Any] = {"stride": (2, 1), "padding": 1, "groups": 2}


def some(*shape: int, kind: str = "float32") -> Any:
    return jnp.asarray(np.random.default_rng(sum(shape)).standard_normal(shape), kind)


def theirs(x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(
        x, w, (2, 1), ((1, 1), (1, 1)), feature_group_count=2, precision=jax.lax.Precision.HIGHEST
    )


def mine(x: Any, w: Any) -> Any:
    return ours.conv2d(x, w, **MOVES)


X, W = some(2, 4, 7, 6), some(6, 2, 3, 3)
A, B = some(3, 5, 8), some(8, 6)


def near(one: Any, other: Any) -> None:
    np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5 * (1 + float(jnp.abs(other).max())))


def test_values_under_jit_and_without() -> None:
    for function in (mine, jax.jit(mine)):
        near(function(X, W), theirs(X, W))
    for b in (B, some(3, 8, 6)):
        near(jax.jit(ours.matmul)(A, b), A @ b)
    near(ours.matmul(A[:1], some(1, 8, 6)), A[:1] @ some(1, 8, 6))


def test_gradients_and_their_gradients() -> None:
    def loss(function: Any) -> Any:
        return lambda *arrays: jnp.sum(jnp.sin(function(*arrays)))

    pairs = (
        ((X, W), mine, theirs),
        ((A, B), ours.matmul, jnp.matmul),
        ((A, some(3, 8, 6)), ours.matmul, jnp.matmul),
    )
    for arrays, own, other in pairs:
        for found, want in zip(
            jax.jit(jax.grad(loss(own), (0, 1)))(*arrays), jax.grad(loss(other), (0, 1))(*arrays), strict=True
        ):
            near(found, want)

        def twice(function: Any) -> Any:
            first = jax.grad(loss(function), (0, 1))
            return jax.grad(lambda *given: sum(jnp.sum(part**2) for part in first(*given)), (0, 1))

        for found, want in zip(twice(own)(*arrays), twice(other)(*arrays), strict=True):
            near(found, want)


def test_vmap_and_types() -> None:
    many = jnp.stack([X, 2 * X])
    near(jax.vmap(mine, (0, None))(many, W), jnp.stack([theirs(x, W) for x in many]))
    half = ours.matmul(A.astype("bfloat16"), B.astype("bfloat16"))
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype("float32"), A @ B, rtol=0.05, atol=0.1)
    whole = ours.matmul(jnp.ones((2, 3), "int8"), jnp.ones((3, 4), "int8"))
    assert whole.dtype == jnp.int32 and (whole == 3).all()


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: ours.conv2d(X[0], W), ValueError, "4 dimensions"),
        (lambda: ours.conv2d(X, W), ValueError, "do not meet filters"),
        (lambda: ours.conv2d(X, W.astype("float16"), groups=2), TypeError, "of one type"),
        (lambda: ours.matmul(A, A), ValueError, "no product of arrays"),
        (lambda: ours.matmul(A[:0], B), ValueError, "without elements"),
        (lambda: jax.jit(imbrex.gemm)(B, B.T), TypeError, "use imbrex.jax"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()


class Device:
    def __init__(self, capability: str) -> None:
        self.platform, self.device_kind, self.compute_capability = "gpu", "chip", capability


def test_the_target_is_that_of_the_default_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ops._kind() == "cpu"
    monkeypatch.setattr(jax, "devices", lambda kind: [Device("9.0")])
    assert ops._kind() == "sm_90a"
    monkeypatch.setattr(jax, "devices", lambda kind: [Device("8.0")])
    with pytest.raises(imbrex.Diagnostic, match="on Hopper GPUs, and JAX's default is 'gpu', a chip"):
        ours.matmul(A, B)
