"""What register tiles of padded windows meet: what is padding in all of a panel is left out."""

from __future__ import annotations

from math import gcd
from typing import Final

from imbrex.config.context import SAMPLE
from imbrex.config.cpu.plan import CpuPlan
from imbrex.view.mma.vector import CPU_UNITS, FMA

__all__ = ["has_runs", "leaves_out", "met", "run_of_steps"]

MOST_MET: Final = 0.97
"""The part of rows of B, in panels, above which none are left out: a list of them has a loop of its own."""


def leaves_out(met: float) -> bool:
    """Are rows of B that are padding in all columns of a panel left out, where this part of all is met?"""
    return met <= MOST_MET


def met(plan: CpuPlan) -> float:
    """The part of K that register tiles meet: runs of A of a panel of rows, or rows of B of one of columns.

    Sums that begin at what all of B makes of them leave nothing out.
    """
    gemm, t, unit = plan.oriented, plan.tuning, CPU_UNITS[plan.tuning.unit]
    if unit.tiles is not None or unit.is_shifted:
        return 1.0
    if has_runs(plan):
        return gemm.a.met(t.m_per_thread)
    found = gemm.b.met(t.n_per_thread) if unit == FMA and gemm.b.run[1] >= gemm.b.run[0] else 1.0
    return found if leaves_out(found) else 1.0


def has_runs(plan: CpuPlan) -> bool:
    """Is A read by long runs of neighbours along k, where they lie?"""
    gemm, words = plan.oriented, plan.tuning.vector_lanes * plan.tuning.together
    is_run = gemm.a.step[0] == 1 and words <= gemm.a.run[0] < min(gemm.k, SAMPLE)
    return is_run and plan.element == plan.context.dtype


def run_of_steps(run: float, plan: CpuPlan) -> float:
    """The length of equal runs along k that no step cuts."""
    return gcd(int(run), plan.block_k) if run == int(run) and plan.k_iterations > 1 else run
