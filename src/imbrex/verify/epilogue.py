"""The error that an epilogue may add: running error analysis over its expression.

Law: where every argument x of a node is off by at most e(x), and the node itself is computed with `ROUNDINGS`
roundings of unit u of its value and its arguments, the node is off by at most

    a + b, a - b      e(a) + e(b) + r               r = ROUNDINGS u (|value| + sum of |arguments|)
    a * b             |a| e(b) + |b| e(a) + e(a) e(b) + s    s = ROUNDINGS u |value| + the least subnormal
    a / b             (e(a) + |a / b| e(b)) / (|b| - e(b)) + s, anything where e(b) >= |b|
    f(x, ..)          steepest slope of f * the greatest e + r, and |f| times its `short` where fewer bits
                      than f32's are stored
    f that never falls   the same, but no more than to f(x - e(x), ..) and f(x + e(x), ..)
    leaky_relu(x, s)  max(1, |s|) e(x) + |x| e(s) + e(x) e(s) + r
    pre_activation(x) e(x), as it computes nothing

What gives one of its arguments rounds nothing: r = 0; of a value within [-1, 1] r counts no argument as more
than 1, beyond which it hardly moves.  So a clamp is judged by its ends however far its argument is off.
A value beyond the largest of the arithmetic is infinity; one that its error carries there may be anything,
and so may a sum of a product beyond it, since both may be one operation.

(Higham, Accuracy and Stability of Numerical Algorithms, 3.3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from imbrex.dtype import F32, F64, DType
from imbrex.problem import Conv2d, Gemm
from imbrex.problem.epilogue import Call, Epilogue, Expression, Name, Number, walk
from imbrex.problem.epilogue_function import FUNCTIONS

__all__ = ["NUMPY", "ROUNDINGS", "Array", "Arrays", "Finished", "is_exact", "largest_of"]

Array: TypeAlias = Any
"""float64, of the library that has the operands: numpy.ndarray or torch.Tensor."""

ROUNDINGS = 8.0
"""What the functions of every device keep: docs/semantics.md derives it."""

EXACT = frozenset({"add", "subtract", "negate", "relu", "min", "max", "clamp", "abs", "pre_activation"})
"""Functions that do not round whole numbers of moderate size."""
SELECTIONS = EXACT - {"add", "subtract"}
"""Functions that give an argument, or its negative, or a constant."""
BOUNDED = frozenset({"tanh", "sigmoid"})
"""Functions whose values lie within [-1, 1], and that are flat far from 0."""
RISING = frozenset({"relu", "min", "max", "clamp", "tanh", "sigmoid", "softplus"})
"""Functions that never fall where an argument rises."""


@dataclass(frozen=True)
class Arrays:
    """A library of arrays.  module: its functions `isfinite`, `isnan`, `maximum`, `minimum`, `where`,
    `zeros_like`.
    constant: a number as one of its values.  called: what a function of epilogues gives, by its name.
    """

    module: Any
    constant: Callable[[float], Array]
    called: Callable[..., Array]


def _called(name: str, *arguments: Array) -> Array:
    return np.asarray(FUNCTIONS[name].value(*arguments))


NUMPY = Arrays(np, np.float64, _called)


@dataclass(frozen=True)
class Finished:
    """An epilogue with the exact values of x and of its arrays, broadcast to the result's shape.

    largest: the largest value of the type that computes it.  stored: the type of the result in memory.
    """

    epilogue: Epilogue
    values: Mapping[str, Array]
    largest: float
    stored: DType
    arrays: Arrays = NUMPY

    @property
    def want(self) -> Array:
        x = self.values["x"]
        with np.errstate(all="ignore"):  # x / 0 is what the expression says it is
            return self._value(self.epilogue.expression) + self.arrays.module.zeros_like(x)

    def error(self, of_x: Array, unit: float) -> Array:
        """How far off the value may be where x is off by `of_x`, in arithmetic of unit roundoff `unit`."""
        with np.errstate(all="ignore"):
            certain = self.arrays.module.where(self.arrays.module.isfinite(self.values["x"]), of_x, 0.0)
            return self._error(self.epilogue.expression, certain, unit)

    def _value(self, expression: Expression) -> Array:
        match expression:
            case Name(name):
                return self.values[name]
            case Number(value):
                return self.arrays.constant(value)
            case Call(name, arguments):
                own = self.arrays.called(name, *map(self._value, arguments))
                return self.arrays.module.where(abs(own) > self.largest, own * np.inf, own)

    def _error(self, expression: Expression, of_x: Array, unit: float) -> Array:
        match expression:
            case Name("x"):
                return of_x
            case Name() | Number():
                return self.arrays.module.zeros_like(of_x)
            case Call("pre_activation", (argument,)):
                return self._error(argument, of_x, unit)
            case Call(name, arguments):
                module = self.arrays.module
                errors = [self._error(a, of_x, unit) for a in arguments]
                held = [self._value(a) for a in arguments]
                own = self.arrays.called(name, *held)
                if name in ("add", "subtract"):
                    errors = [self._in_one(*each) for each in zip(arguments, held, errors, strict=True)]
                ends = self._ends(name, held, errors, own)
                held = [module.where(module.isfinite(h), h, 0.0) for h in held]
                size = module.where(module.isfinite(own), own, 0.0)
                passed = module.minimum(_passed_on(name, held, errors, size, module), ends)
                error = passed + self._rounded(name, held, size, unit)
                may_be_beyond = abs(abs(size) - self.largest) <= error
                return module.where(module.isnan(error) | may_be_beyond, np.inf, error)

    def _rounded(self, name: str, held: list[Array], own: Array, unit: float) -> Array:
        """How far off a node itself is."""
        if name in ("multiply", "divide"):
            least = (F64 if unit == F64.unit_roundoff else F32).smallest_subnormal
            return ROUNDINGS * unit * abs(own) + least
        if name in SELECTIONS:
            return self.arrays.module.zeros_like(own)
        if name in BOUNDED:
            held = [self.arrays.module.where(abs(h) > 1.0, 1.0, h) for h in held]
        short = FUNCTIONS[name].short if self.stored.bits < F32.bits else 0.0
        return ROUNDINGS * unit * (abs(own) + sum(abs(h) for h in held)) + short * abs(own)

    def _ends(self, name: str, held: list[Array], errors: list[Array], own: Array) -> Array:
        """How far a function that never falls gets from its value where all arguments are off the same way;
        infinity of another one, and where the way to an end is none: from infinity to infinity.
        """
        module = self.arrays.module
        if name not in RISING:
            return module.zeros_like(own) + np.inf
        low, high = (
            self.arrays.called(name, *(h + side * e for h, e in zip(held, errors, strict=True)))
            for side in (-1.0, 1.0)
        )
        far = module.maximum(*(module.where(end == own, 0.0, abs(end - own)) for end in (low, high)))
        return module.where(module.isnan(far), np.inf, far)

    def _in_one(self, argument: Expression, held: Array, error: Array) -> Array:
        """The error of a term, anything of a product beyond the largest value: it may not be rounded."""
        is_product = isinstance(argument, Call) and argument.function == "multiply"
        return self.arrays.module.where(abs(held) > self.largest, np.inf, error) if is_product else error


def largest_of(problem: Conv2d | Gemm) -> float:
    """The largest value of the type that computes a problem's epilogue."""
    return (F64 if problem.dtype.accumulator == F64 else F32).largest


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
