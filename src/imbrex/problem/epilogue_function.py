"""Function: an operator or a function of epilogues, with its value in float64 and how it passes errors on.

Law: a value is that of exact arithmetic; infinities give the limit where there is one, NaN gives NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["FUNCTIONS", "Float", "Function"]

Float: TypeAlias = npt.NDArray[np.float64]


def _itself(x: Float) -> Float:
    return x


def _relu(x: Float) -> Float:
    return np.maximum(x, 0.0)


def _clamp(x: Float, low: Float, high: Float) -> Float:
    return np.minimum(np.maximum(x, low), high)


FAR: Final = -800.0
"""What is below it counts as it where a value falls to 0: infinity times 0 is no limit."""


def _erfc(x: Float) -> Float:
    found: Any = np.frompyfunc(math.erfc, 1, 1)(x)
    return np.asarray(found, np.float64)


def _sigmoid(x: Float) -> Float:
    return np.exp(-np.logaddexp(-x, 0.0))


def _silu(x: Float) -> Float:
    return np.maximum(x, FAR) * _sigmoid(x)


def _softplus(x: Float) -> Float:
    return np.logaddexp(x, 0.0)


def _hardswish(x: Float) -> Float:
    least = np.maximum(x, -3.0)
    return least * np.minimum(least / 6.0 + 0.5, 1.0)


def _leaky_relu(x: Float, slope: Float) -> Float:
    return np.where(x > 0.0, x, slope * x)


def _gelu(x: Float) -> Float:
    return 0.5 * np.maximum(x, FAR) * _erfc(-x / math.sqrt(2.0))


def _gelu_tanh(x: Float) -> Float:
    least = np.maximum(x, FAR)
    return least * _sigmoid(math.sqrt(8.0 / math.pi) * (least + 0.044715 * least**3))


@dataclass(frozen=True)
class Function:
    """arity: arguments.  value: in float64.  steepest: a bound on the derivative by any argument, inf where
    there is none, as for products.  is_f32: kernels have it in f32 only.  short: what it may be off by,
    of itself, where the result is stored in fewer bits than f32 has, beside what it is off by in f32.
    """

    arity: int
    value: Callable[..., Float]
    steepest: float = 1.0
    is_f32: bool = False
    short: float = 0.0


FUNCTIONS: Final[Mapping[str, Function]] = {
    "add": Function(2, np.add),
    "subtract": Function(2, np.subtract),
    "multiply": Function(2, np.multiply, math.inf),
    "divide": Function(2, np.divide, math.inf),
    "negate": Function(1, np.negative),
    "pre_activation": Function(1, _itself),
    "relu": Function(1, _relu),
    "min": Function(2, np.minimum),
    "max": Function(2, np.maximum),
    "clamp": Function(3, _clamp),
    "abs": Function(1, np.abs),
    "tanh": Function(1, np.tanh, is_f32=True),
    "sigmoid": Function(1, _sigmoid, 0.25, True),
    "silu": Function(1, _silu, 1.1, True),
    "softplus": Function(1, _softplus, is_f32=True),
    "hardswish": Function(1, _hardswish, 1.5),
    "leaky_relu": Function(2, _leaky_relu, math.inf),
    "gelu": Function(1, _gelu, 1.13, True, short=2.0**-15),
    "gelu_tanh": Function(1, _gelu_tanh, 1.13, True),
}
"""Every operator and function by its name.  gelu is the exact one, by erf; gelu_tanh approximates it;
pre_activation is x, which is stored besides.
"""
