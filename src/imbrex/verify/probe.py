"""Probe: operands few of whose products are not zero, of values with all the bits that they can have.

Law: an element of the result is a sum of at most `PRODUCTS` products, which no right kernel rounds before
the store, or a single one, which it rounds once; so the result is known to the last bit, and what reads fewer
bits of an operand, another element, or an element twice, is seen.  Values are odd multiples of the last bit
of a significand in [1, 2), so that none survives the loss of a bit.

Which are not zero is a formula of an element's place, one for each operand.  Of a product, A[m, k] where
k = f(m) mod P, B[k, n] where k / P = g(n) mod Q: they meet at one k in P Q.  f(0) and g(0) are the classes of
the last k, the others follow downwards, so that the rows and columns of a large result meet every k.

A convolution's channels k of the filter have one tap each, the last first, and of the reduced channels one in
P, pixels one in Q.  A gradient by the filter has, for each k, the pixels of one row of images in R, and for
each c those of one column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from imbrex.dtype import DType
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.verify.unit import Unit

__all__ = ["PRODUCTS", "Indices", "Support", "products", "read_bits", "supports"]

Indices: TypeAlias = Mapping[str, Any]
"""Indices by the names of an operand's dimensions, arrays of integers that broadcast together."""

Support: TypeAlias = Callable[[Indices], Any]

PRODUCTS = 4
"""The most that are not zero in one element."""


def read_bits(operand: DType) -> int:
    """Bits of a significand that a product reads."""
    return operand.read_bits or operand.significand_bits


def products(operand: DType, unit: Unit) -> int:
    """How many products of full significands, each below 4, that unit adds without rounding; at least 1."""
    if not operand.is_float:
        return PRODUCTS
    spare_bits = unit.sum_bits + 1 - 2 * read_bits(operand)
    return max(1, min(PRODUCTS, 2 ** max(0, spare_bits)))


@dataclass(frozen=True)
class _Classes:
    """P and Q for k of so many, of which as many as `most` may meet."""

    size: int
    p: int
    q: int

    @staticmethod
    def of(size: int, columns: int, most: int) -> _Classes:
        wanted = math.ceil(size / most)
        q = max(1, min(columns, math.isqrt(wanted - 1) + 1))
        q -= 1 - q % 2 if q > 1 else 0
        return _Classes(size, math.ceil(wanted / q), q)

    def of_row(self, k: Any, row: Any) -> Any:
        return k % self.p == (self.size - 1 - row) % self.p

    def of_column(self, k: Any, column: Any) -> Any:
        return k // self.p % self.q == ((self.size - 1) // self.p - column) % self.q


def supports(problem: Problem, most: int) -> dict[str, Support]:
    """Where the two operands that are multiplied are not zero, by role."""
    if isinstance(problem, Gemm):
        return _of_gemm(problem, most)
    if problem.direction == "backward_weight":
        return _of_weight(problem, most)
    return _of_conv(problem, most)


def _of_gemm(gemm: Gemm, most: int) -> dict[str, Support]:
    classes = _Classes.of(gemm.k, gemm.n, most)
    return {
        "a": lambda at: classes.of_row(at["k"], at["m"]),
        "b": lambda at: classes.of_column(at["k"], at["n"]),
    }


def _of_conv(conv: Conv2d, most: int) -> dict[str, Support]:
    """Forward the filter's k are rows and its c are reduced, backward it is the other way round."""
    if conv.direction == "forward":
        row, reduced, role, height, width, line = "k", "c", "input", "hi", "wi", conv.w
        per_group, columns = conv.c // conv.groups, conv.n * conv.h * conv.w
    else:
        row, reduced, role, height, width, line = "c", "k", "output", "ho", "wo", conv.wo
        per_group, columns = conv.k // conv.groups, conv.n * conv.ho * conv.wo
    taps, classes = conv.y * conv.x, _Classes.of(per_group, columns, most)

    def of_filter(at: Indices) -> Any:
        line_of = at[row] + at["k"] // (conv.k // conv.groups)
        is_tap = at["y"] * conv.x + at["x"] == (taps - 1 - line_of) % taps
        return is_tap & classes.of_row(at[reduced] % per_group, line_of // taps)

    def of_pixels(at: Indices) -> Any:
        pixel = at["n"] + at[height] * line + at[width]
        return classes.of_column(at[reduced] % per_group, pixel)

    return {"filter": of_filter, role: of_pixels}


def _of_weight(conv: Conv2d, most: int) -> dict[str, Support]:
    rows = conv.n * conv.ho
    every = math.ceil(rows / most)

    def of_output(at: Indices) -> Any:
        return (at["n"] * conv.ho + at["ho"]) % every == (rows - 1 - at["k"]) % every

    return {"output": of_output, "input": lambda at: at["wi"] == (conv.w - 1 - at["c"]) % conv.w}
