"""Which products had better begin before the launch ahead of them has ended.

Of a short call the time between two launches is a part that counts: half a microsecond of it and more is
hidden where the next kernel begins before this one has ended.  Of nine products on an H200 that take 80 to
350 microseconds none lost more than 0.2 % by it, and four gained 1.3 to 1.8 %; from 600 microseconds on,
nothing is gained.  Those whose owners wait for others' sums one after the other lose by it.

Where a product waits for memory for the most part, all of its workgroups run at a time, and several read the
same of the larger operand, each without the others, it loses 3 to 17 % by it on an H200 (14 of 14, of 16 to
47 microseconds): they begin where the last launch's ended, no longer neighbours beside each other at the same
time, and of what one has read the next finds less in L2.  So do those of split_k that are at the same
piece of K side by side, where both operands are read by several: of 35 that took 10 to 50 microseconds 32
lost, a tenth in the mean and 24 % at the most; of the others by split_k, whose workgroups meet once, 140
gained 1.6 % in the mean, short ones up to a tenth.

Behind copies, of five larger products on an H200, of 220 to 390 microseconds, none gained more than 0.5 % by
it, and three lost 2 to 11 %; of eight smaller ones seven gained 1 to 6 %, and one lost 3 %.
"""

from __future__ import annotations

from typing import Final

from imbrex.chip import GpuMachine, LaunchRates
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.warpgroup.cost import Scheduled
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.problem import Problem

__all__ = ["behind_launch", "is_streamed_together", "of_first"]

IN_ORDER: Final = ("stream_k", "two_tile", "two_tile_dp_first")
"""Schedules whose owners wait for sums, one after the other."""
BY_MEMORY: Final = 0.55
"""The share of a product's time that memory has at least where it waits for it for the most part."""


def of_first(product: TunedProduct, problem: Problem, rates: LaunchRates) -> bool:
    """Should the first launch of a call begin early: does the call take less than 400 microseconds of
    multiplying, and 100 of memory, if nothing else counted?
    """
    is_short = problem.flops < rates.flops and problem.bytes < rates.bytes
    return is_short and product.schedule.mode not in IN_ORDER


def is_streamed_together(product: TunedProduct, context: GemmContext, machine: GpuMachine) -> bool:
    """Do neighbours read the same at the same time, each for itself: do all workgroups run at a time, wait
    for memory, and share what they read of the larger operand, or are parts of tiles abreast, and share both?
    """
    tuning, mode = product.tuning, product.schedule.mode
    if not isinstance(tuning, WarpgroupTuning) or mode not in ("data_parallel", "split_k"):
        return False
    plan = tuning.plan(context, machine)
    scheduled, (rows, columns) = Scheduled.of(plan, product.schedule), plan.blocks
    if mode == "split_k":
        return bool(scheduled.is_abreast[0]) and min(rows, columns) > 1
    if plan.units > plan.clusters or (columns if plan.oriented.m > plan.oriented.n else rows) == 1:
        return False
    return bool(scheduled.memory_cycles[0] >= BY_MEMORY * scheduled.costs.cycles[0])


def behind_launch(product: TunedProduct, context: GemmContext, rates: LaunchRates) -> bool:
    """Should a product begin before the launch ahead of it has ended: is it small enough?"""
    m, n, k = context.padded(*product.tuning.tile)
    blocks = getattr(product.tuning, "diagonal", 1)
    return 2 * context.g * m * n * k // blocks // context.phases < rates.behind_flops
