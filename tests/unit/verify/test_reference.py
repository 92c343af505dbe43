"""The reference against loops over every index, and its gradients against their definition."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.problem import Conv2d, Gemm, Role
from imbrex.problem.layout import DIMENSIONS
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference

Array = npt.NDArray[Any]
PAIRS = st.tuples(st.integers(0, 2), st.integers(0, 2))
STEPS = st.tuples(st.integers(1, 3), st.integers(1, 3))
DIRECTIONS = ("forward", "backward_data", "backward_weight")


def loops(conv: Conv2d, arrays: dict[str, Array]) -> Array:
    """The written array by one loop over every product, each array addressed by its layout's names."""
    result = np.zeros(conv.shapes(conv.written), np.float64)
    others = [role for role in conv.roles if role != conv.written]
    per_c, per_k = conv.c // conv.groups, conv.k // conv.groups
    for n, ho, wo, k, c, y, x in product(
        range(conv.n),
        range(conv.ho),
        range(conv.wo),
        range(conv.k),
        range(per_c),
        range(conv.y),
        range(conv.x),
    ):
        hi = ho * conv.stride[0] + y * conv.dilation[0] - conv.pad_h[0]
        wi = wo * conv.stride[1] + x * conv.dilation[1] - conv.pad_w[0]
        if not (0 <= hi < conv.h and 0 <= wi < conv.w):
            continue
        at: dict[Role, dict[str, int]] = {
            "filter": {"k": k, "c": c, "y": y, "x": x},
            "input": {"n": n, "c": k // per_k * per_c + c, "hi": hi, "wi": wi},
            "output": {"n": n, "k": k, "ho": ho, "wo": wo},
        }
        where = {role: tuple(at[role][name] for name in conv.layout(role)) for role in conv.roles}
        term = 1.0
        for role in others:
            term *= float(arrays[role][where[role]])
        result[where[conv.written]] += term
    return result


@st.composite
def small_convolutions(draw: st.DrawFn) -> Conv2d:
    groups, dilation = draw(st.integers(1, 3)), draw(STEPS)
    y, x, pad_h, pad_w = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(PAIRS), draw(PAIRS)
    direction = draw(st.sampled_from(DIRECTIONS))
    return Conv2d(
        direction,
        n=draw(st.integers(1, 2)),
        c=groups * draw(st.integers(1, 2)),
        h=max(1, dilation[0] * (y - 1) + 1 - sum(pad_h) + draw(st.integers(0, 3))),
        w=max(1, dilation[1] * (x - 1) + 1 - sum(pad_w) + draw(st.integers(0, 3))),
        k=groups * draw(st.integers(1, 2)),
        y=y,
        x=x,
        pad_h=pad_h,
        pad_w=pad_w,
        stride=draw(STEPS),
        dilation=dilation,
        groups=groups,
        filter_layout=tuple(draw(st.permutations(DIMENSIONS["filter"]))),
        input_layout=tuple(draw(st.permutations(DIMENSIONS["input"]))),
        output_layout=tuple(draw(st.permutations(DIMENSIONS["output"]))),
        dtype=draw(st.sampled_from(["f32", "f16", "bf16", "f64"] + ["i8"] * (direction == "forward"))),
    )


@settings(deadline=None, max_examples=120)
@given(small_convolutions(), st.integers(0, 2**31))
def test_convolutions_equal_the_loops(conv: Conv2d, seed: int) -> None:
    arrays = random_operands(conv, seed).arrays
    truth = reference(conv, arrays)
    assert truth.want.shape == conv.shapes(conv.written)
    assert np.array_equal(truth.want, loops(conv, arrays))
    sizes = {role: np.abs(array.astype(np.float64)) for role, array in arrays.items()}
    assert np.array_equal(truth.magnitude, loops(conv, sizes))


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(*[st.integers(1, 5)] * 4), st.booleans(), st.booleans(),
    st.sampled_from([0.0, 1.0, -2.5]), st.sampled_from([1.0, 0.0, 3.0]), st.integers(0, 2**31),
)  # fmt: skip
def test_gemms_equal_the_loops(
    sizes: tuple[int, ...], transpose_a: bool, transpose_b: bool, beta: float, alpha: float, seed: int
) -> None:
    m, n, k, batch = sizes
    gemm = Gemm(
        m, n, k, batch=batch, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, beta=beta
    )
    arrays = random_operands(gemm, seed).arrays
    a, b, c = (arrays[role].astype(np.float64).reshape(batch, *gemm.shapes(role)[-2:]) for role in gemm.roles)
    want, magnitude = np.zeros((2, batch, m, n))
    for g, i, j in product(range(batch), range(m), range(n)):
        terms = [
            (a[g, p, i] if transpose_a else a[g, i, p]) * (b[g, j, p] if transpose_b else b[g, p, j])
            for p in range(k)
        ]
        want[g, i, j] = alpha * sum(terms) + (beta * c[g, i, j] if beta else 0.0)
        magnitude[g, i, j] = abs(alpha) * sum(map(abs, terms)) + (abs(beta * c[g, i, j]) if beta else 0.0)
    truth = reference(gemm, arrays)
    assert np.array_equal(truth.want, want.reshape(gemm.shapes("c")))
    assert np.array_equal(truth.magnitude, magnitude.reshape(gemm.shapes("c")))


@pytest.mark.parametrize("direction", ["backward_data", "backward_weight"])
def test_gradients_are_adjoint_to_the_forward_convolution(direction: Any) -> None:
    """<conv(x, w), dy> == <x, dx> == <w, dw>: a backward direction that is not a gradient fails here."""
    sizes: dict[str, Any] = {"n": 2, "c": 4, "h": 7, "w": 6, "k": 6, "y": 3, "x": 2, "groups": 2}
    sizes |= {"pad_h": (1, 2), "stride": (2, 1), "dilation": (1, 2)}
    sizes |= {"input_layout": "CNHW", "output_layout": "NHWK", "filter_layout": "YXKC"}
    forward, backward = Conv2d("forward", **sizes), Conv2d(direction, **sizes)
    random = np.random.default_rng(3)
    arrays = {role: random.integers(-4, 5, forward.shapes(role)).astype(np.float32) for role in forward.roles}
    inner = float(np.sum(reference(forward, arrays).want * arrays["output"]))
    assert inner != 0
    assert inner == float(np.sum(reference(backward, arrays).want * arrays[backward.written]))


def test_i8_is_exact_at_its_extremes() -> None:
    gemm = Gemm(1, 1, 70000, dtype="i8")
    arrays = {"a": np.full((1, 70000), -128, np.int8), "b": np.full((70000, 1), -128, np.int8)}
    truth = reference(gemm, arrays)
    assert truth.want.dtype == np.int64
    assert truth.want.item() == 70000 * 128 * 128


def test_beta_zero_does_not_read_c() -> None:
    arrays = {"a": np.ones((2, 2)), "b": np.ones((2, 2)), "c": np.full((2, 2), np.nan)}
    assert np.array_equal(reference(Gemm(2, 2, 2, dtype="f64"), arrays).want, np.full((2, 2), 2.0))


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"'a' must have shape \(2, 3\), got \(3, 2\)"):
        reference(Gemm(2, 4, 3), {"a": np.zeros((3, 2)), "b": np.zeros((3, 4))})
