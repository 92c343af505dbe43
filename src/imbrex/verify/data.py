"""Data: random operands for a problem, seeded, and whether results on them are exact.

Law: with "integer" values every partial sum, in any order, with or without FMA, is a multiple of one power
of two and below 2^p of it, p being the accumulator's significand bits; nothing rounds before the store, and
a right kernel gives the rounded truth to the last bit.  "float" values are uniform in [-1, 1) and need a
bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from imbrex.dtype import F32
from imbrex.problem import Conv2d, Gemm, Operand
from imbrex.verify.epilogue import is_exact as keeps_whole_numbers
from imbrex.verify.poison import poisoned

__all__ = ["Operands", "Values", "exact_range", "random_operands"]

Values = Literal["integer", "float"]

WIDEST = 8


@dataclass(frozen=True)
class Operands:
    """Arrays by role, in the problem's layouts; the written one is poisoned, or random where it is read, too.

    is_exact: a right kernel's result equals the rounded truth.
    """

    arrays: dict[str, npt.NDArray[Any]]
    is_exact: bool


def random_operands(problem: Conv2d | Gemm, seed: int = 0, values: Values = "integer") -> Operands:
    """Random operands; the same seed gives the same ones.

    "integer" falls back to wider integers with a bound where exact ones cannot be had (K above 2^24, odd
    alphas).
    """
    if values not in get_args(Values):
        raise ValueError(f"'values' should be {' or '.join(get_args(Values))}, got {values!r}")
    random = np.random.default_rng(seed)
    widest = exact_range(problem)
    beta = problem.beta if isinstance(problem, Gemm) else 0.0
    arrays: dict[str, npt.NDArray[Any]] = {}
    for operand in problem.operands:
        if operand.is_written and beta == 0.0:
            arrays[operand.role] = poisoned(operand.shape, operand.dtype, operand.strides)
        elif not problem.dtype.is_float:
            low, high = (-128, 127) if operand.dtype == problem.dtype else (-WIDEST, WIDEST)
            drawn = random.integers(low, high, operand.shape, np.int16, endpoint=True)
            arrays[operand.role] = drawn.astype(operand.dtype.numpy)
        elif values == "integer":
            reach = widest or WIDEST
            small = random.integers(-reach, reach, operand.shape, np.int8, endpoint=True)
            arrays[operand.role] = small.astype(operand.dtype.numpy)
        else:
            real = random.random(operand.shape, np.float64 if operand.dtype.name == "f64" else np.float32)
            arrays[operand.role] = (2 * real - 1).astype(operand.dtype.numpy)
        arrays[operand.role] = _laid(arrays[operand.role], operand)
    is_exact = not problem.dtype.is_float or (values == "integer" and widest > 0)
    return Operands(arrays, is_exact and _is_kept(problem))


def _laid(array: npt.NDArray[Any], operand: Operand) -> npt.NDArray[Any]:
    """The array with the operand's gaps, full of poison."""
    if operand.strides is None:
        return array
    laid = poisoned(operand.shape, operand.dtype, operand.strides)
    np.copyto(laid, array)
    return laid


def _is_kept(problem: Conv2d | Gemm) -> bool:
    """Does the epilogue, computed in f32, add no rounding of its own?"""
    if problem.epilogue is None:
        return True
    fits = problem.dtype.is_float or problem.terms * 128 * 128 < 2**F32.significand_bits
    return fits and keeps_whole_numbers(problem.epilogue)


def exact_range(problem: Conv2d | Gemm) -> int:
    """The largest r up to 8 such that operands in [-r, r] never round in the accumulator; 0 for none."""
    bits = problem.dtype.accumulator.significand_bits
    alpha, beta = (problem.alpha, problem.beta) if isinstance(problem, Gemm) else (1.0, 0.0)
    unit = max(alpha.as_integer_ratio()[1], beta.as_integer_ratio()[1])
    for reach in range(WIDEST, 0, -1):
        largest = max(1.0, abs(alpha)) * problem.terms * reach * reach + abs(beta) * reach
        if math.isfinite(largest) and largest * unit <= 2.0**bits:
            return reach
    return 0
