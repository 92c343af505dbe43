"""Last columns of a product that fill no vector: summed along K, or as a vector that is mostly empty.

A machine that runs halves multiplies half of it where that is enough.
"""

from __future__ import annotations

from typing import Final

from imbrex.chip import CpuMachine
from imbrex.config.cpu.plan import CpuPlan
from imbrex.view.mma.vector import CPU_UNITS, FMA

__all__ = ["last_columns", "left_out", "repays", "summed_columns"]

LANES_SUMMED: Final = 8
"""Vectors of K that take as long as the sum of a vector's lanes."""
HALVES: Final = (0.625, 0.75)
"""What half a vector takes of the time of a whole one, where a machine runs halves, of single elements and of
words: rows are broadcast and B is loaded all the same.
"""
ELEMENT: Final = 2.5
"""Cycles in which an element of a B whose rows are K goes to its column."""


def summed_columns(plan: CpuPlan, machine: CpuMachine) -> int:
    """Last columns that are summed along K: none of tiles, of an A whose rows are k, nor of rows too few for
    what it costs to come by them.
    """
    if CPU_UNITS[plan.tuning.unit].tiles is not None or plan.tuning.a_layout == "k_major":
        return 0
    gemm, lanes, together = plan.oriented, plan.tuning.vector_lanes, plan.tuning.together
    filled = _half(plan, machine)
    found = last_columns(gemm.n, lanes, plan.block_k // together, filled)
    is_along_k, rows = gemm.b.run[0] > gemm.b.run[1], min(plan.block_rows, gemm.m)
    return found if is_along_k or repays(found, rows, plan.block_k, together, lanes, filled) else 0


def _half(plan: CpuPlan, machine: CpuMachine) -> float:
    """What a vector takes of which half is enough: all of the time of a whole one but on a machine that runs
    halves.
    """
    unit = CPU_UNITS[plan.tuning.unit]
    return HALVES[unit.packed > 1] if machine.runs_halves and unit.tiles is None else 1.0


def left_out(columns: int, plan: CpuPlan, machine: CpuMachine) -> float:
    """The part of a last vector of so many columns that takes no time, as half of it is enough, and as the
    others hide its latency.
    """
    t, unit = plan.tuning, CPU_UNITS[plan.tuning.unit]
    if not 0 < columns % t.vector_lanes <= t.vector_lanes // 2:
        return 0.0
    latency = machine.prices.fma_latency if unit == FMA else unit.latency
    return max(0.0, 1 - max(_half(plan, machine), latency * machine.fma_per_cycle / t.m_per_thread))


def last_columns(n: int, lanes: int, words: int, filled: float) -> int:
    """Columns past the last vector that are cheaper summed along K, of so many words, than as a vector mostly
    empty: the sum of a vector's lanes is as long as some eight vectors of K (`sum_along_k` of product.h).
    filled: what that vector takes of the time of a whole one.
    """
    left = n % lanes
    return left if left <= lanes // 2 and _saved(left, words, lanes, filled) > 0 else 0


def repays(columns: int, rows: int, k: int, together: int, lanes: int, filled: float) -> bool:
    """Do so many rows save, by columns that are summed along K, what it costs to part a B whose rows are K
    into columns, element by element?
    """
    return rows * _saved(columns, k // together, lanes, filled) >= ELEMENT * columns * k


def _saved(columns: int, words: int, lanes: int, filled: float) -> int:
    """Vectors that each row saves."""
    return int(words * filled) - columns * (words // lanes + LANES_SUMMED)
