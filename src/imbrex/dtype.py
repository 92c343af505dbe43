"""DType: the element types, what each accumulates in and stores to.

tf32 is an f32 in memory whose product is taken of 11 bits of its significand.

An 8-bit float comes in two formats, 4 bits of exponent and 3 of mantissa or 5 and 2, each as the Open Compute
Project has it (fn: no infinity, 2023) and as gfx942 has it (fnuz: no -0 either, one more in the bias).  A
product of them is an f32: the largest f8e4m3fn is 448, so that a sum of more than a few would have to be
scaled before it is stored, and a problem states no scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
    "dtype",
    "saturated",
]


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

    def nearest(self, value: float) -> float:
        """The number of this float type next to `value`: infinity beyond the largest."""
        with np.errstate(over="ignore"):
            return float(self.numpy.type(value))

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
"""Array element types of the types that NumPy itself has."""

ML_DTYPES = {
    "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
"""Array element types of `ml_dtypes`, of the types that NumPy itself has not."""

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


def saturated(values: npt.NDArray[np.float64], element: DType) -> npt.NDArray[np.float64]:
    """As integers of that type: the nearest one, halves to even; its least or largest beyond; 0 of a NaN."""
    found = np.clip(np.rint(values), -element.largest - 1.0, element.largest)
    return np.where(np.isnan(values), 0.0, found)
