"""Functions of JAX: values and gradients of every order beside JAX's own, under jit and vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax: Any = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402

import imbrex  # noqa: E402
import imbrex.jax as ours  # noqa: E402
from imbrex.jax import call, device  # noqa: E402
from imbrex.jax.activation import ACTIVATIONS  # noqa: E402
from imbrex.problem.activation import EXPRESSIONS  # noqa: E402

CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")
USUAL = {"stride": (1, 1), "dilation": (1, 1), "groups": 1}
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


def test_arrays_of_numpy_have_the_type_that_jax_gives_them() -> None:
    """float64 is float32 where JAX has no other, in whatever place."""
    a, b, bias = (np.asarray(array, np.float64) for array in (A[0], B, some(6)))
    near(ours.matmul(a, B, bias=bias, residual=np.zeros((5, 6))), a @ b + bias)
    near(jax.grad(lambda one: ours.matmul(one, b).sum())(A[0]), np.broadcast_to(b.sum(1), (5, 8)))
    near(ours.conv2d(X, np.asarray(W, np.float64), scale=np.ones(6), **MOVES), theirs(X, W))
    assert ours.linear(a, b.T).dtype == jnp.float32


def test_without_jit_kernels_are_still_called() -> None:
    with jax.disable_jit():
        near(mine(X, W), theirs(X, W))
        near(jax.grad(lambda w: mine(X, w).sum())(W), jax.grad(lambda w: theirs(X, w).sum())(W))


def test_arrays_given_to_functions_of_arrays_come_back_as_such() -> None:
    """Results are JAX's, of its device, where their memory is nobody else's; `out` is the caller's own."""
    out = np.empty((5, 6), np.float32)
    assert imbrex.gemm(A[0], B, out=out) is out
    results = {
        "gemm": (imbrex.gemm(A[0], B), A[0] @ B),
        "compile": (imbrex.compile("gemm -m 5 -n 6 -k 8")(A[0], B), A[0] @ B),
        "conv2d": (imbrex.conv2d(X, W, stride=(2, 1), padding=1, groups=2), theirs(X, W)),
        "none": (imbrex.conv2d(X[:0], W, stride=(2, 1), padding=1, groups=2), theirs(X[:0], W)),
    }
    for name, (got, want) in results.items():
        assert isinstance(got, jax.Array) and got.shape == want.shape, name
        assert got.sharding == X.sharding and got.dtype == want.dtype, name
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)
    both = imbrex.gemm(A[0], B, epilogue="relu(pre_activation(x))")
    assert isinstance(both, tuple) and all(isinstance(one, jax.Array) for one in both)
    near(both[0], jax.nn.relu(both[1]))


@pytest.mark.parametrize(
    "moves",
    [{}, {"stride": (2, 1)}, {"padding": (0, 2)}, {"dilation": (1, 2)}, {"groups": 2}],
    ids=lambda moves: next(iter(moves), "none"),
)
def test_what_is_left_out_is_as_usual(moves: dict[str, Any]) -> None:
    pads = tuple((size, size) for size in moves.get("padding", (0, 0)))
    stride, dilation, groups = (moves.get(name, usual) for name, usual in USUAL.items())
    w = W if groups == 2 else some(6, 4, 3, 3)
    want = jax.lax.conv_general_dilated(
        X, w, stride, pads, rhs_dilation=dilation, feature_group_count=groups, precision="highest"
    )
    near(ours.conv2d(X, w, **moves), want)


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


def flax(x: Any, w: Any, bias: Any, residual: Any, activation: str, padding: Any) -> Any:
    """Channels last, as flax has them, by JAX alone."""
    sums = jax.lax.conv_general_dilated(
        x, w, (2, 1), padding, dimension_numbers=CHANNELS_LAST, feature_group_count=2,
        precision=jax.lax.Precision.HIGHEST,
    )  # fmt: skip
    return ACTIVATIONS[activation](sums + bias + residual)


def fused(x: Any, w: Any, bias: Any, residual: Any, activation: str, padding: Any) -> Any:
    return ours.conv2d(
        x, w, stride=(2, 1), padding=padding, groups=2, dimension_numbers=CHANNELS_LAST,
        bias=bias, residual=residual, activation=activation,
    )  # fmt: skip


@pytest.mark.parametrize("activation", EXPRESSIONS)
def test_what_is_added_and_activations_are_in_the_kernel(activation: str) -> None:
    for padding, rows, columns in (("SAME", 4, 6), ((0, (2, 1)), 3, 7), ("VALID", 3, 4)):
        given = some(2, 7, 6, 4), some(3, 3, 2, 6), some(6), some(2, rows, columns, 6)
        wanted = padding if isinstance(padding, str) else ((0, 0), (2, 1))
        near(fused(*given, activation, padding), flax(*given, activation, wanted))
        grads = [
            jax.grad(lambda *of, f=f, p=p: jnp.sum(jnp.sin(f(*of, activation, p))), (0, 1, 2, 3))
            for f, p in ((fused, padding), (flax, wanted))
        ]
        for found, want in zip(jax.jit(grads[0])(*given), grads[1](*given), strict=True):
            near(found, want)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_second_derivatives_go_through_activations(activation: str) -> None:
    given = some(3, 5, 8), some(8, 6), some(6), some(3, 5, 6)

    def twice(function: Any) -> Any:
        first = jax.grad(lambda *of: jnp.sum(jnp.sin(function(*of))), (0, 1, 2, 3))
        return jax.grad(lambda *of: sum(jnp.sum(part**2) for part in first(*of)), (0, 1, 2, 3))(*given)

    def own(a: Any, b: Any, bias: Any, residual: Any) -> Any:
        return ours.matmul(a, b, bias=bias, residual=residual, activation=activation)

    for found, want in zip(
        twice(own), twice(lambda a, b, c, r: ACTIVATIONS[activation](a @ b + c + r)), strict=True
    ):
        np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-3 * (1 + float(jnp.abs(want).max())))


def test_one_kernel_has_the_epilogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are kept for a gradient alone, and not for an activation whose derivative is at the result."""
    seen: list[str] = []
    real = call._named
    monkeypatch.setattr(call, "_named", lambda of, *more: seen.append(str(of.epilogue)) or real(of, *more))
    jax.clear_caches()
    a, b, bias = some(9, 4), some(4, 11), some(11)
    for name, texts in (("relu", ["relu(x + bias)"]), ("tanh", ["tanh(pre_activation(x + bias))"])):
        loss = lambda a, name=name: jnp.sum(ours.matmul(a, b, bias=bias, activation=name))  # noqa: E731
        seen.clear()
        loss(a)
        assert seen == [f"{name}(x + bias)"]
        seen.clear()
        jax.grad(loss)(a)
        assert [text for text in seen if text != "None"] == texts


def test_gradients_of_factors_of_a_byte() -> None:
    """Computed in the type of the sums, which read such factors as numbers of four bytes."""
    draw = np.random.default_rng(7)
    x, w, bias = (jnp.asarray(draw.integers(-2, 3, of), jnp.float32) for of in (X.shape, W.shape, (6,)))
    narrow = [one.astype(jnp.float8_e5m2) for one in (x, w)]
    near(ours.conv2d(*narrow, bias=bias, **MOVES), theirs(x, w) + bias.reshape(-1, 1, 1))
    found, wanted = (
        jax.grad(lambda *two, f=f: jnp.sum(f(*two)), (0, 1))(*given)
        for f, given in ((mine, narrow), (theirs, (x, w)))
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other.astype(jnp.float8_e5m2))


def test_numbers_of_numpys_are_numbers() -> None:
    of = {"stride": np.int64(2), "padding": np.array([1, 1]), "dilation": np.array(1), "groups": np.int8(2)}
    near(ours.conv2d(X, W, **of), ours.conv2d(X, W, stride=2, padding=1, groups=2))


def test_vmap_and_types() -> None:
    many = jnp.stack([X, 2 * X])
    near(jax.vmap(mine, (0, None))(many, W), jnp.stack([theirs(x, W) for x in many]))
    half = ours.matmul(A.astype("bfloat16"), B.astype("bfloat16"))
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype("float32"), A @ B, rtol=0.05, atol=0.1)
    whole = ours.matmul(jnp.ones((2, 3), "int8"), jnp.ones((3, 4), "int8"))
    assert whole.dtype == jnp.int32 and (whole == 3).all()


@pytest.mark.parametrize(
    ("refused", "error", "told"),
    [
        (lambda: ours.conv2d(X[0], W), ValueError, "4 dimensions"),
        (lambda: ours.conv2d(X, W), ValueError, "channels does not meet 'w' of"),
        (lambda: ours.conv2d(X, W.astype("float16"), groups=2), TypeError, "of one type"),
        (lambda: ours.conv2d(X, W, groups="2"), TypeError, "'groups' should be a positive integer, got '2'"),
        (lambda: ours.conv2d(X, W, groups=0), ValueError, "'groups' should be a positive integer, got 0"),
        (lambda: ours.conv2d(X, W, groups=2, stride=0), ValueError, "'stride' should be at least 1"),
        (lambda: ours.conv2d(X, W, groups=2, stride=b"ab"), TypeError, "'stride' should be integers"),
        (lambda: ours.conv2d(X, W, groups=2, dilation=True), TypeError, "'dilation' should be integers"),
        (lambda: ours.conv2d(X, W, groups=2, padding=-1), ValueError, "'padding' should be at least 0"),
        (lambda: ours.conv2d(X, W, groups=2, stride=1.5), TypeError, "'stride' should be integers"),
        (lambda: ours.conv2d(X, W, groups=2, padding=0.5), TypeError, "'padding' should be integers"),
        (lambda: ours.conv2d(X, W, groups=2, dilation=(1,)), ValueError, "one integer or two, got 1"),
        (lambda: jax.jit(lambda s: ours.conv2d(X, W, stride=s))(1), TypeError, "'stride' should be integers"),
        (lambda: ours.matmul([[1.0]], B), TypeError, "'a' should be an array of JAX's or NumPy's, got list"),
        (lambda: ours.matmul(A, jnp.float32), TypeError, "'b' should be an array of JAX's or NumPy's"),
        (lambda: ours.conv2d(X, W, groups=2, bias="no"), TypeError, "'bias' should be an array .*, got str"),
        (lambda: ours.matmul(A, B, residual=1), TypeError, "'residual' should be an array .*, got int"),
        (lambda: ours.linear(A, B.T, residual=[]), TypeError, "'residual' should be an array .*, got list"),
        (lambda: ours.matmul(A, np.ma.ones((5, 6), "f4")), TypeError, "'b' is a masked array"),
        (lambda: ours.matmul(A, A), ValueError, "no product of arrays"),
        (lambda: ours.matmul(A, B, bias=A[0, 0]), ValueError, "'bias' should have shape .6,."),
        (lambda: ours.matmul(A, B, residual=B), ValueError, "'residual' should have shape .3, 5, 6."),
        (lambda: ours.matmul(A, B, bias=B[0].astype("float16")), TypeError, "should be of float32"),
        (lambda: ours.matmul(A, B, activation="gelo"), ValueError, "did you mean 'gelu'"),
        (
            lambda: ours.matmul(A.astype(complex), B.astype(complex)),
            TypeError,
            "'a' has dtype complex64; convert it",
        ),
        (lambda: ours.matmul(A.astype("int8"), B.astype("int8"), activation="relu"), TypeError, "int8"),
        (lambda: ours.conv2d(X, W, groups=2, dimension_numbers="NHWC"), ValueError, "'HWIO', 'NHWC'"),
        (lambda: ours.conv2d(X, W, groups=2, padding=(1, 2, 3)), ValueError, "'SAME' or 'VALID'"),
        (lambda: ours.conv2d(X, W, groups=2, padding="most"), ValueError, "got 'most'"),
        (lambda: ours.matmul(A[:0], B), ValueError, "'a' has no elements"),
        (lambda: jax.jit(imbrex.gemm)(B, B.T), TypeError, "use imbrex.jax"),
    ],
)
def test_what_is_refused(refused: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        refused()


class Device:
    def __init__(self, capability: str) -> None:
        self.platform, self.device_kind, self.compute_capability = "gpu", "chip", capability


def test_the_target_is_that_of_the_default_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device.kind() == "cpu"
    monkeypatch.setattr(jax, "devices", lambda kind: [Device("9.0")])
    assert device.kind() == "sm_90a"
    monkeypatch.setattr(jax, "devices", lambda kind: [Device("8.0")])
    with pytest.raises(imbrex.Diagnostic, match="on Hopper GPUs, and JAX's default is 'gpu', a chip"):
        ours.matmul(A, B)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32"])
def test_a_weak_type_gives_way(kind: str) -> None:
    """Arrays of Python's numbers take the type of what they meet, in every position."""
    a, b, weak = some(3, 5, kind=kind), some(5, 6, kind=kind), jnp.full((6,), 0.5)
    rows = jnp.full((3, 6), 1)
    assert weak.weak_type and rows.weak_type
    plain = ours.matmul(a, b, bias=weak.astype(kind), residual=rows.astype(kind))
    np.testing.assert_array_equal(ours.matmul(a, b, bias=weak, residual=rows), plain)
    for one, other in ((jnp.full((3, 5), 2.0), b), (a, jnp.full((5, 6), 2.0))):
        got = jax.jit(ours.matmul)(one, other)
        strong = ours.matmul(one.astype(kind), other.astype(kind))
        assert got.dtype == kind
        np.testing.assert_array_equal(got, strong)
        of_one, of_other = jax.grad(lambda x, y: ours.matmul(x, y).astype("float32").sum(), (0, 1))(
            one, other
        )
        assert (of_one.dtype, of_other.dtype) == (one.dtype, other.dtype)
    x, w = jnp.full((1, 4, 5, 5), 1.0), some(6, 4, 3, 3, kind=kind)
    assert (
        ours.conv2d(x, w, bias=weak).dtype
        == kind
        == ours.conv_transpose2d(some(1, 6, 5, 5, kind=kind), w).dtype
    )


def test_a_weak_type_does_not_give_way_to_a_narrower_kind() -> None:
    with pytest.raises(TypeError, match="should be of one type, got float32 and int8"):
        ours.matmul(jnp.full((2, 3), 0.5), jnp.ones((3, 4), "int8"))
    with pytest.raises(TypeError, match="should be of one type, got float32 and bfloat16"):
        ours.matmul(jnp.ones((2, 3)), jnp.ones((3, 4), "bfloat16"))
