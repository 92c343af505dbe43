"""The error that an epilogue may add: running error analysis over its expression.

Law: where every argument x of a node is off by at most e(x), and the node itself is computed with `ROUNDINGS`
roundings of unit u of its value and its arguments, the node is off by at most

    a + b, a - b      e(a) + e(b) + r               r = ROUNDINGS u (|value| + sum of |arguments|)
    a * b             |a| e(b) + |b| e(a) + e(a) e(b) + r
    a / b             (e(a) + |a / b| e(b)) / (|b| - e(b)) + r, anything where e(b) >= |b|
    f(x, ..)          steepest slope of f * the greatest e + r
    leaky_relu(x, s)  max(1, |s|) e(x) + |x| e(s) + e(x) e(s) + r
    pre_activation(x) e(x), as it computes nothing

(Higham, Accuracy and Stability of Numerical Algorithms, 3.3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from imbrex.problem.epilogue import Call, Epilogue, Expression, Name, Number, walk
from imbrex.problem.epilogue_function import FUNCTIONS

__all__ = ["NUMPY", "ROUNDINGS", "Array", "Arrays", "Finished", "is_exact"]

Array: TypeAlias = Any
"""float64, of the library that has the operands: numpy.ndarray or torch.Tensor."""

ROUNDINGS = 8.0
"""What the functions of every device keep: docs/semantics.md derives it."""

EXACT = frozenset({"add", "subtract", "negate", "relu", "min", "max", "clamp", "abs", "pre_activation"})
"""Functions that do not round whole numbers of moderate size."""


@dataclass(frozen=True)
class Arrays:
    """A library of arrays.  module: its functions `maximum`, `where`, `zeros_like`.  constant: a number as
    one of its values.  called: what a function of epilogues gives, by its name.
    """

    module: Any
    constant: Callable[[float], Array]
    called: Callable[..., Array]

    def value(self, expression: Expression, values: Mapping[str, Array]) -> Array:
        match expression:
            case Name(name):
                return values[name]
            case Number(value):
                return self.constant(value)
            case Call(name, arguments):
                return self.called(name, *(self.value(a, values) for a in arguments))


def _called(name: str, *arguments: Array) -> Array:
    return np.asarray(FUNCTIONS[name].value(*arguments))


NUMPY = Arrays(np, np.float64, _called)


@dataclass(frozen=True)
class Finished:
    """An epilogue with the exact values of x and of its arrays, broadcast to the result's shape."""

    epilogue: Epilogue
    values: Mapping[str, Array]
    arrays: Arrays = NUMPY

    @property
    def want(self) -> Array:
        x = self.values["x"]
        with np.errstate(all="ignore"):  # x / 0 is what the expression says it is
            return self.arrays.value(self.epilogue.expression, self.values) + self.arrays.module.zeros_like(x)

    def error(self, of_x: Array, unit: float) -> Array:
        """How far off the value may be where x is off by `of_x`, in arithmetic of unit roundoff `unit`."""
        with np.errstate(all="ignore"):
            return self._error(self.epilogue.expression, of_x, unit)

    def _error(self, expression: Expression, of_x: Array, unit: float) -> Array:
        match expression:
            case Name("x"):
                return of_x
            case Name() | Number():
                return self.arrays.module.zeros_like(of_x)
            case Call("pre_activation", (argument,)):
                return self._error(argument, of_x, unit)
            case Call(name, arguments):
                held = [self.arrays.value(a, self.values) for a in arguments]
                errors = [self._error(a, of_x, unit) for a in arguments]
                own = self.arrays.called(name, *held)
                rounded = ROUNDINGS * unit * (abs(own) + sum(abs(h) for h in held))
                return _passed_on(name, held, errors, own, self.arrays.module) + rounded


def is_exact(epilogue: Epilogue | None) -> bool:
    """Does it keep small whole numbers exact?"""
    if epilogue is None:
        return True
    nodes = tuple(walk(epilogue.expression))
    whole = all(n.value.is_integer() and abs(n.value) < 2**10 for n in nodes if isinstance(n, Number))
    return whole and all(n.function in EXACT for n in nodes if isinstance(n, Call))


def _passed_on(name: str, held: list[Array], errors: list[Array], own: Array, module: Any) -> Array:
    match name:
        case "add" | "subtract":
            return errors[0] + errors[1]
        case "multiply":
            a, b = (abs(h) for h in held)
            return a * errors[1] + b * errors[0] + errors[0] * errors[1]
        case "leaky_relu":
            x, slope = (abs(h) for h in held)
            return slope.clip(1.0) * errors[0] + (x + errors[0]) * errors[1]
        case "divide":
            margin = abs(held[1]) - errors[1]
            passed = (errors[0] + abs(own) * errors[1]) / module.where(margin > 0, margin, 1.0)
            return module.where(margin > 0, passed, np.inf)
        case _:
            return FUNCTIONS[name].steepest * functools.reduce(module.maximum, errors)
