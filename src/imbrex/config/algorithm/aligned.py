"""Which operands of a product are copied so that a tensor map can show them; see `view.copy.aligned`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from imbrex.index.map import Dim
from imbrex.problem import Gemm, Problem
from imbrex.view.copy.aligned import aligned
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.copy.data_tiled import VECTOR_BYTES

__all__ = ["ALREADY", "aligned_operands", "aligned_operands_of"]

ALREADY: Final = f"rows of both operands are multiples of {VECTOR_BYTES} bytes"


def aligned_operands(
    dims: Mapping[str, Sequence[Dim]], element_bytes: int, gaps: Mapping[str, Sequence[int] | None]
) -> dict[str, ChannelsLast]:
    """What is copied, by role; empty where both operands can be read where they are.

    dims: of a and b in memory order.  gaps: strides of an operand that is a view.
    """
    found = {role: aligned(dims[role], element_bytes, gaps[role]) for role in "ab"}
    return {role: of for role, of in found.items() if of is not None}


def aligned_operands_of(problem: Problem) -> dict[str, ChannelsLast]:
    """The same of a problem."""
    assert isinstance(problem, Gemm), problem
    dims = {role: tuple(Dim(*d) for d in problem.dims(role)) for role in problem.roles}
    gaps = {operand.role: operand.strides for operand in problem.operands}
    return aligned_operands(dims, problem.dtype.bytes, gaps)
