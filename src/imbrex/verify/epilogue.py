"""The error that an epilogue may add: running error analysis over its expression.

Law: where every argument x of a node is off by at most e(x), and the node itself is computed with `ROUNDINGS`
roundings of unit u of its value and its arguments, the node is off by at most

    a + b, a - b      e(a) + e(b) + r               r = ROUNDINGS u (|value| + sum of |arguments|)
    a * b             |a| e(b) + |b| e(a) + e(a) e(b) + r
    a / b             (e(a) + |a / b| e(b)) / (|b| - e(b)) + r, anything where e(b) >= |b|
    f(x, ..)          steepest slope of f * the greatest e + r
    leaky_relu(x, s)  max(1, |s|) e(x) + |x| e(s) + e(x) e(s) + r

(Higham, Accuracy and Stability of Numerical Algorithms, 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from imbrex.problem.epilogue import Call, Epilogue, Expression, Name, Number, walk
from imbrex.problem.epilogue_function import FUNCTIONS

__all__ = ["ROUNDINGS", "Finished", "is_exact"]

Float: TypeAlias = npt.NDArray[np.float64]

ROUNDINGS = 8.0
"""What the functions of every device keep: docs/semantics.md derives it."""

EXACT = frozenset({"add", "subtract", "negate", "relu", "min", "max", "clamp", "abs"})
"""Functions that do not round whole numbers of moderate size."""


@dataclass(frozen=True)
class Finished:
    """An epilogue with the exact values of x and of its arrays, broadcast to the result's shape."""

    epilogue: Epilogue
    values: Mapping[str, Float]

    @property
    def want(self) -> Float:
        return np.asarray(self.epilogue.evaluate(self.values)) + np.zeros_like(self.values["x"])

    def error(self, of_x: Float, unit: float) -> Float:
        """How far off the value may be where x is off by `of_x`, in arithmetic of unit roundoff `unit`."""
        return _error(self.epilogue.expression, self.values, of_x, unit) + np.zeros_like(of_x)


def is_exact(epilogue: Epilogue | None) -> bool:
    """Does it keep small whole numbers exact?"""
    if epilogue is None:
        return True
    nodes = tuple(walk(epilogue.expression))
    whole = all(n.value.is_integer() and abs(n.value) < 2**10 for n in nodes if isinstance(n, Number))
    return whole and all(n.function in EXACT for n in nodes if isinstance(n, Call))


def _error(expression: Expression, values: Mapping[str, Float], of_x: Float, unit: float) -> Float:
    match expression:
        case Name("x"):
            return of_x
        case Name() | Number():
            return np.zeros(())
        case Call(name, arguments):
            held = [np.asarray(Epilogue(a).evaluate(values)) for a in arguments]
            errors = [_error(a, values, of_x, unit) for a in arguments]
            own = np.asarray(FUNCTIONS[name].value(*held))
            rounded = ROUNDINGS * unit * (np.abs(own) + sum(np.abs(h) for h in held))
            return _passed_on(name, held, errors, own) + rounded


def _passed_on(name: str, held: list[Float], errors: list[Float], own: Float) -> Float:
    match name:
        case "add" | "subtract":
            return errors[0] + errors[1]
        case "multiply":
            a, b = (np.abs(h) for h in held)
            return a * errors[1] + b * errors[0] + errors[0] * errors[1]
        case "leaky_relu":
            steepest = np.maximum(1.0, np.abs(held[1]))
            return steepest * errors[0] + (np.abs(held[0]) + errors[0]) * errors[1]
        case "divide":
            room = np.abs(held[1]) - errors[1]
            passed = (errors[0] + np.abs(own) * errors[1]) / np.where(room > 0, room, 1.0)
            return np.where(room > 0, passed, np.inf)
        case _:
            return FUNCTIONS[name].steepest * np.max(np.broadcast_arrays(*errors), axis=0)
