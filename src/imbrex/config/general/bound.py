"""The bound of registers that a kernel of work items asks of CUDA's compiler, where it asks for one."""

from __future__ import annotations

from typing import Final

__all__ = ["BOUND", "BOUNDED_ITEMS", "is_bounded"]

BOUNDED_ITEMS: Final = 512
"""Work items of a multiprocessor that have 128 registers each: with 129 there would be a quarter fewer."""
BOUND: Final = 128

SMALLEST: Final = 128
"""Smaller workgroups serve small products, whose work items are few anyway."""
MOST_SUMS: Final = 64


def is_bounded(block_size: int, sums: int) -> bool:
    """sums: registers of the largest array of a work item."""
    return block_size >= SMALLEST and sums <= MOST_SUMS
