"""Operand: one array of a problem; GemmSizes: the sizes of a problem once it is a matrix product."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from imbrex.dtype import DType

__all__ = ["GemmSizes", "Operand", "total_bytes"]


class GemmSizes(NamedTuple):
    """A batch of g products C[m, n] = sum over k of A[k, m] B[k, n]."""

    g: int
    m: int
    n: int
    k: int


@dataclass(frozen=True)
class Operand:
    """One array of a problem, dense and row-major; `layout` names its dimensions, outermost first."""

    role: str
    layout: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: DType
    is_written: bool

    def shape_along(self, result: Operand) -> tuple[int, ...]:
        """Of this array when it broadcasts with the result: 1 along the dimensions that it has not."""
        sizes = zip(result.layout, result.shape, strict=True)
        return tuple(size if name in self.layout else 1 for name, size in sizes)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def total_bytes(operands: Iterable[Operand]) -> int:
    return sum(operand.elements * operand.dtype.bytes for operand in operands)
