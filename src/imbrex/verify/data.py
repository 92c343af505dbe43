"""Data: random operands for a problem, seeded, and what is known of results on them.

Law: with "integer" values every partial sum, in any order, with or without FMA, is a multiple of one power
of two and below 2^p of it, p being the significand bits of the unit's sums; nothing rounds before the store,
and a right kernel gives the rounded truth to the last bit.  None is zero, so that no term can be left out
unseen.  "float" values are uniform in [-1, 1) and need a bound.  "probe" values are those of `verify.probe`.
Scales of blocks are such that the same holds of what they multiply: 1 or 2 of whole numbers, at most 1 of
uniform ones, and of probes so near to each other that no sum of a few products rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from imbrex.dtype import E8M0, F32, F64, packed
from imbrex.problem import Conv2d, Gemm, Operand
from imbrex.verify.bound import Data, likely
from imbrex.verify.epilogue import is_exact as keeps_whole_numbers
from imbrex.verify.poison import poisoned
from imbrex.verify.probe import Support, products, read_bits, supports
from imbrex.verify.unit import Unit, unit_of

__all__ = [
    "EXPONENTS", "VALUES", "WIDEST", "Known", "Operands", "Values", "exact_range", "indices", "known",
    "probe_supports", "problem_before", "random_operands", "values_of",
]  # fmt: skip

Values = Literal["integer", "float", "probe"]
VALUES: tuple[Values, ...] = get_args(Values)

WIDEST = 8

EXPONENTS: Final[Mapping[Values, tuple[int, int]]] = {"integer": (0, 1), "float": (-6, 0), "probe": (-3, 3)}
"""Least and greatest exponent of the scales of blocks."""


@dataclass(frozen=True)
class Known:
    """What is known of results on random operands.

    is_exact: a right kernel's result equals the rounded truth.  data: for the bound, where it is not.
    widest: of the whole numbers.
    """

    is_exact: bool
    data: Data
    widest: int


@dataclass(frozen=True)
class Operands:
    """Arrays by role, in the problem's layouts; what is written is poisoned, or random where it is read, too.

    is_exact, data: as of `Known`.  is_exact_before: of the pre-activation.
    """

    arrays: dict[str, npt.NDArray[Any]]
    is_exact: bool
    data: Data = "any"
    is_exact_before: bool = False


def values_of(problem: Conv2d | Gemm) -> tuple[Values, ...]:
    """The kinds that say something of it: whole numbers have no fractions, and where elements of an operand
    share memory, few of them are not zero for one and many for another.
    """
    kinds: tuple[Values, ...] = VALUES if problem.dtype.is_float else ("integer", "probe")
    is_shared = any(_shares(operand) for operand in problem.operands if not operand.is_written)
    return tuple(kind for kind in kinds if kind != "probe") if is_shared else kinds


def _shares(operand: Operand) -> bool:
    """Do elements lie at one place that differ in more than a dimension of stride 0?"""
    reached = 0
    for stride, size in sorted(zip(operand.strides or (), operand.shape, strict=False)):
        if size > 1 and 0 < stride <= reached:
            return True
        reached += (size - 1) * stride
    return False


def random_operands(
    problem: Conv2d | Gemm, seed: int = 0, values: Values = "integer", unit: Unit | None = None
) -> Operands:
    """Random operands; the same seed gives the same ones.

    "integer" falls back to wider integers with a bound where exact ones cannot be had (K above 2^24, odd
    alphas).  unit: what adds the products, a plain one where nobody says.
    """
    if values not in VALUES:
        raise ValueError(f"'values' should be {', '.join(VALUES[:-1])} or {VALUES[-1]}, got {values!r}")
    random = np.random.default_rng(seed)
    found = known(problem, values, unit)
    unit = unit or unit_of(None, problem.dtype)
    masks = probe_supports(problem, unit) if values == "probe" else {}
    beta = problem.beta if isinstance(problem, Gemm) else 0.0
    arrays: dict[str, npt.NDArray[Any]] = {}
    for operand in problem.operands:
        if operand.is_written and (beta == 0.0 or operand.role != problem.written):
            arrays[operand.role] = poisoned(operand.shape, operand.dtype, operand.strides)
            continue
        if operand.dtype == E8M0:
            low, high = EXPONENTS[values]
            drawn = 2.0 ** random.integers(low, high, operand.shape, endpoint=True)
        elif operand.role in masks:
            drawn = _full(random, operand)
            drawn[~np.broadcast_to(masks[operand.role](indices(operand)), drawn.shape)] = 0
        elif values == "float" and operand.dtype.is_float:
            drawn = _real(random, operand)
        else:
            is_narrow = operand.dtype == problem.dtype and not problem.dtype.is_float
            drawn = _whole(random, operand, -128 if is_narrow else -found.widest)
        arrays[operand.role] = _laid(packed(drawn, operand.dtype), operand)
    own = problem_before(problem)
    is_exact_before = own is not None and known(own, values, unit).is_exact
    return Operands(arrays, found.is_exact, found.data, is_exact_before)


def problem_before(problem: Conv2d | Gemm) -> Conv2d | Gemm | None:
    """The problem whose result is the pre-activation; None where none is stored."""
    if problem.epilogue is None or problem.epilogue.before is None:
        return None
    return replace(problem, epilogue=problem.epilogue.before)


def known(problem: Conv2d | Gemm, values: Values, unit: Unit | None = None) -> Known:
    """What is known of results on operands of `random_operands`."""
    if not problem.dtype.is_float:
        return Known(_is_kept(problem), "few", WIDEST)
    unit = unit or unit_of(None, problem.dtype)
    if values == "float":
        return Known(False, "random", WIDEST)
    if values == "probe":
        return Known(_is_shift(problem) and problem.epilogue is None, "few", WIDEST)
    if reach := exact_range(problem, unit):
        return Known(_is_kept(problem), "few", reach)
    bare = replace(problem, alpha=1.0, beta=0.0) if isinstance(problem, Gemm) else problem
    if reach := exact_range(bare, unit):
        return Known(False, "few" if _is_shift(problem) else "whole", reach)
    return Known(False, "any", WIDEST)


def probe_supports(problem: Conv2d | Gemm, unit: Unit) -> dict[str, Support]:
    """Where the operands of probes are not zero; a single product where alpha or beta rounds."""
    return supports(problem, products(problem.dtype, unit) if _is_shift(problem) else 1)


def _is_shift(problem: Conv2d | Gemm) -> bool:
    """Are sums multiplied by no more than a power of two, and nothing is added?"""
    if isinstance(problem, Conv2d):
        return True
    return abs(math.frexp(problem.alpha)[0]) == 0.5 and problem.beta == 0.0


def _whole(random: np.random.Generator, operand: Operand, low: int) -> npt.NDArray[Any]:
    """Whole numbers from low to -low, or one less, without zero."""
    high = 126 if low == -128 else -low - 1
    drawn = random.integers(low, high, operand.unpacked_shape, np.int16, endpoint=True)
    drawn += drawn >= 0
    return drawn


def _real(random: np.random.Generator, operand: Operand) -> npt.NDArray[Any]:
    """Uniform in [-1, 1).  None is subnormal in 16 bits, where some units take it as zero (CDNA2 ISA)."""
    real = 2 * random.random(operand.unpacked_shape, np.float64 if operand.dtype == F64 else np.float32) - 1
    if operand.dtype.bytes == 2:
        least = operand.dtype.smallest_normal
        real[np.abs(real) < least] = least
    return real


def _full(random: np.random.Generator, operand: Operand) -> npt.NDArray[Any]:
    """Odd numbers of as many bits as a product reads, as numbers between 1 and 2, with signs."""
    shape = operand.unpacked_shape
    if not operand.dtype.is_float:
        return random.integers(1, 127, shape, np.int16) * random.choice(np.array([-1, 1], np.int16), shape)
    bits = read_bits(operand.dtype)
    odd = 2 * random.integers(2 ** (bits - 2), 2 ** (bits - 1), shape) + 1
    signs = random.choice(np.array([-1.0, 1.0]), shape)
    return odd * signs * 2.0 ** (1 - bits)


def indices(operand: Operand) -> dict[str, npt.NDArray[Any]]:
    """Index of every single element along each dimension."""
    return dict(zip(operand.layout, np.ogrid[*(slice(size) for size in operand.unpacked_shape)], strict=True))


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


def exact_range(problem: Conv2d | Gemm, unit: Unit | None = None) -> int:
    """The largest r up to 8 such that operands in [-r, r] never round in the unit's sums; 0 for none.

    Where these are narrower than an accumulator, partial sums are taken as what random ones do not exceed.
    """
    unit = unit or unit_of(None, problem.dtype)
    alpha, beta = (problem.alpha, problem.beta) if isinstance(problem, Gemm) else (1.0, 0.0)
    fraction = max(alpha.as_integer_ratio()[1], beta.as_integer_ratio()[1])
    bits = problem.dtype.accumulator.significand_bits
    is_narrow = unit.sum_bits + 1 < bits
    widest = likely(problem.terms * problem.result.elements) * math.sqrt(problem.terms)
    scales = 4.0 ** EXPONENTS["integer"][1] if problem.dtype.is_microscaled else 1.0
    for reach in range(min(WIDEST, int(problem.dtype.largest)), 0, -1):
        largest = max(1.0, abs(alpha)) * problem.terms * scales * reach * reach + abs(beta) * reach
        mean_square = (reach + 1) * (2 * reach + 1) / 6
        is_kept = not is_narrow or min(problem.terms * reach**2, widest * mean_square) < 2.0 ** (
            unit.sum_bits + 1
        )
        if is_kept and math.isfinite(largest) and largest * fraction <= 2.0**bits:
            return reach
    return 0
