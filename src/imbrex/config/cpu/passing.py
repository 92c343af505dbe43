"""What it costs that an operand comes for the first time, from L3 or from memory, as pieces of rows."""

from __future__ import annotations

from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.context import Access
from imbrex.config.cpu.crowding import spreads
from imbrex.config.cpu.plan import CpuPlan

__all__ = ["L3_PARTS", "array_bytes", "crowded_bytes", "is_far", "missed", "passing"]

L3_PARTS: Final = 4
"""Parts of L3, of which one is a core's: others, or guests of the machine, have theirs."""


def passing(most_bytes: float, vectors: float, of: Access, plan: CpuPlan, machine: CpuMachine) -> float:
    """Cycles in which so many bytes come for the first time, in pieces of rows of so many vectors; no more
    than the array has, which windows show several times.
    """
    prices, whole = machine.prices, array_bytes(of, most_bytes, plan)
    is_shown_again = 2 * whole <= most_bytes * plan.context.g  # windows, mostly from a cache
    is_from_memory = is_far(whole, machine) and not is_shown_again
    beyond = missed(whole, machine)
    each = prices.met + beyond * (prices.passing - prices.met)
    row = prices.met_row + beyond * (prices.passing_row - prices.met_row)
    if is_from_memory:
        each, row = prices.far, prices.far_row
    return min(most_bytes, whole / plan.context.g) * (each + row / vectors)


def missed(held_bytes: float, machine: CpuMachine) -> float:
    """The part of this much that is not met in L2 again."""
    return min(1.0, max(0.0, 2 * held_bytes / machine.l2_bytes - 1))


def is_far(array_bytes: float, machine: CpuMachine) -> bool:
    """Does an array of so many bytes come from memory?"""
    return array_bytes > machine.l3_bytes // L3_PARTS


def array_bytes(of: Access, matrix_bytes: float, plan: CpuPlan) -> float:
    """Bytes of a whole array, of all g; where that is not known, of as many such matrices."""
    return of.elements * plan.context.dtype.bytes or matrix_bytes * plan.context.g


def crowded_bytes(of: Access, elements: int, row: int, plan: CpuPlan, machine: CpuMachine) -> float:
    """Bytes of a matrix of so many elements, of rows of `row` that crowd, which come from beyond L2 each time
    that it is read in pieces of its rows; none of other matrices, nor where panels hold other elements.
    """
    size = plan.context.dtype.bytes
    if plan.element != plan.context.dtype or spreads(row * size):
        return 0.0
    whole = elements * size
    return whole * missed(array_bytes(of, whole, plan), machine)
