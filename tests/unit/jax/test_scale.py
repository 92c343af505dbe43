"""A scale of sums in the kernel, its gradients, and kernels that are tuned first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax: Any = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402

import imbrex.jax as ours  # noqa: E402
from imbrex.jax import call, handler  # noqa: E402

LAST = ("NHWC", "HWIO", "NHWC")


def some(*shape: int, kind: str = "float32") -> Any:
    return jnp.asarray(np.random.default_rng(sum(shape)).standard_normal(shape), kind)


def near(one: Any, other: Any, of: float = 1e-5) -> None:
    np.testing.assert_allclose(one, other, rtol=2 * of, atol=of * (1 + float(jnp.abs(other).max())))


def conv(x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(
        x, w, (1, 2), ((1, 1), (1, 1)), dimension_numbers=LAST, precision=jax.lax.Precision.HIGHEST
    )


def own_conv(x: Any, w: Any, scale: Any, bias: Any, residual: Any) -> Any:
    more = {"scale": scale, "bias": bias, "residual": residual, "activation": "silu"}
    return ours.conv2d(x, w, stride=(1, 2), padding=1, dimension_numbers=LAST, **more)


def own_linear(x: Any, w: Any, scale: Any, bias: Any, residual: Any) -> Any:
    return ours.linear(x, w, scale=scale, bias=bias, residual=residual, activation="gelu")


CASES: dict[str, tuple[Any, Any, tuple[tuple[int, ...], ...]]] = {
    "images": (
        own_conv,
        lambda x, w, scale, bias, r: jax.nn.silu(conv(x, w) * scale + bias + r),
        ((2, 6, 8, 3), (3, 3, 3, 5), (5,), (5,), (2, 6, 4, 5)),
    ),
    "rows": (
        own_linear,
        lambda x, w, scale, bias, r: jax.nn.gelu(x @ w.T * scale + bias + r, approximate=False),
        ((2, 3, 7), (4, 7), (4,), (4,), (2, 3, 4)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_of_scaled_sums(case: str) -> None:
    function, wanted, shapes = CASES[case]
    given = [some(*shape) for shape in shapes]
    near(jax.jit(function)(*given), wanted(*given))
    places = tuple(range(len(given)))
    mine, theirs = (
        jax.grad(lambda *of, f=f: jnp.sum(jnp.sin(f(*of))), places)(*given) for f in (function, wanted)
    )
    for found, want in zip(mine, theirs, strict=True):
        near(found, want, 1e-4)


def test_one_kernel_scales_and_vmap_folds_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    real = call._named
    monkeypatch.setattr(call, "_named", lambda of, *more: seen.append(of) or real(of, *more))
    jax.clear_caches()
    a, b, scale = some(6, 4, 9), some(9, 5), some(5)
    found = jax.jit(jax.vmap(lambda one: ours.matmul(one, b, scale=scale)))(a)
    near(found, a @ b * scale)
    assert [(of.m, str(of.epilogue)) for of in seen] == [(24, "x * channel_scale")]
    scales = some(6, 5)
    near(jax.vmap(lambda one, by: ours.matmul(one, b, scale=by))(a, scales), a @ b * scales[:, None])


def test_a_scale_of_halves_is_float32() -> None:
    a, b, scale = some(5, 8, kind="bfloat16"), some(8, 6, kind="bfloat16"), some(6)
    near(
        ours.matmul(a, b, scale=scale).astype("float32"),
        a.astype("float32") @ b.astype("float32") * scale,
        0.01,
    )
    with pytest.raises(TypeError, match="'scale' should be of float32, got bfloat16"):
        ours.matmul(a, b, scale=scale.astype("bfloat16"))
    with pytest.raises(ValueError, match=r"'scale' should have shape \(6,\), got \(5,\)"):
        ours.matmul(a, b, scale=scale[:5])
    ones = jnp.ones((4, 4), "int8")
    with pytest.raises(TypeError, match="sums of int8 have no scale, bias, residual or activation here"):
        ours.matmul(ones, ones, scale=some(4))


def test_kernels_of_results_and_of_gradients_are_tuned_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each; that for all numbers is not."""
    tuned: list[Any] = []
    real = handler.compile
    monkeypatch.setattr(
        handler, "compile", lambda of, *to, tune, **more: tuned.append((of, tune)) or real(of, *to, **more)
    )
    a, b = some(13, 4), some(4, 3)

    def loss(a: Any, b: Any) -> Any:
        return jnp.sum(ours.matmul(a, b, tune="quick", batches="any"))

    da, db = jax.jit(jax.grad(loss, (0, 1)))(a, b)
    near(da, jnp.ones((13, 3)) @ b.T)
    near(db, a.T @ jnp.ones((13, 3)))
    loss(a, b)
    loss(a[:3], b)
    assert {(of.m, of.n, of.k) for of, _ in tuned} == {(13, 3, 4), (13, 4, 3), (4, 3, 13)}
    assert len(tuned) == 3 and {effort for _, effort in tuned} == {"quick"}
    with pytest.raises(ValueError, match="'tune' should be 'quick', 'normal' or 'full', got 'fast'"):
        ours.conv2d(some(1, 1, 4, 4), some(1, 1, 2, 2), tune="fast")


def test_gradients_need_no_promotion() -> None:
    """Of half types and a scale in float32, where JAX refuses to choose a type."""
    a, b = (jnp.ones(shape, jnp.bfloat16) for shape in ((2, 3), (3, 4)))
    with jax.numpy_dtype_promotion("strict"):
        da, ds = jax.grad(lambda a, s: ours.matmul(a, b, scale=s).sum(), (0, 1))(a, jnp.full(4, 2.0))
    assert (da == 8).all() and (ds == 6).all()
