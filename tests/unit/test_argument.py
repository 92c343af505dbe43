"""Arguments of every public function: each that says nothing is refused with one message, which names it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import imbrex
from imbrex import Conv2d, Diagnostic, Gemm
from imbrex.argument import each, number, positive, text, truth, whole, word
from imbrex.kernel import target_of

A = np.ones((2, 2), np.float32)
X, W = np.ones((1, 2, 4, 4), np.float32), np.ones((2, 2, 1, 1), np.float32)
LINE = "gemm -m 4 -n 4 -k 4"

PUBLIC: Mapping[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "gemm": (imbrex.gemm, {"a": A, "b": A}),
    "gemm with c": (imbrex.gemm, {"a": A, "b": A, "c": A}),
    "conv2d": (imbrex.conv2d, {"x": X, "w": W}),
    "conv2d_backward_data": (imbrex.conv2d_backward_data, {"dy": X, "w": W, "input_shape": X.shape}),
    "conv2d_backward_weight": (imbrex.conv2d_backward_weight, {"dy": X, "x": X, "filter_shape": W.shape}),
    "Gemm": (Gemm, {"m": 4, "n": 4, "k": 4}),
    "Conv2d": (Conv2d, {"direction": "forward", "n": 1, "c": 2, "h": 4, "w": 4, "k": 2, "y": 1, "x": 1}),
    "compile": (imbrex.compile, {"problem": LINE}),
    "warm": (imbrex.warm, {"problems": LINE}),
    "tune": (imbrex.tune, {"problems": LINE}),
    "parse_problem": (imbrex.parse_problem, {"text": LINE}),
    "problem_text": (imbrex.problem_text, {"problem": Gemm(4, 4, 4)}),
    "target_of": (target_of, {}),
}
OTHER_WORDS = {"h": ("h", "hi"), "w": ("w", "wi"), "input_shape": ("dy", "shape"), "x": ("x", "images")}
"""What a message may call an argument, where that is another word than its own."""


@pytest.mark.parametrize("function", PUBLIC)
def test_what_an_argument_is_not_is_refused_by_its_name(function: str) -> None:
    called, given = PUBLIC[function]
    for name in inspect.signature(called).parameters:
        for value in (object(), b"x", np.ones(2, complex)):
            with pytest.raises((TypeError, ValueError, Diagnostic)) as caught:
                called(**{**given, name: value})
            message = str(caught.value).replace("_", " ")
            said = ("type",) if name == "dtype" else OTHER_WORDS.get(name, (name.replace("_", " "),))
            assert any(one in message for one in said), (name, value, message)
            assert "ambiguous" not in message and "unhashable" not in message, (name, value, message)


@pytest.mark.parametrize(
    ("function", "name", "value", "message"),
    [
        ("gemm", "emulate", "zzz", "'emulate' should be True, False or 'isa', got 'zzz'"),
        ("gemm", "emulate", 2, "'emulate' should be True, False or 'isa', got 2"),
        ("gemm", "transpose_a", "no", "'transpose_a' should be True or False, got 'no'"),
        ("gemm", "alpha", "2", "'alpha' should be a finite number, got '2'"),
        ("gemm", "alpha", None, "'alpha' should be a finite number, got None"),
        ("gemm", "beta", "x", "'beta' should be a finite number, got 'x'"),
        ("gemm with c", "beta", float("nan"), "'beta' should be a finite number, got nan"),
        ("gemm", "scales", A, "'scales' should be a dict of arrays by their names"),
        ("gemm", "batches", [1], "'batches' should be 'each' or 'any', got [1]"),
        ("gemm", "target", ["cpu"], "'target' should be a name, got ['cpu']"),
        ("gemm", "threads", True, "'threads' should be an integer from 1 to 99999, got True"),
        ("conv2d", "filter_layout", 0, "'filter_layout' should be a text such as 'NCHW', got 0"),
        ("conv2d", "stride", 0, "'stride' should be at least 1, got (0, 0)"),
        ("conv2d", "padding", -1, "'padding' should be at least 0, got (-1, -1)"),
        ("conv2d", "groups", 0, "'groups' should be a positive integer, got 0"),
        ("compile", "cache", "no", "'cache' should be a Cache, got 'no'"),
        ("compile", "untuned", "no", "'untuned' should be True or False, got 'no'"),
        ("compile", "name", 7, "'name' should be a name, got 7"),
        ("compile", "name", "", "'' cannot name a function of C"),
        ("warm", "jobs", 0, "'jobs' should be a positive integer, got 0"),
        ("warm", "problems", 5, "'problems' should be a problem, the text of one, or several of them, got 5"),
        ("warm", "problems", [5], "'problems' should be a problem, the text of one, or several of them"),
        ("tune", "effort", "hard", "'effort' should be 'quick', 'normal' or 'full', got 'hard'"),
        ("tune", "trials", 0, "'trials' should be a positive integer, got 0"),
        ("tune", "budget_s", -1, "'budget_s' should be above zero, got -1"),
        ("tune", "devices", "01", "'devices' should be numbers of GPUs, got '01'"),
        ("tune", "devices", [-1], "'devices' should be an integer from 0, got -1"),
        ("Gemm", "m", A, "m must be an integer"),
        ("Gemm", "transpose_a", A, "transpose_a must be true or false"),
        ("Gemm", "alpha", A, "alpha must be a finite number"),
        ("Conv2d", "direction", ["forward"], "unknown direction ['forward']"),
    ],
)
def test_the_message_says_what_is_allowed_and_what_was_given(
    function: str, name: str, value: object, message: str
) -> None:
    called, given = PUBLIC[function]
    with pytest.raises((TypeError, ValueError, Diagnostic)) as caught:
        called(**{**given, name: value})
    assert message in str(caught.value)


def test_a_target_is_emulated_by_its_name_only() -> None:
    with pytest.raises(ValueError, match="'emulate' goes with the name of a target"):
        imbrex.compile(LINE, target_of("gfx942"), emulate=True)


@pytest.mark.parametrize(
    ("check", "value", "found"),
    [
        (truth, np.True_, True),
        (truth, 0, False),
        (number, np.float32(0.5), 0.5),
        (number, np.array(2), 2.0),
        (positive, 3, 3.0),
        (partial(whole, least=0), np.int8(0), 0),
        (partial(whole, least=1, most=4), 4, 4),
        (text, "", ""),
        (partial(word, known=("a", "b")), "b", "b"),
        (partial(each, of="numbers"), (1, 2), [1, 2]),
    ],
)
def test_what_an_argument_is_comes_back(check: Callable[..., Any], value: object, found: object) -> None:
    assert check("it", value) == found


@pytest.mark.parametrize(
    ("check", "value", "error"),
    [
        (truth, 2, TypeError),
        (truth, 1.0, TypeError),
        (truth, None, TypeError),
        (number, True, TypeError),
        (number, 10**400, ValueError),
        (number, A, TypeError),
        (positive, 0.0, ValueError),
        (partial(whole, least=1), 1.0, TypeError),
        (partial(whole, least=1), np.ones(2, int), TypeError),
        (partial(whole, least=1, most=4), 5, ValueError),
        (partial(word, known=("a", "b")), "c", ValueError),
        (partial(word, known=("a", "b")), A, TypeError),
        (partial(each, of="numbers"), "12", TypeError),
        (partial(each, of="numbers"), np.array(1), TypeError),
    ],
)
def test_what_an_argument_is_not_is_refused(
    check: Callable[..., Any], value: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match="'it' should be"):
        check("it", value)


def test_a_kernel_is_asked_for_a_size_that_it_has_and_a_seed_that_is_one() -> None:
    fixed, open_ = imbrex.compile(LINE), imbrex.compile("gemm -m ?2..5 -n 3 -k 4")
    with pytest.raises(Diagnostic, match="the kernel has no run-time size"):
        fixed.at(5)
    size: Any
    for size in ("x", None, 2.0):
        with pytest.raises(TypeError, match="'size' should be an integer from 0, got"):
            open_.at(size)
    with pytest.raises(Diagnostic, match="m is from 2 to 5, got 6"):
        open_.at(6)
    for seed in (-1, "x", None):
        with pytest.raises((TypeError, ValueError), match="'seed' should be an integer from 0, got"):
            fixed.check(seed)  # type: ignore[arg-type]
