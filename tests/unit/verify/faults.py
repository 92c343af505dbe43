"""Kernels played by NumPy: right ones that add in different ways, and wrong ones, each with one fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from imbrex.dtype import DType
from imbrex.problem import Gemm
from imbrex.verify.compare import Comparison, compare
from imbrex.verify.data import Operands, Values, random_operands, values_of
from imbrex.verify.reference import Reference, reference
from imbrex.verify.unit import Unit, unit_of

Array = npt.NDArray[Any]
Terms = Callable[[Array, Array], Array]

TYPES = ("f32", "f16", "bf16", "f64", "tf32", "f8e4m3fn", "f8e5m2", "i8")
SIZES = (16, 256, 4096, 65536)
M, N = 6, 5


def terms(a: Array, b: Array) -> Array:
    """Every product of every element, in float64: (m, n, k)."""
    return a[:, None, :] * b.T[None, :, :]


def narrowed(array: Array, bits: int) -> Array:
    """With that many bits of the significand, the others dropped."""
    fraction, exponent = np.frexp(array)
    return np.ldexp(np.trunc(fraction * 2.0**bits), exponent - bits)


def _shifted(a: Array, b: Array) -> Array:
    return terms(np.roll(a, -1, axis=1), b)


def _dropped_last(a: Array, b: Array) -> Array:
    return terms(a, b)[..., :-1]


def _dropped_one(a: Array, b: Array) -> Array:
    return np.delete(terms(a, b), a.shape[1] // 3, axis=-1)


def _twice(a: Array, b: Array) -> Array:
    found = terms(a, b)
    return np.concatenate((found, found[..., -1:]), axis=-1)


def _past_the_row(a: Array, b: Array) -> Array:
    """One k too many, where A has the next row's first element, and B what was there before."""
    beyond = np.roll(a[:, :1], -1, axis=0) * b[-1][None, :]
    return np.concatenate((terms(a, b), beyond[..., None]), axis=-1)


def _next_row(a: Array, b: Array) -> Array:
    """The last row is that ahead of it."""
    return terms(np.concatenate((a[:-1], a[-2:-1])), b)


FAULTS: Mapping[str, Terms] = {
    "the last term is left out": _dropped_last,
    "one term is left out": _dropped_one,
    "the last term is added twice": _twice,
    "a row is read past its end": _past_the_row,
    "a row is read for its neighbour": _next_row,
    "an operand is shifted by one": _shifted,
    "a factor of 1.001": lambda a, b: terms(a * 1.001, b),
}

FEWER_BITS: Mapping[str, tuple[int, ...]] = {
    "f32": (23, 11, 8), "tf32": (10, 8), "f16": (10, 8), "bf16": (7,), "f64": (52, 24), "f8e4m3fn": (3,),
    "f8e5m2": (2,), "i8": (7,),
}  # fmt: skip
"""What is left of operands whose last bits are lost, by type; bf16 has 8, tf32 has 11."""


def losing(bits: int) -> Terms:
    return lambda a, b: terms(narrowed(a, bits), narrowed(b, bits))


def losing_bit(a: Array, b: Array) -> Array:
    """Whole numbers without their last bit."""
    return terms(2 * np.trunc(a / 2), b)


def faults_of(operand: DType) -> dict[str, Terms]:
    """Every fault that a kernel of that type may have."""
    if not operand.is_float:
        return {**FAULTS, "the last bit of an operand is lost": losing_bit}
    fewer = {f"operands of {bits} bits": losing(bits) for bits in FEWER_BITS[operand.name]}
    return {**FAULTS, **fewer}


@dataclass(frozen=True)
class Drawn:
    """Operands, in float64 as a product reads them, and the truth."""

    problem: Gemm
    unit: Unit
    operands: Operands
    truth: Reference

    @property
    def read(self) -> tuple[Array, Array]:
        a, b = (self.operands.arrays[role].astype(np.float64) for role in "ab")
        return (narrowed(a, 11), narrowed(b, 11)) if self.problem.dtype.read_bits else (a, b)

    def judged(self, sums: Array) -> Comparison:
        """The comparison of a result that is made of these sums."""
        result = self.problem.result.dtype
        x = sums.astype(np.float32).astype(np.float64) if result.name != "f64" else sums
        if self.problem.alpha != 1.0:
            x = np.float32(self.problem.alpha) * x.astype(np.float32)
        got = x.astype(result.numpy) if result.is_float else x.astype(np.int64).astype(result.numpy)
        options: dict[str, Any] = {"is_exact": self.operands.is_exact, "data": self.operands.data}
        return compare(self.problem, got, self.truth, unit=self.unit, **options)


def drawn(problem: Gemm, values: Values, seed: int, chip: str | None = None) -> Drawn:
    unit = unit_of(chip, problem.dtype)
    operands = random_operands(problem, seed, values, unit)
    return Drawn(
        problem, unit, operands, reference(problem, operands.arrays, magnitude=operands.data == "any")
    )


def kinds(operand: DType) -> tuple[Values, ...]:
    return values_of(Gemm(1, 1, 1, dtype=operand))
