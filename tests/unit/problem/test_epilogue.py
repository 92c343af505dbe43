"""The language of epilogues: text both ways, values, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F16
from imbrex.problem import Conv2d, Gemm, parse_problem, problem_text
from imbrex.problem.epilogue import Call, Epilogue, Expression, Name, Number, parse
from imbrex.problem.epilogue_function import FUNCTIONS

NUMBERS = st.floats(-8, 8) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.sampled_from(["x", "bias", "residual"]).map(Name) | NUMBERS.map(Number)


def calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def of(name: str) -> st.SearchStrategy[Expression]:
        arguments = st.tuples(*[inner] * FUNCTIONS[name].arity)
        return arguments.map(lambda a: Call(name, a))

    return st.sampled_from(sorted({*FUNCTIONS} - {"pre_activation"})).flatmap(of)


def is_spelled_otherwise(expression: Expression) -> bool:
    """-1 reads as a number, not as the negation of one."""
    match expression:
        case Call("negate", (Number(),)):
            return True
        case Call(_, arguments):
            return any(is_spelled_otherwise(a) for a in arguments)
        case _:
            return False


@given(st.recursive(LEAVES, calls, max_leaves=8).filter(lambda e: not is_spelled_otherwise(e)))
def test_text_reads_back_as_the_same_expression(expression: Expression) -> None:
    epilogue = Epilogue(expression, F16)
    assert repr(parse(str(epilogue))) == repr(epilogue)  # which tells the zeros apart


@given(st.recursive(LEAVES, calls, max_leaves=8))
def test_a_problem_has_the_epilogue_that_its_line_states(expression: Expression) -> None:
    """Also one that is spelled otherwise, put together by hand."""
    sizes = (1, 4, 4, 4, 4, 3, 3)
    for make in (
        lambda e: Gemm(4, 4, 4, dtype="f64", epilogue=e),
        lambda e: Conv2d("forward", *sizes, epilogue=e),
    ):
        try:
            problem = make(Epilogue(expression))
        except Diagnostic as error:  # of constants that are none in f32
            assert error.subject == "epilogue"
            continue
        assert parse_problem(problem_text(problem)) == [problem]


@pytest.mark.parametrize("text", ["-x", "-bias", "-(x + 1)", "--x", "-3", "- x"])
def test_an_epilogue_may_look_like_a_flag(text: str) -> None:
    line = f'conv -n 1 -c 4 -H 4 -W 4 -k 4 -y 3 -x 3 -F 1 --epilogue "{text}"'
    (problem,) = parse_problem(line)
    assert problem.epilogue == parse(text)
    assert parse_problem(problem_text(problem)) == [problem]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x * 1e300", "infinity"),
        ("x + 3.4e39", "infinity"),
        ("x - 1e-50", "0"),
        ("min(x, -1e39)", "infinity"),
    ],
)
def test_a_constant_is_a_number_of_the_type_that_computes(text: str, found: str) -> None:
    with pytest.raises(Diagnostic, match=f"is {found} in f32") as caught:
        Gemm(4, 4, 4, dtype="f16", epilogue=text)
    assert caught.value.subject == "epilogue"
    assert Gemm(4, 4, 4, dtype="f64", epilogue=text).epilogue == parse(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("relu(x + bias)", 0.0),
        ("x * bias - residual", -8.5),
        ("-x + 2", 5.0),
        ("(x - bias) / 2", -2.75),
        ("clamp(x, -1, 6)", -1.0),
        ("min(x, bias) + max(residual, 0)", -2.0),
        ("f16(abs(x))", 3.0),
        ("tanh(0) + sigmoid(0)", 0.5),
        ("gelu(x)", 0.5 * -3 * (1 + math.erf(-3 / math.sqrt(2)))),
        ("silu(x)", -3 / (1 + math.exp(3))),
        ("softplus(x)", math.log1p(math.exp(-3))),
        ("hardswish(x + residual)", -2 / 6),
        ("leaky_relu(x, 0.5) + leaky_relu(bias, 0.5)", 1.0),
    ],
)
def test_value(text: str, want: float) -> None:
    values = {"x": np.array([-3.0]), "bias": np.array([2.5]), "residual": np.array([1.0])}
    assert parse(text).evaluate(values) == pytest.approx(want)


def test_gelu_tanh_approximates_gelu() -> None:
    x = {"x": np.linspace(-6, 6, 1001)}
    exact, near = parse("gelu(x)").evaluate(x), parse("gelu_tanh(x)").evaluate(x)
    assert 0 < np.max(np.abs(exact - near)) < 1e-3


def test_no_function_is_steeper_than_it_says() -> None:
    x = np.linspace(-8, 8, 100_001)
    for name, function in FUNCTIONS.items():
        if function.arity == 1:
            slope = np.abs(np.diff(function.value(x)) / np.diff(x))
            assert np.max(slope) <= function.steepest + 1e-9, name


def test_operands_come_in_one_order() -> None:
    assert parse("residual + bias").arrays == ("bias", "residual")
    assert parse("x").arrays == ()


def test_a_pre_activation_is_stored_and_otherwise_its_argument() -> None:
    kept = parse("f16(gelu(pre_activation(x + bias)) + residual)")
    assert (kept.arrays, kept.stored) == (("bias", "residual"), ("pre_activation",))
    assert kept.before == parse("f16(x + bias)")
    assert parse("gelu(x)").before is None and parse("gelu(x)").stored == ()
    values = {"x": np.array([0.5]), "bias": np.array([0.25]), "residual": np.array([3.0])}
    assert kept.evaluate(values) == parse("gelu(x + bias) + residual").evaluate(values)
    *_, residual, last = Gemm(3, 4, 5, dtype="f16", epilogue=kept).operands
    assert (last.role, last.is_written, last.shape, last.dtype) == ("pre_activation", True, (3, 4), F16)
    assert not residual.is_written


@pytest.mark.parametrize(
    ("text", "message", "carets"),
    [
        ("rely(x)", "no function 'rely'", "rely(x)"),
        ("relu(y)", "no 'y'", "y"),
        ("relu(x, 2)", "'relu' takes 1 argument, got 2", "relu(x, 2)"),
        ("f4e2m1fn(x)", "no result is stored as f4e2m1fn", "x"),
        ("f6e3m2fn(relu(x))", "no result is stored as f6e3m2fn", "relu(x)"),
        ("x ** 2", "has + - * /", "x ** 2"),
        ("relu(f16(x))", "goes around the whole expression", "f16(x)"),
        ("x if x else 1", "has + - * /", "x if x else 1"),
        ("True + x", "no number", "True"),
        ("-True", "no number", "True"),
        ("x * -False", "no number", "False"),
        ("None", "None is no number", "None"),
        ("-None", "no number", "None"),
        ("x + 'a'", "'a' is no number", "'a'"),
        ("2j * x", "2j is no number", "2j"),
        ("-1e400", "beyond every type of floats", "1e400"),
        ("x + 1e400", "beyond every type of floats", "1e400"),
        (f"x - {2**1024 - 1}", "beyond every type of floats", ""),
        ("inf", "no 'inf'", "inf"),
        ("pre_activation + x", "'pre_activation' is a function", "pre_activation"),
        (
            "relu(pre_activation(x)) + pre_activation(bias)",
            "has one 'pre_activation'",
            "pre_activation(bias)",
        ),
        ("f16(x, 1)", "a type goes around one expression", "f16(x, 1)"),
        ("x +", "no expression", ""),
        ("", "no expression", ""),
    ],
)
def test_bad_text_is_pointed_at(text: str, message: str, carets: str) -> None:
    with pytest.raises(Diagnostic, match=message.replace("+", r"\+").replace("*", r"\*")) as caught:
        parse(text)
    assert caught.value.file == "<epilogue>"
    if carets:
        assert "^" * len(carets) in str(caught.value)
