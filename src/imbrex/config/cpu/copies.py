"""What a vector costs on its way into a panel, and a byte from the cache that holds it."""

from __future__ import annotations

from imbrex.chip import CpuMachine, Level, Prices
from imbrex.config.context import Access
from imbrex.config.cpu.passing import L3_PARTS, missed
from imbrex.config.cpu.plan import CpuPlan

__all__ = ["copied", "copied_along_k", "pieces", "rate"]


def copied_along_k(access: Access, dim: int, plan: CpuPlan, prices: Prices) -> float:
    """Neighbours along k: whole words of them move at once where they lie together."""
    lanes, words = plan.tuning.vector_lanes, plan.tuning.together
    is_whole = access.step[dim] == 1 and access.run[dim] >= lanes * words
    return copied(access, dim, lanes, prices) / (words if is_whole else 1)


def copied(access: Access, dim: int, lanes: int, prices: Prices) -> float:
    """Cycles of a vector along a dimension: a load and a store of each stretch, or element by element."""
    stretches = pieces(access, dim, lanes)
    if access.step[dim] == 0 or stretches > prices.most_pieces:
        return prices.gather
    return min(prices.gather, prices.copy * access.step[dim] * stretches)


def pieces(access: Access, dim: int, lanes: int) -> float:
    """Mean number of stretches that make up a vector."""
    return 1 + (lanes - 1) / access.run[dim]


def rate(held_bytes: int, machine: CpuMachine, level: Level) -> float:
    """Cycles a byte from the smallest cache that holds this much.

    Other data passes through L2 as well, so what fills more than half of it is met there less and less; and
    other cores, or guests of the machine, have their part of L3.
    """
    if held_bytes > machine.l3_bytes // L3_PARTS:
        return level.memory
    return level.l2 + missed(held_bytes, machine) * (level.l3 - level.l2)
