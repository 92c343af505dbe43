"""The language of epilogues: text both ways, values, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F16
from imbrex.problem.epilogue import FUNCTIONS, Call, Epilogue, Expression, Name, Number, parse

LEAVES = st.sampled_from(["x", "bias", "residual"]).map(Name) | st.floats(-8, 8).map(Number)


def calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def of(name: str) -> st.SearchStrategy[Expression]:
        arguments = st.tuples(*[inner] * FUNCTIONS[name].arity)
        return arguments.map(lambda a: Call(name, a))

    return st.sampled_from(sorted(FUNCTIONS)).flatmap(of)


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
    assert parse(str(epilogue)) == epilogue


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


@pytest.mark.parametrize(
    ("text", "message", "carets"),
    [
        ("rely(x)", "no function 'rely'", "rely(x)"),
        ("relu(y)", "no 'y'", "y"),
        ("relu(x, 2)", "'relu' takes 1 argument, got 2", "relu(x, 2)"),
        ("x ** 2", "has + - * /", "x ** 2"),
        ("relu(f16(x))", "goes around the whole expression", "f16(x)"),
        ("x if x else 1", "has + - * /", "x if x else 1"),
        ("True + x", "no number", "True"),
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
