"""Batches of transposed matrices that meet one matrix: values, gradients, and vmap over either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax: Any = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402

import imbrex.jax as ours  # noqa: E402
from imbrex.jax import call  # noqa: E402


def some(*shape: int) -> Any:
    """Whole numbers, of which every sum is exact."""
    return jnp.asarray(np.random.default_rng(sum(shape)).integers(-2, 3, shape), "float32")


A, B, RESIDUAL = some(2, 3, 5, 4), some(6, 5), some(2, 3, 4, 6)
GIVEN = A, B, RESIDUAL


def mine(a: Any, b: Any, residual: Any) -> Any:
    return ours.matmul(a, b, transpose_a=True, transpose_b=True, residual=residual)


def theirs(a: Any, b: Any, residual: Any) -> Any:
    return jnp.einsum("...km,nk->...mn", a, b, precision="highest") + residual


def gradients(function: Any) -> Any:
    return jax.grad(lambda *of: jnp.sum(function(*of) ** 2), (0, 1))


def second(function: Any) -> Any:
    return jax.grad(lambda *of: sum(jnp.sum(one) for one in gradients(function)(*of)), (0, 1))


@pytest.mark.parametrize("made", [gradients, second])
def test_each_matrix_of_a_batch_meets_the_one(made: Any) -> None:
    for found, wanted in zip(made(mine)(*GIVEN), made(theirs)(*GIVEN), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_it_is_read_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """One product of two arrays as they are: no copy of the matrix for each, no turned copy of the batch."""
    problems: list[Any] = []
    real = call._registered
    monkeypatch.setattr(call, "_registered", lambda of, *more: problems.append(of) or real(of, *more))
    jax.clear_caches()
    np.testing.assert_array_equal(mine(*GIVEN), theirs(*GIVEN))
    assert [(one.batch, one.stride_a, one.stride_b) for one in problems] == [(6, None, 0)]


@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, None), (0, 1, 2), (None, None, 1)])
def test_vmap_is_each_element(axes: tuple[int | None, ...]) -> None:
    pairs = zip(GIVEN, axes, strict=True)
    given = [one if at is None else jnp.stack([one, 2 * one], at) for one, at in pairs]
    np.testing.assert_array_equal(jax.vmap(mine, axes)(*given), jax.vmap(theirs, axes)(*given))
