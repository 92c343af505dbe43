"""Operands: seeded, of the right shapes, and exact where they claim to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imbrex.dtype import DTYPES, F8E4M3FN
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.compare import compare
from imbrex.verify.data import VALUES, Values, exact_range, random_operands, values_of
from imbrex.verify.poison import is_poison, spoiled
from imbrex.verify.probe import products, supports
from imbrex.verify.reference import reference
from imbrex.verify.unit import unit_of

OPERAND_TYPES = [n for n, t in DTYPES.items() if t.is_operand and not t.is_microscaled]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("dtype", OPERAND_TYPES)
def test_shapes_types_and_seeds(dtype: str, values: Values) -> None:
    conv = Conv2d("forward", 2, 4, 5, 6, 8, 3, 3, groups=2, input_layout="NHWC", dtype=dtype)
    first, again, other = (random_operands(conv, seed, values).arrays for seed in (1, 1, 2))
    for operand in conv.operands:
        array = first[operand.role]
        assert (array.shape, array.dtype) == (operand.shape, operand.dtype.numpy)
        assert array.tobytes() == again[operand.role].tobytes()
        assert is_poison(array).all() == operand.is_written
        assert operand.is_written or array.tobytes() != other[operand.role].tobytes()


def test_other_values_are_refused() -> None:
    with pytest.raises(ValueError, match="'values' should be integer, float or probe, got 'int'"):
        random_operands(Gemm(2, 3, 4), 0, "int")  # type: ignore[arg-type]  # pyright: ignore


def test_float_values_are_spread_over_their_range() -> None:
    a = random_operands(Gemm(64, 64, 64), 0, "float").arrays["a"]
    assert -1 <= a.min() < -0.9 < 0.9 < a.max() < 1
    assert abs(a.mean()) < 0.1


def test_c_is_read_where_beta_is_not_zero() -> None:
    assert not is_poison(random_operands(Gemm(8, 8, 8, beta=1.0)).arrays["c"]).any()
    assert is_poison(random_operands(Gemm(8, 8, 8)).arrays["c"]).all()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("terms", [1, 100, 5000])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.5, 2.0)])
def test_exact_operands_give_the_same_sum_in_any_order(
    dtype: str, terms: int, alpha: float, beta: float
) -> None:
    gemm = Gemm(4, 4, terms, alpha=alpha, beta=beta, dtype=dtype)
    operands = random_operands(gemm, 5)
    assert operands.is_exact
    truth = reference(gemm, operands.arrays)
    a, b = (operands.arrays[role].astype(np.float32) for role in "ab")
    for order in (np.arange(terms), np.arange(terms)[::-1], np.random.default_rng(0).permutation(terms)):
        total = np.zeros((4, 4), np.float32)
        for p in order:
            total += np.outer(a[:, p], b[p])
        total *= np.float32(alpha)
        if beta:
            total += np.float32(beta) * operands.arrays["c"].astype(np.float32)
        got = total.astype(gemm.dtype.numpy)
        assert str(compare(gemm, got, truth, is_exact=True)) == "right: 16 elements, all equal"


@pytest.mark.parametrize(
    ("terms", "scales", "reach"),
    [
        (1, {}, 8),
        (2**18, {}, 8),
        (2**18 + 1, {}, 7),
        (2**24, {}, 1),
        (2**24 + 1, {}, 0),
        (2**18, {"alpha": 0.5}, 5),
        (1, {"alpha": 0.1}, 0),
        (10, {"beta": 1e30}, 0),
    ],
)
def test_exact_range(terms: int, scales: dict[str, Any], reach: int) -> None:
    assert exact_range(Gemm(1, 1, terms, **scales)) == reach


def test_sums_of_13_bits_are_exact_where_random_ones_fit() -> None:
    unit = unit_of("sm_90a", F8E4M3FN)
    reaches = [exact_range(Gemm(64, 64, k, dtype="f8e4m3fn"), unit) for k in (16, 1024, 8192, 65536)]
    assert reaches == [8, 8, 7, 3]


def test_operands_that_share_elements_are_not_probed() -> None:
    """A batch of the same matrix, or of a matrix that begins inside of another one."""
    for strides, count in (({"stride_a": 0}, 3), ({"stride_a": 60, "lda": 10}, 3), ({"stride_a": 7}, 2)):
        assert len(values_of(Gemm(5, 6, 10, batch=3, **strides))) == count  # type: ignore[arg-type]


def test_no_whole_number_is_zero() -> None:
    for name in ("f32", "i8"):
        arrays = random_operands(Gemm(50, 60, 70, dtype=name)).arrays
        assert np.all(arrays["a"]) and np.all(arrays["b"])


PROBED = [
    Gemm(7, 9, 100), Gemm(7, 9, 100, batch=2, dtype="f16", transpose_b=True), Gemm(1, 1, 300), Gemm(3, 5, 1),
    *(
        Conv2d(direction, 2, 8, 9, 7, 6, 3, 2, groups=2, stride=stride, pad_h=1)
        for direction in ("forward", "backward_data", "backward_weight")
        for stride in (1, 2)
    ),
]  # fmt: skip


@pytest.mark.parametrize("problem", PROBED, ids=lambda p: p.key())
def test_probes_have_few_products_and_the_last_among_them(problem: Gemm | Conv2d) -> None:
    """Ones in the places of what is not zero count the products."""
    arrays = random_operands(problem, 2, "probe").arrays
    ones = {
        role: (array != 0).astype(np.float32) for role, array in arrays.items() if role != problem.written
    }
    count = reference(problem, ones).want
    most = products(problem.dtype, unit_of(None, problem.dtype))
    assert 1 <= count.max() <= most
    if isinstance(problem, Gemm):
        assert arrays["a"].reshape(problem.batch, problem.m, -1)[0, 0, -1] != 0
        assert np.mean(count > 0) > 0.9


@pytest.mark.parametrize("most", [1, 2, 4])
def test_classes_of_probes_begin_with_the_last_k_and_go_down(most: int) -> None:
    """A[m, k] where k = K - 1 - m mod P, B[k, n] where k / P = (K - 1) / P - n mod Q: in the first row and
    column those of the last k, in the next ones of the k before it, and of the P before it.
    """
    for k in range(1, 90):
        at = supports(Gemm(7, 9, k), most)
        assert at["a"]({"k": k - 1, "m": 0}) and at["b"]({"k": k - 1, "n": 0}), k
        own = [one for one in range(k) if at["a"]({"k": one, "m": 0})]
        every = own[1] - own[0] if len(own) > 1 else k
        assert own == list(range((k - 1) % every, k, every)), k
        if k > 1:
            assert at["a"]({"k": k - 2, "m": 1}), k
        if k > every:
            assert at["b"]({"k": k - 1 - every, "n": 1}), k
        met = [one for one in own if at["b"]({"k": one, "n": 0})]
        assert 1 <= len(met) <= most and met[-1] == k - 1, k


@pytest.mark.parametrize(
    ("dtype", "bits"), [("f32", 24), ("tf32", 11), ("f16", 11), ("bf16", 8), ("f8e5m2", 3)]
)
def test_values_of_probes_have_all_bits(dtype: str, bits: int) -> None:
    a = random_operands(Gemm(20, 20, 400, dtype=dtype), 0, "probe").arrays["a"].astype(np.float64)
    scaled = np.abs(a[a != 0]) * 2.0 ** (bits - 1)
    assert np.all(scaled % 2 == 1) and scaled.max() < 2.0**bits <= 2 * scaled.min()


def test_large_products_of_probes_meet_every_k() -> None:
    arrays = random_operands(Gemm(80, 90, 1000), 0, "probe").arrays
    met = (arrays["a"] != 0).astype(int).T[:, :, None] * (arrays["b"] != 0)[:, None, :]
    assert met.any(axis=(1, 2)).all()


def test_inexact_scales_fall_back_to_a_bound() -> None:
    operands = random_operands(Gemm(2, 2, 2, alpha=0.1))
    assert not operands.is_exact
    assert np.abs(operands.arrays["a"]).max() <= 8


def test_i8_operands_reach_both_ends_and_are_exact() -> None:
    operands = random_operands(Gemm(64, 64, 64, dtype="i8"))
    assert operands.is_exact
    assert (operands.arrays["a"].min(), operands.arrays["a"].max()) == (-128, 127)


def test_gaps_are_poison_and_seen_when_they_are_written() -> None:
    problem = Gemm(4, 5, 6, batch=2, lda=8, ldc=10, stride_c=5, beta=1.0)
    arrays = random_operands(problem).arrays
    for operand in problem.operands:
        assert arrays[operand.role].shape == operand.shape
        assert not is_poison(arrays[operand.role]).any()
        assert spoiled(arrays[operand.role], operand.strides) == 0
    assert arrays["a"].strides == (128, 32, 4) and arrays["c"].strides == (20, 40, 4)
    np.lib.stride_tricks.as_strided(arrays["a"], (8,), (4,))[6:] = 0
    assert spoiled(arrays["a"], problem.strides("a")) == 2
