"""Which operands of a product are copied so that a tensor map can show them; see `view.copy.aligned`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Dim
from imbrex.problem import Gemm
from imbrex.view.copy.aligned import aligned
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.mma import Operand

__all__ = ["ALREADY", "OPERANDS", "aligned_operands", "aligned_operands_of", "gaps_of", "matrix_dims"]

ALREADY: Final = f"rows of both operands are multiples of {VECTOR_BYTES} bytes"
OPERANDS: Final[tuple[Operand, ...]] = ("a", "b", "c")
READ: Final[tuple[Operand, ...]] = ("a", "b")


def aligned_operands(
    dims: Mapping[Operand, Sequence[Dim]], element_bytes: int, gaps: Mapping[Operand, Sequence[int] | None]
) -> dict[Operand, ChannelsLast]:
    """What is copied, by role; empty where both operands can be read where they are.

    dims: of a and b in memory order.  gaps: strides of an operand that is a view.
    """
    found: dict[Operand, ChannelsLast | None] = {}
    for role in READ:
        found[role] = aligned(dims[role], element_bytes, gaps[role])
    return {role: of for role, of in found.items() if of is not None}


def aligned_operands_of(problem: Gemm) -> dict[Operand, ChannelsLast]:
    """The same of a problem."""
    return aligned_operands(matrix_dims(problem), problem.dtype.bytes, gaps_of(problem))


def gaps_of(problem: Gemm) -> dict[Operand, Sequence[int] | None]:
    """Strides of a problem's arrays, where they have gaps."""
    return {role: of.strides for role, of in zip(OPERANDS, problem.operands, strict=False)}


def matrix_dims(problem: Gemm) -> dict[Operand, tuple[Dim, ...]]:
    """Dims of each array in memory order: g of a batch, then two of m, n and k."""
    batch = (Dim("g", problem.batch),) if problem.batch > 1 else ()
    return {role: (*batch, *(Dim(*d) for d in problem.dims(role)[-2:])) for role in OPERANDS}
