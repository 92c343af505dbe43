"""Results after an epilogue: right in the reference, with bounds that hold and that what is wrong fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from imbrex.problem import Conv2d, Gemm
from imbrex.problem.epilogue import Call, Expression, Name, Number
from imbrex.problem.epilogue_function import FUNCTIONS
from imbrex.verify.compare import compare, compare_results
from imbrex.verify.data import random_operands
from imbrex.verify.poison import poison
from imbrex.verify.reference import reference

EPILOGUES = [
    "relu(x + bias)",
    "gelu(x + bias) + residual",
    "silu(x) * residual",
    "f16(tanh(x / 8))",
    "x * x - residual",
    "residual / (2 + abs(x))",
    "clamp(x * 0.125, -1, 6)",
    "softplus(x + bias) * hardswish(x)",
    "leaky_relu(x, residual)",
]


def in_f32(expression: Expression, values: dict[str, Any]) -> Any:
    """Every value of an expression in f32, with its range."""
    match expression:
        case Name(name):
            return values[name]
        case Number(value):
            return np.float32(value)
        case Call(name, arguments):
            found = FUNCTIONS[name].value(*(in_f32(one, values) for one in arguments))
            return np.asarray(found).astype("f4")


def computed(problem: Gemm, arrays: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """As a kernel does it: f32 sums in an order of its own, f32 arithmetic after it."""
    x = (arrays["a"][:, ::-1].astype("f4") @ arrays["b"][::-1].astype("f4")).astype("f4")
    assert problem.epilogue is not None
    values: dict[str, Any] = {"x": x} | {r: arrays[r].astype("f4") for r in problem.epilogue.arrays}
    result = np.asarray(problem.epilogue.evaluate(values)).astype("f4")
    return result.astype(problem.element("c").numpy)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["x / 0", "bias / (x - x)", "1e38 * x * 1e38 - residual / 0", "tanh(x / 0)"])
def test_what_is_infinite_or_nan_is_no_warning(text: str) -> None:
    problem = Gemm(9, 17, 33, epilogue=text)
    operands = random_operands(problem, 3, "float")
    truth = reference(problem, operands.arrays)
    with np.errstate(all="ignore"):
        got = computed(problem, operands.arrays)
    assert compare(problem, got, truth, data="random").is_right


@pytest.mark.parametrize(
    "text",
    [
        "x * 1e38 * 1e-38",
        "x / 1e-38 * 1e-38",
        "x / (x * 1e38 * 1e38)",
        "clamp(x * 1e38, -3, 6)",
        "relu(x * 1e38 * 1e38 - residual) * 0.5",
        "tanh(x * 1e38) * 2",
    ],
)
def test_what_overflows_on_its_way_is_infinity_as_in_f32(text: str) -> None:
    problem = Gemm(9, 17, 33, epilogue=text)
    operands = random_operands(problem, 3, "float")
    truth = reference(problem, operands.arrays)
    assert problem.epilogue is not None
    x = operands.arrays["a"] @ operands.arrays["b"]
    with np.errstate(all="ignore"):
        got = in_f32(problem.epilogue.expression, {**operands.arrays, "x": x})
    found = compare(problem, got, truth, data="random")
    assert found.is_right, found
    if text.startswith(("x *", "x / 1")):  # what is added to is off by roundings of that size
        wrong = np.where(np.isinf(got), np.float32(1.0), got * np.float32(1.01) + np.float32(0.01))
        assert compare(problem, wrong, truth, data="random").wrong == got.size


@pytest.mark.parametrize(
    "text",
    [
        "clamp(x * 1e38, -1, 1)",
        "clamp(x * 1e30, -3, 6)",
        "tanh(x * 1e30) * 2",
        "sigmoid(x * 1e30)",
        "relu(x * 1e38) * 0",
        "max(min(x * 1e30, 7), residual)",
    ],
)
@pytest.mark.parametrize("values", ["integer", "float"])
def test_what_ends_an_expression_is_judged_however_large_its_argument_is(text: str, values: Any) -> None:
    problem = Gemm(9, 17, 33, epilogue=text)
    operands = random_operands(problem, 3, values)
    truth = reference(problem, operands.arrays)
    with np.errstate(all="ignore"):
        got = truth.want.astype("f4")
        assert compare(problem, got, truth, data=operands.data).is_right
        wrong = np.where(np.isfinite(got), got * np.float32(1.001) + np.float32(0.003), np.float32(1.0))
    assert compare(problem, wrong, truth, data=operands.data).wrong == got.size


def test_a_result_that_may_be_anything_is_not_called_right() -> None:
    problem = Gemm(3, 4, 5, epilogue="x / (residual - residual)")
    operands = random_operands(problem, 3, "float")
    found = compare(problem, np.ones((3, 4), "f4"), reference(problem, operands.arrays), data="random")
    assert not found.is_right and found.wrong == 0
    assert str(found) == "not judged: 12 of 12 elements may be anything by the epilogue"
    kept = Gemm(3, 4, 5, epilogue="pre_activation(x) / (residual - residual)")
    truth = reference(kept, operands.arrays)
    assert truth.before is not None
    before = truth.before.want.astype("f4")
    found = compare_results(kept, [np.ones((3, 4), "f4"), before], truth, operands)
    assert found.wrong == 0 and not found.is_right


def test_elements_that_may_be_anything_are_counted() -> None:
    problem = Gemm(1, 2, 1, epilogue="x / residual")
    arrays = {"a": np.ones((1, 1), "f4"), "b": np.array([[1.0, 1.0]], "f4")}
    arrays["residual"] = np.array([[0.0, 1.0]], "f4")
    truth = reference(problem, arrays)
    found = compare(problem, np.array([[np.inf, 1.0]], "f4"), truth, data="random")
    assert found.is_right and found.unbounded == 0
    found = compare(problem, np.array([[-5.0, 1.0]], "f4"), truth, data="random")
    assert found.is_right and found.unbounded == 1 and str(found).endswith(", 1 may be anything")


def test_a_sum_of_a_product_beyond_f32_may_be_of_one_operation() -> None:
    problem = Gemm(3, 3, 8, epilogue="x * 1e38 - residual * 1e38")
    a, b = np.full((3, 8), 1.0, "f4"), np.full((8, 3), 1.0, "f4")
    truth = reference(problem, {"a": a, "b": b, "residual": np.full((3, 3), 7.0, "f4")})
    for value in (np.inf, np.nan, 1e38):
        assert compare(problem, np.full((3, 3), value, "f4"), truth, data="random").wrong == 0


@pytest.mark.parametrize("text", EPILOGUES)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_arithmetic_in_f32_is_within_its_bound_and_little_more_is_not(text: str, dtype: str) -> None:
    problem = Gemm(9, 17, 33, dtype=dtype, epilogue=text)
    operands = random_operands(problem, 3, "float")
    truth = reference(problem, operands.arrays)
    got = computed(problem, operands.arrays)
    found = compare(problem, got, truth, data="random")
    assert found.is_right, found
    wrong = got.copy()
    wrong[4, 5] += 0.02 * (1 + abs(wrong[4, 5]))
    assert compare(problem, wrong, truth, data="random").first is not None


@pytest.mark.parametrize(
    ("text", "is_exact"), [("relu(x + bias)", True), ("gelu(x)", False), ("x * 0.5", False)]
)
def test_whole_numbers_stay_exact_where_the_functions_are(text: str, is_exact: bool) -> None:
    problem = Gemm(4, 5, 6, epilogue=text)
    operands = random_operands(problem)
    assert operands.is_exact is is_exact
    got = computed(problem, operands.arrays)
    assert compare(problem, got, reference(problem, operands.arrays), is_exact=is_exact).is_right


def test_integers_are_rounded_and_saturate() -> None:
    problem = Gemm(3, 4, 5, dtype="i8", epilogue="i8(x * 0.03125)")
    operands = random_operands(problem)
    truth = reference(problem, operands.arrays)
    x = operands.arrays["a"].astype("i8") @ operands.arrays["b"].astype("i8")
    got = np.clip(np.rint(x / 32), -128, 127).astype(np.int8)
    assert np.abs(got.astype(int)).max() == 127 or got.min() == -128
    assert compare(problem, got, truth).is_right
    assert not compare(problem, got ^ 2, truth).is_right


def test_bias_lies_along_the_channels_of_a_convolution() -> None:
    conv = Conv2d("forward", 2, 3, 5, 5, 4, 3, 3, output_layout="NHWC", epilogue="x + bias")
    plain = Conv2d("forward", 2, 3, 5, 5, 4, 3, 3, output_layout="NHWC")
    arrays = random_operands(conv).arrays
    want = reference(plain, {r: arrays[r] for r in plain.roles}).want + arrays["bias"]
    assert np.array_equal(reference(conv, arrays).want, want)


@pytest.mark.parametrize(("text", "end"), [("i32(x * 1e15)", 2**31 - 1), ("i8(x * 1e30)", 127)])
def test_only_the_end_of_a_type_is_right_beyond_it(text: str, end: int) -> None:
    """2147483520 is the largest f32 below 2^31, far within the error of a sum of that size."""
    problem = Gemm(3, 4, 5, epilogue=text)
    arrays = {"a": np.ones((3, 5), np.float32), "b": np.ones((5, 4), np.float32)}
    arrays["a"][1], arrays["a"][2] = -1, np.nan
    got = np.empty((3, 4), problem.element("c").numpy)
    got[0], got[1], got[2] = end, -end - 1, 0
    truth = reference(problem, arrays)
    assert compare(problem, got, truth).is_right
    for place, wrong in (((0, 1), 2147483520 if end > 127 else 126), ((1, 2), -end), ((2, 3), -end - 1)):
        changed = got.copy()
        changed[place] = wrong
        assert compare(problem, changed, truth).wrong == 1


def test_a_factor_of_0_reads_nothing() -> None:
    problem = Gemm(2, 2, 2, alpha=0.0, beta=2.0)
    arrays = {"a": np.full((2, 2), np.nan), "b": np.full((2, 2), np.inf), "c": np.eye(2)}
    truth = reference(problem, arrays)
    assert np.array_equal(truth.want, 2 * np.eye(2)) and np.isfinite(truth.scaled).all()
    assert np.array_equal(reference(Gemm(2, 2, 2, alpha=0.0), arrays).want, np.zeros((2, 2)))


@pytest.mark.parametrize("values", ["integer", "float"])
def test_a_pre_activation_is_compared_element_by_element_with_a_bound_of_its_own(values: Any) -> None:
    problem = Gemm(9, 17, 33, dtype="f16", epilogue="gelu(pre_activation(x + bias))")
    operands = random_operands(problem, 3, values)
    assert operands.is_exact_before is (values == "integer") and not operands.is_exact
    truth = reference(problem, operands.arrays)
    plain = Gemm(9, 17, 33, dtype="f16", epilogue="x + bias")
    results = [computed(of, operands.arrays) for of in (problem, plain)]
    found = compare_results(problem, results, truth, operands)
    assert found.is_right and found.elements == 2 * 9 * 17
    wrong = results[1].copy()
    wrong[4, 5] *= np.float16(1.002)
    found = compare_results(problem, [results[0], wrong], truth, operands)
    assert found.wrong == 1 and str(found.first).startswith("pre_activation m=4 n=5: got ")
    poison(wrong)
    assert compare_results(problem, [results[0], wrong], truth, operands).unwritten == 9 * 17
    assert compare_results(problem, [results[1], results[1]], truth, operands).wrong > 0
