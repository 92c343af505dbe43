"""One kernel for all numbers of images or rows; vmap as one call; what JAX makes of functions of both."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.patience import HANG_S

jax: Any = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402

import imbrex.jax as ours  # noqa: E402
from imbrex.function import batches  # noqa: E402
from imbrex.jax import call as calls  # noqa: E402

LAST = ("NHWC", "HWIO", "NHWC")


def some(*shape: int) -> Any:
    """Whole numbers, whose sums are exact."""
    return jnp.asarray(np.random.default_rng(sum(shape)).integers(-3, 4, shape), "float32")


def convolved(x: Any, w: Any) -> Any:
    """In float64, by NumPy: a 3 x 3 window, pads of 1; images NHWC, filters HWIO."""
    wide = np.pad(np.asarray(x, float), ((0, 0), (1, 1), (1, 1), (0, 0)))
    views = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))
    return np.einsum("nhwcyx,yxck->nhwk", views, np.asarray(w, float))


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The problems whose handlers are wanted, each time that one is."""
    seen: list[Any] = []
    real = calls._registered
    monkeypatch.setattr(calls, "_registered", lambda of, *more: seen.append(of) or real(of, *more))
    monkeypatch.setattr(batches, "_families", {})
    monkeypatch.setattr(batches, "_warned", set())
    jax.clear_caches()
    return seen


def test_all_numbers_but_the_first_have_one_kernel(problems: list[Any]) -> None:
    b, w = some(11, 5), some(3, 3, 4, 6)
    with pytest.warns(UserWarning, match="one kernel of 1 to"):
        for n in (3, 1, 7, 3):
            a, x = some(n, 11), some(n, 5, 6, 4)
            np.testing.assert_array_equal(
                ours.matmul(a, b, batches="any"), np.asarray(a, float) @ np.asarray(b, float)
            )
            np.testing.assert_array_equal(
                ours.conv2d(x, w, padding=1, dimension_numbers=LAST, batches="any"), convolved(x, w)
            )
    assert len(set(problems)) == 4
    assert {p.run_time.most if p.run_time else p.gemm.n for p in problems} >= {1024, 65536}


def test_a_number_that_cannot_be_open_has_its_own(problems: list[Any]) -> None:
    a, b = some(11, 3), some(11, 5)
    for n in (3, 2):
        found = ours.matmul(a[:, :n], b, transpose_a=True, batches="any")
        np.testing.assert_array_equal(found, np.asarray(a[:, :n], float).T @ np.asarray(b, float))
    assert [p.run_time for p in problems] == [None, None]


def test_a_kernel_that_cannot_be_made_is_told_once(
    problems: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine that has none for a run-time size."""
    real = calls._registered

    def refused(of: Any, *more: Any) -> str:
        if of.run_time is not None:
            raise calls.Diagnostic("none of these")
        return real(of, *more)

    monkeypatch.setattr(calls, "_registered", refused)
    b = some(11, 5)
    with pytest.warns(UserWarning) as told:
        for n in (3, 1, 7):
            a = some(n, 11)
            np.testing.assert_array_equal(ours.matmul(a, b, batches="any"), np.asarray(a) @ np.asarray(b))
    assert sum("none of these" in str(one.message) for one in told) == 1


def test_gradients_of_rows_have_one_kernel_for_them(problems: list[Any]) -> None:
    b = some(11, 5)
    grad = jax.grad(lambda a, b: jnp.sum(ours.matmul(a, b, activation="relu", batches="any") ** 2), (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (4, 6, 9):
            a = some(n, 11)
            da, db = grad(a, b)
            g = 2 * np.maximum(np.asarray(a, float) @ np.asarray(b, float), 0)
            np.testing.assert_array_equal(da, g @ np.asarray(b, float).T)
            np.testing.assert_array_equal(db, np.asarray(a, float).T @ g)
    by_a = {p for p in problems if p.transpose_b}
    assert len(by_a) == 2 and sum(p.run_time is not None for p in by_a) == 1


def test_gradients_by_images_have_one_kernel_for_them(problems: list[Any]) -> None:
    w = some(3, 3, 4, 6)
    grad = jax.grad(
        lambda x: jnp.sum(ours.conv2d(x, w, padding=1, dimension_numbers=LAST, batches="any") ** 2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (2, 3, 5):
            x = some(n, 5, 6, 4)
            back = np.swapaxes(np.asarray(w)[::-1, ::-1], 2, 3)
            np.testing.assert_array_equal(grad(x), convolved(2 * convolved(x, w), back))
    by_images = {p for p in problems if p.direction == "backward_data"}
    assert sorted(p.run_time is not None for p in by_images) == [False, True]


def test_a_size_without_a_value_is_exported_once(problems: list[Any]) -> None:
    """`jax.export` of a symbolic batch: the program takes every number of images."""
    w, last = some(3, 3, 4, 6), some(180, 7)
    of_any: dict[str, Any] = {"padding": 1, "dimension_numbers": LAST, "batches": "any"}

    def function(x: Any) -> Any:
        y = ours.conv2d(x, w, activation="relu", **of_any)
        return ours.matmul(y.reshape(y.shape[0], -1), last, batches="any")

    (n,) = jax.export.symbolic_shape("n")
    shape, height = (jax.ShapeDtypeStruct(of, jnp.float32) for of in ((n, 5, 6, 4), (2, n, 6, 3)))
    checks = ours.export_checks(function, shape)
    exported = jax.export.export(jax.jit(function), disabled_checks=checks)(shape)
    for number in (1, 2, 9):
        x = some(number, 5, 6, 4)
        wanted = np.maximum(convolved(x, w), 0).reshape(number, -1) @ np.asarray(last, float)
        np.testing.assert_array_equal(exported.call(x), wanted)
    assert all(p.run_time is not None for p in problems)
    gradients = jax.grad(lambda *given: jnp.sum(ours.conv2d(*given, **of_any)), (0, 1))
    assert [one.shape for one in jax.eval_shape(jax.jit(gradients), shape, w)] == [shape.shape, w.shape]
    matrices = jax.ShapeDtypeStruct((n, 4, 3), jnp.float32)
    only = "only numbers of images and rows may have none"
    for refused, given, why in (
        (
            lambda x: ours.conv2d(x, w, padding=1, dimension_numbers=LAST),
            shape,
            "batches='any' has one kernel",
        ),
        (lambda x: ours.matmul(x.reshape(n, -1), some(120, 2)), shape, "batches='any' has one kernel"),
        (lambda x: ours.conv2d(x, some(3, 3, 3, 6), **of_any), height, only),
        (lambda x: ours.matmul(x, x, transpose_b=True, batches="any"), matrices, only),
    ):
        with pytest.raises(ValueError, match=f"has no value: {why}"):
            jax.eval_shape(jax.jit(refused), given)
        jax.clear_caches()


def _each(function: Callable[..., Any], axes: Any, given: Any) -> Any:
    """Element by element, without vmap."""
    many = next(a.shape[i] for a, i in zip(given, axes, strict=True) if i is not None)
    rows = [
        function(*(a if i is None else jnp.take(a, at, i) for a, i in zip(given, axes, strict=True)))
        for at in range(many)
    ]
    return jax.tree.map(lambda *parts: jnp.stack(parts), *rows)


X, W, A, B, BIAS = some(3, 2, 5, 6, 4), some(3, 3, 4, 6), some(3, 7, 5), some(5, 6), some(6)


def _conv(x: Any, w: Any) -> Any:
    return ours.conv2d(x, w, padding=1, dimension_numbers=LAST)


def _conv_and_more(x: Any, w: Any, bias: Any, residual: Any) -> Any:
    return ours.conv2d(
        x,
        w,
        padding=1,
        dimension_numbers=("HWCN", "HWIO", "HWCN"),
        bias=bias,
        residual=residual,
        activation="relu",
    )


def _rows(a: Any, b: Any, bias: Any, residual: Any) -> Any:
    return ours.matmul(a, b, bias=bias, residual=residual, activation="relu")


def _turned(a: Any, b: Any) -> Any:
    return ours.matmul(a, b, transpose_a=True, transpose_b=True)


def _back(function: Any) -> Any:
    return lambda x, w: jax.grad(lambda *of: jnp.sum(function(*of) ** 2), (0, 1))(x, w)


@pytest.mark.parametrize(
    ("function", "axes", "given", "count"),
    [
        (_conv, (0, None), (X, W), 1),
        (_conv, (3, None), (jnp.moveaxis(X, 0, 3), W), 1),
        (_conv, (None, 0), (X[0], some(3, 3, 3, 4, 6)), 1),
        (_conv, (0, 0), (X, some(3, 3, 3, 4, 6)), 1),
        (_conv_and_more, (0, None, None, 0), (some(3, 5, 6, 4, 2), W, BIAS, some(3, 5, 6, 6, 2)), 1),
        (_conv_and_more, (0, None, None, None), (some(3, 5, 6, 4, 2), W, BIAS, some(5, 6, 6, 2)), 1),
        (_conv_and_more, (0, None, 0, None), (some(3, 5, 6, 4, 2), W, some(3, 6), some(5, 6, 6, 2)), 1),
        (_rows, (0, None, None, 0), (A, B, BIAS, some(3, 7, 6)), 1),
        (_rows, (0, None, None, None), (A, B, BIAS, some(7, 6)), 1),
        (_rows, (0, None, 0, None), (A, B, some(3, 6), some(7, 6)), 1),
        (_rows, (None, 0, None, None), (A[0], some(3, 5, 6), BIAS, some(7, 6)), 1),
        (_rows, (0, 0, None, 1), (A, some(3, 5, 6), BIAS, some(7, 3, 6)), 1),
        (_rows, (0, 1, None, None), (some(3, 2, 7, 5), some(2, 3, 5, 6), BIAS, some(2, 7, 6)), 1),
        (_turned, (0, None), (some(3, 5, 7), some(6, 5)), 1),
        (_turned, (None, 0), (some(5, 7), some(3, 6, 5)), 1),
        (_back(_conv), (0, None), (X, W), 3),
        (_back(_conv), (0, 0), (X, some(3, 3, 3, 4, 6)), 3),
        (_back(ours.matmul), (0, None), (A, B), 3),
        (_back(_turned), (0, None), (some(3, 5, 7), some(6, 5)), 3),
    ],
)  # fmt: skip
def test_vmap_is_each_element(function: Any, axes: Any, given: Any, count: int) -> None:
    found = jax.jit(jax.vmap(function, axes))
    for one, other in zip(
        jax.tree.leaves(found(*given)), jax.tree.leaves(_each(function, axes, given)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    text = found.lower(*given).as_text()
    assert text.count("custom_call @imbrex_jax") == count


@pytest.mark.parametrize(
    ("function", "axes", "given"),
    [
        (_conv, (0, None), (X, W)),
        (_rows, (0, None, None, 0), (A, B, BIAS, some(3, 7, 6))),
        (ours.matmul, (0, 0), (A, some(3, 5, 6))),
    ],
)
def test_a_batch_that_is_folded_is_no_loop(function: Any, axes: Any, given: Any) -> None:
    text = str(jax.make_jaxpr(jax.vmap(function, axes))(*given))
    assert "imbrex_kernel" in text and "scan" not in text and "while" not in text
    loop = str(jax.make_jaxpr(jax.vmap(_conv, (None, 0)))(X[0], some(3, 3, 3, 4, 6)))
    assert "scan" in loop


def test_vmap_of_vmap_and_of_an_open_number(problems: list[Any]) -> None:
    a = some(2, 3, 7, 5)
    found = jax.vmap(jax.vmap(lambda a: ours.matmul(a, B)))(a)
    np.testing.assert_array_equal(found, np.asarray(a, float) @ np.asarray(B, float))
    assert {p.m for p in problems} == {42}
    jax.vmap(lambda a: ours.matmul(a, B, batches="any"))(A)
    with pytest.warns(UserWarning, match="one kernel of 1 to"):
        np.testing.assert_array_equal(
            jax.vmap(lambda a: ours.matmul(a, B, batches="any"))(A[:2]), np.asarray(A[:2]) @ np.asarray(B)
        )
    assert problems[-1].run_time is not None


def test_a_checkpoint_computes_again(problems: list[Any]) -> None:
    def loss(wrap: Any) -> Any:
        return jax.jit(jax.grad(lambda x, w: jnp.sum(wrap(lambda x, w: jnp.sin(_conv(x, w)))(x, w)), (0, 1)))

    plain, again = loss(lambda f: f), loss(jax.checkpoint)
    for one, other in zip(plain(X[0], W), again(X[0], W), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    counts = [str(jax.make_jaxpr(f)(X[0], W)).count("conv") for f in (plain, again)]
    assert counts[1] > counts[0]


def test_transposed_convolutions() -> None:
    """Beside JAX's gradient of the convolution that they are of."""
    for stride, padding, further, dilation, groups in (
        ((1, 1), 0, 0, 1, 1), ((2, 3), (1, 0), (1, 2), 1, 2), ((2, 1), 1, (1, 0), 2, 1),
    ):  # fmt: skip
        x, w = some(2, 6, 5, 4), some(6, 8 // groups, 3, 3)
        given: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        found = ours.conv_transpose2d(x, w, output_padding=further, **given)
        pads = (padding, padding) if isinstance(padding, int) else padding

        def conv(y: Any, w: Any = w, pads: Any = pads, given: Any = given) -> Any:
            return jax.lax.conv_general_dilated(
                y, w, given["stride"], [(p, p) for p in pads], rhs_dilation=(given["dilation"],) * 2,
                feature_group_count=given["groups"], precision="highest",
            )  # fmt: skip

        assert conv(found).shape == x.shape
        (wanted,) = jax.vjp(conv, jnp.zeros(found.shape))[1](x)
        np.testing.assert_array_equal(found, wanted)
        turned = ours.conv_transpose2d(
            jnp.moveaxis(x, 1, 3), jnp.transpose(w, (2, 3, 1, 0)), output_padding=further,
            dimension_numbers=LAST, **given,
        )  # fmt: skip
        np.testing.assert_array_equal(jnp.moveaxis(turned, 3, 1), wanted)


def test_turned_matrices_and_linear_read_arrays_where_they_lie(problems: list[Any]) -> None:
    a, b = some(5, 7), some(6, 5)
    wanted = np.asarray(a, float).T @ np.asarray(b, float).T
    np.testing.assert_array_equal(ours.matmul(a, b, transpose_a=True, transpose_b=True), wanted)
    many = some(2, 3, 5)
    bias, more = some(6), some(2, 3, 6)
    found = ours.linear(many, b, bias=bias, residual=more, activation="relu")
    np.testing.assert_array_equal(
        found, np.maximum(np.asarray(many) @ np.asarray(b).T + np.asarray(bias) + np.asarray(more), 0)
    )
    np.testing.assert_array_equal(ours.linear(many[0, 0], b), np.asarray(b) @ np.asarray(many[0, 0]))
    assert all(p.transpose_b for p in problems)
    grads = jax.grad(lambda x, w: jnp.sum(ours.linear(x, w) ** 2), (0, 1))(many, b)
    theirs = jax.grad(lambda x, w: jnp.sum(jnp.matmul(x, w.T, precision="highest") ** 2), (0, 1))(many, b)
    for one, other in zip(grads, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_types_of_all_functions(kind: str) -> None:
    x, w, rows, matrix = some(2, 6, 5, 4), some(6, 4, 3, 3), some(7, 5), some(6, 5)
    for own, given in (
        (lambda x, w: ours.conv_transpose2d(x, w, stride=2), (x, w)),
        (lambda x, w: ours.linear(x, w, activation="relu", batches="any"), (rows, matrix)),
    ):
        found, wanted = own(*(one.astype(kind) for one in given)), own(*given)
        assert found.dtype == kind
        np.testing.assert_allclose(found.astype("float32"), wanted, rtol=1 / 128, atol=0)


def test_sums_of_int8_are_int32() -> None:
    whole = ours.conv2d(jnp.ones((1, 4, 5, 5), "int8"), jnp.ones((3, 4, 3, 3), "int8"))
    assert whole.dtype == jnp.int32 and (whole == 36).all()


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: ours.matmul(A, B, batches="all"), ValueError, "'batches' should be 'each' or 'any'"),
        (lambda: ours.conv2d(X[0], W, batches=1), TypeError, "'batches' should be 'each' or 'any'"),
        (lambda: ours.matmul(A, B, transpose_a=True), ValueError, "transpose_a=True"),
        (lambda: ours.matmul(A, B, transpose_b="no"), TypeError, "'transpose_b' should be True or False"),
        (lambda: ours.conv2d(X[0], W, groups=True), TypeError, "'groups' should be a positive integer"),
        (lambda: ours.linear(A, B), ValueError, "should end in the columns of a matrix 'w'"),
        (lambda: ours.linear(A, B.T, residual=B), ValueError, "'residual' should have shape .3, 7, 6."),
        (
            lambda: ours.conv_transpose2d(X[0], W, dimension_numbers=LAST),
            ValueError,
            "6 channels do not meet",
        ),
        (lambda: _transposed(output_padding=1), ValueError, "below stride .1, 1."),
        (lambda: _transposed(padding="SAME"), ValueError, "should be numbers, got 'SAME'"),
        (lambda: _transposed(padding=9), ValueError, "leaves nothing"),
        (lambda: _transposed(groups=1.5), TypeError, "'groups' should be a positive integer, got 1.5"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()


def _transposed(**given: Any) -> Any:
    return ours.conv_transpose2d(some(2, 6, 5, 4), some(6, 4, 3, 3), **given)


SEVERAL = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import imbrex
import imbrex.jax as ours
rng = np.random.default_rng(1)
some = lambda *shape: jnp.asarray(rng.integers(-3, 4, shape), "float32")
x, w, a, b = some(4, 4, 6, 5), some(8, 4, 3, 3), some(8, 5), some(5, 6)
assert len(jax.devices()) == 4
mine = lambda x, w: ours.conv2d(x, w, padding=1, activation="relu")
theirs = lambda x, w: jax.nn.relu(
    jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), precision="highest"))
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((4,), ("d",), axis_types=(kind,))
    put = lambda one, spec: jax.device_put(one, NamedSharding(mesh, spec))
    split = lambda f: jax.shard_map(f, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"))
    images, rows = put(x, P("d")), put(a, P("d"))
    filters, matrix = put(w, P()), put(b, P())
    whole = imbrex.gemm(put(a, P()), matrix)  # all of it on each device, as its result
    np.testing.assert_array_equal(whole, a @ b)
    assert isinstance(whole, jax.Array) and whole.sharding == put(whole, P()).sharding
    np.testing.assert_array_equal(jax.jit(split(mine))(images, filters), theirs(x, w))
    added = lambda a, b: ours.matmul(a, b, bias=b[0], residual=a[:, :1] * jnp.ones((2, 6)), batches="any")
    np.testing.assert_array_equal(jax.jit(split(added))(rows, matrix), a @ b + b[0] + a[:, :1])
    grad = lambda f: jax.jit(jax.grad(lambda x, w: jnp.sum(f(x, w) ** 2), (0, 1)))
    for one, other in zip(grad(split(mine))(images, filters), grad(theirs)(x, w), strict=True):
        np.testing.assert_array_equal(one, other)
    if kind == AxisType.Auto:  # the partitioner of XLA gives a custom call all of its arrays
        np.testing.assert_array_equal(jax.jit(mine)(images, filters), theirs(x, w))
    else:  # the type of an array says how it is cut, and its gradient has that type
        wanted = grad(theirs)(x, w)
        with jax.set_mesh(mesh):
            found = grad(mine)(images, filters)
            assert found[0].sharding.spec == P("d", None, None, None)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, other)
            tokens = some(2, 4, 5)
            middle = put(tokens, P(None, "d", None))
            np.testing.assert_array_equal(jax.jit(ours.linear)(middle, b.T), tokens @ np.asarray(b))
print("right")
"""


def test_several_devices_have_a_part_each() -> None:
    """shard_map over four devices of a CPU, in a process that has them."""
    program = "import os; os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'" + SEVERAL
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_S)
    assert done.stdout.strip() == "right", done.stderr[-3000:]
