"""Operand: one array of a problem; GemmSizes: the sizes of a problem once it is a matrix product."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType

__all__ = ["GemmSizes", "Operand", "dense_strides", "expect_addressable", "reach", "total_bytes"]

ADDRESSES: Final = 1 << 63
"""Bytes that a signed index counts."""


class GemmSizes(NamedTuple):
    """A batch of g products C[m, n] = sum over k of A[k, m] B[k, n]."""

    g: int
    m: int
    n: int
    k: int


@dataclass(frozen=True)
class Operand:
    """One array of a problem, row-major; `layout` names its dimensions, outermost first.

    strides: elements from one to the next along each dimension, where these are not the dense ones.
    """

    role: str
    layout: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: DType
    is_written: bool
    strides: tuple[int, ...] | None = None

    def shape_along(self, result: Operand) -> tuple[int, ...]:
        """Shape of this array when it broadcasts with the result: 1 along the dimensions that it has not."""
        sizes = zip(result.layout, result.shape, strict=True)
        return tuple(size if name in self.layout else 1 for name, size in sizes)

    @property
    def unpacked_shape(self) -> tuple[int, ...]:
        """Shape in single elements, where memory holds packs of neighbours along the last dimension."""
        return (*self.shape[:-1], self.shape[-1] * self.dtype.pack)

    def in_packs(self, of: DType) -> Operand:
        """The same memory where neighbours along the last dimension are in larger packs, of that type."""
        more = of.pack // self.dtype.pack
        steps = self.strides and (*(step // more for step in self.strides[:-1]), self.strides[-1])
        return replace(self, dtype=of, shape=(*self.shape[:-1], self.shape[-1] // more), strides=steps)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def reach(self) -> int:
        """Elements from the first to the last, gaps and all."""
        return reach(self.shape, self.strides)

    @property
    def allocated_elements(self) -> int:
        """Elements to the end of the last row, were it as long as those before it."""
        return self.elements if self.strides is None else self.reach + max(self.strides)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a row-major array without gaps."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def reach(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    """Elements from the first to the last of an array with these strides, or a dense one."""
    if strides is None:
        return math.prod(shape)
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def expect_addressable(operands: Iterable[Operand]) -> None:
    """A Diagnostic where an array is larger than any memory."""
    for operand in operands:
        if operand.allocated_elements * operand.dtype.bytes >= ADDRESSES:
            message = f"'{operand.role}' of shape {operand.shape} reaches over more bytes than 2^63"
            raise Diagnostic(message, hint="an address counts no more")


def total_bytes(operands: Iterable[Operand]) -> int:
    return sum(operand.elements * operand.dtype.bytes for operand in operands)
