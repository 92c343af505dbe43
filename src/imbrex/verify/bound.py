"""Bound: how far a right kernel's result may be from the exact one, by what is known of the operands.

Let s_k be the partial sums of K products p_k = a_k b_k, in the order of the kernel, u the unit roundoff of
the accumulator, and M = sum |p_k|.

"any": nothing is known.  Each product passes through at most K roundings, and whatever the order and K
(Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34(2), 2013)

    |got - want| <= K u M.

"random": the operands are ours, independent, of mean zero, uniform in [-1, 1].  A product has standard
deviation sigma = 1/3, and its moments are those of a normal variable or less (E exp(t p) <= exp(t^2 sigma^2 /
2), to 2 %).  Step k errs by delta_k s_k; delta_k is uniform in +-u and of mean zero whatever came before
(Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019; Connolly, Higham and Mary, ibid. 43(1), 2021), so that
the error e = sum delta_k s_k, given the s_k, has moments like a normal variable of variance u^2/3 sum s_k^2.
The partial sums of random data grow like sqrt(k) sigma, not like k: sum s_k^2 behaves as sigma^2 K^2 times
the integral of the square of a Brownian motion, for which E exp(x^2/2 integral) = cos(x)^-1/2 (Cameron and
Martin, 1945), and no order of adding has a larger one than one by one.  With x = 3/2,

    P(|e| > L u sigma K) <= q,            L = ln(7.6 / q) / (3/2 sqrt 3).

q is the failure probability of a check, 1e-9, divided by the elements of the result: a union bound.  The
bound grows with K as the error does, and lies an order of magnitude above the largest error that is seen.

"whole": whole numbers up to 8, whose sums do not round (`verify.data`), but alpha or beta does.  A kernel may
apply alpha to parts of the sum and add these to C, of `PART` products or more: so many roundings in the place
of K, and C is in each.

"few": neither do the sums round, nor are there parts of them to which alpha is applied (`verify.probe`).
Nothing is left but what follows the sum.

A unit that truncates (`verify.unit`) errs by up to 2^-f |s| toward zero in each of K / block steps, half of
it on average and always against the sum: a bias, for which a bound on sum |s_j| is needed.  The integral of
the absolute value of a Brownian motion has mean 0.54 and exceeds it by l / sqrt 3 with probability at most
exp(-l^2/2) (Borell; Tsirelson, Ibragimov and Sudakov), so that with l = sqrt(2 ln(2 / q))

    sum |s_j| <= K / block * sigma sqrt(K) (0.54 + l / sqrt 3).

Aligning drops up to 2^-A of the largest addend from each of block + 1 addends; a product's loss has the
product's sign, which is random, and so the losses add up as roundings do, with 2^-A in the place of u.

tf32 is an f32 in memory whose product is taken of 11 bits of its significand.  A unit gets there by rounding
or by dropping bits, so that an operand is off by at most v = 2^-10 of itself, a product by d = 2 v + v^2, and
the sum by d M; of random data, with random signs, by 2 l d sigma sqrt(K) (Hoeffding).

A unit that flushes takes a subnormal operand as zero, whatever it is multiplied by: its products are lost,
and the bound has their sum of |a||b|, which the reference tells.  A subnormal sum is lost, too: less than the
smallest normal number in each of up to 2 K additions.

What follows the sum rounds a few times: alpha and beta, each rounded and applied, their sum, and the store,
by u_out.  The float64 reference has the error of a plain f64 unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from imbrex.dtype import F64, DType
from imbrex.verify.unit import PLAIN, PLAIN_F64, Unit

__all__ = ["DEVIATION", "LARGEST", "Data", "Tolerance", "likely", "tolerance"]

Data = Literal["any", "random", "whole", "few"]
"""What is known of the operands."""

FAILURE = 1e-9
"""Probability that a check calls right sums wrong."""
DEVIATION = 1 / 3
"""Standard deviation of a product of two numbers that are uniform in [-1, 1]."""
LARGEST = 1.0
"""The largest of these products."""
WHOLE_DEVIATION = 25.5
"""Standard deviation of a product of two whole numbers up to 8 that are not zero."""
PART = 64
"""Products of a sum, at least, between two roundings of its multiples by alpha."""
AFTER = 4
"""Roundings of what follows a sum: alpha, its product, beta times C, their sum."""


@dataclass(frozen=True)
class Tolerance:
    """|got - want| <= magnitude * of_magnitude + scaled * of_scaled + |want| * of_want + lost + absolute, for
    each element.

    magnitude is the sum of |a||b| over the terms of the element, times |alpha|; scaled is |alpha x| + |beta
    c|, of its sum x; lost is the part of the magnitude whose operands the unit takes as zeros.  All are 0 for
    integer results, which are exact.
    """

    of_magnitude: float
    of_scaled: float
    of_want: float
    absolute: float

    def bound(
        self,
        want: npt.NDArray[Any],
        magnitude: npt.NDArray[Any] | None = None,
        scaled: npt.NDArray[Any] | None = None,
        lost: npt.NDArray[Any] | None = None,
    ) -> npt.NDArray[np.float64]:
        """The largest error that a correct kernel can have, for every element.

        magnitude: needed for "any" data.  scaled: |want|, where nothing follows the sum.
        """
        size = np.abs(want.astype(np.float64))
        found = size * self.of_want + (size if scaled is None else scaled) * self.of_scaled + self.absolute
        if self.of_magnitude:
            assert magnitude is not None, "data of any kind needs the magnitude"
            found += magnitude * self.of_magnitude
        if lost is not None:
            found += lost * (1.0 + self.of_want)
        return found


def tolerance(
    operand: DType,
    terms: int,
    *,
    data: Data = "any",
    elements: int = 1,
    unit: Unit = PLAIN,
    alpha: float = 1.0,
) -> Tolerance:
    """The Tolerance of a sum of `terms` products of `operand` elements, by the law at the head of this file.

    elements: of the result, for the union bound.  alpha: what "random" sums are multiplied by.
    """
    if not operand.is_float:
        return Tolerance(0.0, 0.0, 0.0, 0.0)
    acc, out = operand.accumulator, operand.output
    u_out = 0.0 if out == acc else out.unit_roundoff
    flushes = 2 * terms if unit.flushes else terms
    underflow = (flushes + AFTER) * acc.smallest_normal + (0.0 if out == acc else out.smallest_subnormal)
    after = AFTER * acc.unit_roundoff
    match data:
        case "any":
            relative = _certain(operand, terms, unit)
            return Tolerance(relative * (1.0 + u_out), after, u_out, underflow)
        case "random":
            most = LARGEST * terms * _certain(operand, terms, unit)
            of_sum = abs(alpha) * min(_likely(operand, terms, elements, unit), most)
            return Tolerance(0.0, after, u_out, underflow + of_sum * (1.0 + u_out))
        case "whole":
            parts = math.ceil(terms / PART)
            of_sum = _walk(elements) * WHOLE_DEVIATION * math.sqrt((terms + 1.0) * parts)
            after += likely(elements) * math.sqrt(parts / 3.0) * acc.unit_roundoff
            of_sum *= abs(alpha) * (acc.unit_roundoff + F64.unit_roundoff) * (1.0 + u_out)
            return Tolerance(0.0, after, u_out, underflow + of_sum)
        case "few":
            return Tolerance(0.0, after, u_out, underflow)


def likely(elements: int) -> float:
    """How many standard deviations none of so many sums is away, but with the probability of a failure."""
    return math.sqrt(2.0 * math.log(2.0 * elements / FAILURE))


def _walk(elements: int) -> float:
    """L of the law."""
    return math.log(7.6 * elements / FAILURE) / (1.5 * math.sqrt(3.0))


def _certain(operand: DType, terms: int, unit: Unit) -> float:
    """The error of a sum over its magnitude, whatever the data.  Parts of a sum are added in f32 or f64."""
    plain = terms * operand.accumulator.unit_roundoff
    if unit.aligned_bits is not None:
        dropped = (unit.block + 1) * 2.0**-unit.aligned_bits
        plain += math.ceil(terms / unit.block) * (2.0**-unit.sum_bits + dropped)
    read = operand.read_error * (2.0 + operand.read_error)
    return read + (plain + terms * F64.unit_roundoff) * (1.0 + read)


def _likely(operand: DType, terms: int, elements: int, unit: Unit) -> float:
    """The error of a sum of random products that none of `elements` exceeds, but with a tiny probability."""
    wide = PLAIN_F64 if operand.accumulator == F64 else PLAIN
    units = [wide, PLAIN_F64, *([] if unit.aligned_bits is None else [unit])]
    read = operand.read_error * (2.0 + operand.read_error)
    spread = 2.0 * DEVIATION * math.sqrt(terms) * likely(elements)
    return sum(_likely_of(one, terms, elements) for one in units) + read * min(spread, LARGEST * terms)


def _likely_of(unit: Unit, terms: int, elements: int) -> float:
    """Likely error of sums in that unit."""
    rounded = _walk(elements) * DEVIATION * (terms + 1)
    found = 2.0 ** -(unit.sum_bits + 1) * rounded / math.sqrt(unit.block)
    steps = math.ceil(terms / unit.block) + 1
    if unit.is_truncated:
        partial = DEVIATION * math.sqrt(terms) * (0.54 + likely(elements) / math.sqrt(3.0))
        found += 2.0 ** -(unit.sum_bits + 1) * steps * partial
    if unit.aligned_bits is not None:
        addends = steps * (unit.block + 1)
        small = LARGEST * (likely(elements) * math.sqrt(addends / 3.0) + steps / 2.0)
        found += 2.0**-unit.aligned_bits * (rounded * math.sqrt(1.0 + 1.0 / unit.block) + small)
    return found
