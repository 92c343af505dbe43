"""DType: the element types, what each accumulates in and stores to, and the error that a result may have.

Law of the error bound.  A result is a sum of K products, computed in some order, with or without FMA, in an
accumulator of unit roundoff u.  Each product passes through at most K roundings, and whatever the order and K
(Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34(2), 2013, who rid the textbook's K u / (1 - K u) of its
denominator)

    |acc - want| <= gamma(K) * sum |a||b|,            gamma(K) = K u.

Where the data is random, roundings are independent and of mean zero, and gamma(K) shrinks to lambda sqrt(K) u
with probability at least 1 - 2 K exp(-lambda^2 / 2) for one element (Higham and Mary, SIAM J. Sci. Comput.
41(5), 2019); lambda = 10 leaves 4e-22 K.  Storing into a narrower type rounds once more, by u_out.  The
float64 reference has the same error with its own u.  Together, with eta for underflow:

    |got - want| <= gamma * sum |a||b| * (1 + u_out) + u_out |want| + eta.

tf32 is an f32 in memory whose product is taken of 11 bits of its significand.  A matrix unit gets there by
rounding to nearest or by dropping bits, so that an operand is off by at most v = 2^-10 of itself, one product
by (1 + v)^2 - 1, and the sum, before any rounding of its own, by

    delta = 2 v + v^2 of sum |a||b|;        gamma becomes delta + gamma (1 + delta).

Where the data is random, so are the signs of these errors, each at most delta |a||b|: their sum exceeds
lambda delta sqrt(sum |a b|^2) with probability at most 2 exp(-lambda^2 / 2) (Hoeffding).  The root mean
square of random products is below twice their mean (1.33 of uniform ones, 1.57 of normal ones), which makes
delta smaller by 2 lambda / sqrt(K).

An 8-bit float comes in two formats, 4 bits of exponent and 3 of mantissa or 5 and 2, each as the Open Compute
Project has it (fn: no infinity, 2023) and as gfx942 has it (fnuz: no -0 either, one more in the bias).  A
product of them is an f32: the largest f8e4m3fn is 448, so that a sum of more than a few would have to be
scaled before it is stored, and a problem states no scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = [
    "BF16",
    "DTYPES",
    "F8E4M3FN",
    "F8E4M3FNUZ",
    "F8E5M2",
    "F8E5M2FNUZ",
    "F16",
    "F32",
    "F64",
    "I8",
    "I32",
    "ML_DTYPES",
    "TF32",
    "DType",
    "Data",
    "Tolerance",
    "dtype",
    "tolerance",
]

Data = Literal["any", "random"]
"""What is known of the operands: nothing, or that they are random, independent and of mean zero."""

REFERENCE_UNIT = 2.0**-53
LIKELY_LAMBDA = 10.0
PEAK = 2.0
"""Root mean square over mean of the products of random data, at most."""


@dataclass(frozen=True, repr=False)
class DType:
    """An element type.  significand_bits counts the leading one; it is 0 for integers, which never round.

    min_exponent is that of the smallest normal number.  c_name is the storage type in C and C++;
    accumulator_name and output_name are names in `DTYPES`.  largest_finite: given for a float whose largest
    value is not the one that IEEE 754 would have.  read_bits: of the significand that a product reads, where
    they are fewer than memory holds.
    """

    name: str
    bytes: int
    c_name: str
    mlir_name: str
    significand_bits: int
    min_exponent: int
    accumulator_name: str
    output_name: str
    largest_finite: float | None = None
    read_bits: int | None = None

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.significand_bits > 0

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The array element type; bf16 and 8-bit floats are those of `ml_dtypes`, imported at first use."""
        if self.name in ML_DTYPES:
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, ML_DTYPES[self.name]))
        return np.dtype(NUMPY[self.name])

    @property
    def accumulator(self) -> DType:
        """The type in which sums of products are kept."""
        return DTYPES[self.accumulator_name]

    @property
    def output(self) -> DType:
        """The type of a result whose operands have this type: of 8-bit types their accumulator, otherwise the
        same.
        """
        return DTYPES[self.output_name]

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of one rounding to nearest; 0 for integers."""
        return 2.0**-self.significand_bits if self.is_float else 0.0

    @property
    def read_error(self) -> float:
        """Largest relative error of one operand as a product reads it; 0 where it reads all of it."""
        return 0.0 if self.read_bits is None else 2.0 ** (1 - self.read_bits)

    @property
    def smallest_normal(self) -> float:
        return 2.0**self.min_exponent if self.is_float else 0.0

    @property
    def smallest_subnormal(self) -> float:
        return 2.0 ** (self.min_exponent - self.significand_bits + 1) if self.is_float else 0.0

    @property
    def largest(self) -> float:
        """The largest finite value."""
        if not self.is_float:
            return float(2 ** (8 * self.bytes - 1) - 1)
        if self.largest_finite is not None:
            return self.largest_finite
        return (2.0 - 2.0 ** (1 - self.significand_bits)) * 2.0 ** (1 - self.min_exponent)


F32 = DType("f32", 4, "float", "f32", 24, -126, "f32", "f32")
F16 = DType("f16", 2, "_Float16", "f16", 11, -14, "f32", "f16")
BF16 = DType("bf16", 2, "__bf16", "bf16", 8, -126, "f32", "bf16")
F64 = DType("f64", 8, "double", "f64", 53, -1022, "f64", "f64")
F8E4M3FN = DType("f8e4m3fn", 1, "uint8_t", "f8E4M3FN", 4, -6, "f32", "f32", 448.0)
F8E5M2 = DType("f8e5m2", 1, "uint8_t", "f8E5M2", 3, -14, "f32", "f32")
F8E4M3FNUZ = DType("f8e4m3fnuz", 1, "uint8_t", "f8E4M3FNUZ", 4, -7, "f32", "f32", 240.0)
F8E5M2FNUZ = DType("f8e5m2fnuz", 1, "uint8_t", "f8E5M2FNUZ", 3, -15, "f32", "f32", 57344.0)
TF32 = DType("tf32", 4, "float", "tf32", 24, -126, "f32", "f32", read_bits=11)
I8 = DType("i8", 1, "int8_t", "i8", 0, 0, "i32", "i32")
I32 = DType("i32", 4, "int32_t", "i32", 0, 0, "i32", "i32")

DTYPES: dict[str, DType] = {
    t.name: t for t in (F32, F16, BF16, F64, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, TF32, I8, I32)
}

NUMPY = {"f32": "f4", "tf32": "f4", "f16": "f2", "f64": "f8", "i8": "i1", "i32": "i4"}
"""Of the types that NumPy itself has: its array element types."""

ML_DTYPES = {
    "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
"""Of the types that NumPy itself has not: the array element types of `ml_dtypes`."""

_ALIASES = {
    "float32": "f32", "float": "f32", "fp32": "f32", "float16": "f16", "half": "f16", "fp16": "f16",
    "float64": "f64", "double": "f64", "fp64": "f64", "int8": "i8", "int32": "i32",
    "tensorfloat32": "tf32", "xf32": "tf32",
    "fp8": "f8e4m3fn", "bf8": "f8e5m2", "fp8_fnuz": "f8e4m3fnuz", "bf8_fnuz": "f8e5m2fnuz",
    **{long: short for short, long in ML_DTYPES.items()},
}  # fmt: skip


def dtype(name: str | DType | npt.DTypeLike) -> DType:
    """The DType of that name (`f32`, `float32`, `fp32`) or of that NumPy element type; else a Diagnostic."""
    if isinstance(name, DType):
        return name
    try:
        word = name.lower() if isinstance(name, str) else np.dtype(name).name
    except (TypeError, ValueError):
        word = repr(name)
    found = DTYPES.get(_ALIASES.get(word, word))
    if found is None:
        known = ", ".join(DTYPES)
        hint = did_you_mean(word, [*DTYPES, *_ALIASES])
        raise Diagnostic(f"unknown element type '{word}'; known are {known}", hint=hint, subject="dtype")
    return found


@dataclass(frozen=True)
class Tolerance:
    """|got - want| <= magnitude * of_magnitude + |want| * of_want + absolute, element by element.

    magnitude is the sum of |a||b| over the terms of the element (plus |beta c| where there is one).
    All three are 0 for integer results, which are exact.
    """

    of_magnitude: float
    of_want: float
    absolute: float

    def bound(self, want: npt.NDArray[Any], magnitude: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The largest error that a correct kernel can have, for every element."""
        size = np.abs(want.astype(np.float64))
        return magnitude.astype(np.float64) * self.of_magnitude + size * self.of_want + self.absolute


def tolerance(operand: DType, terms: int, *, extra_roundings: int = 0, data: Data = "any") -> Tolerance:
    """The Tolerance of a sum of `terms` products of `operand` elements, by the law at the head of this file.

    extra_roundings: further roundings that one product can pass through (alpha, beta, a split sum).
    data: "any" gives the bound that always holds; "random" the smaller one for random data of mean zero.
    """
    if not operand.is_float:
        return Tolerance(0.0, 0.0, 0.0)
    acc, out = operand.accumulator, operand.output
    roundings = terms + extra_roundings
    u_out = 0.0 if out == acc else out.unit_roundoff
    relative = _gamma(roundings, acc.unit_roundoff, data) + _gamma(roundings, REFERENCE_UNIT, data)
    read = _delta(terms, operand.read_error, data)
    relative = read + relative * (1.0 + read)
    underflow = roundings * acc.smallest_normal + (0.0 if out == acc else out.smallest_subnormal)
    return Tolerance(relative * (1.0 + u_out), u_out, underflow)


def _delta(terms: int, unit: float, data: Data) -> float:
    """Relative error of a sum of products, of what its operands lose when they are read."""
    certain = unit * (2.0 + unit)
    return certain if data == "any" else certain * min(1.0, PEAK * LIKELY_LAMBDA / math.sqrt(terms))


def _gamma(roundings: int, unit: float, data: Data) -> float:
    """Relative error of `roundings` roundings in sequence."""
    certain = roundings * unit
    if data == "any":
        return certain
    return min(certain, math.expm1(LIKELY_LAMBDA * math.sqrt(roundings) * unit + roundings * unit * unit))
