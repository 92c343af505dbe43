"""Rules of all tunings of windows: what the filter and boxes of pixels are asked, whatever a tile is."""

from __future__ import annotations

from typing import Any

from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.halo.window import WindowPlan
from imbrex.config.rules import Reasons
from imbrex.config.warpgroup.plan import SWIZZLES

__all__ = ["filters", "filters_together", "window"]


def window(plan: WindowPlan[Any], machine: GpuMachine) -> Reasons:
    """A step of K is all of a window."""
    t, k = plan.tuning, plan.context.k
    if t.k_per_block != k:
        yield f"{t.taps_text} taps of {t.channels} channels are not the {k} of gemmK"


def filters(plan: WindowPlan[Any], machine: GpuMachine) -> Reasons:
    """The filter comes by TMA."""
    size = max(plan.context.a.vector) * plan.context.dtype.bytes
    if size < VECTOR_BYTES:
        yield f"{size} bytes of the filter lie together in memory, tensor maps want {VECTOR_BYTES}"


def filters_together(plan: WindowPlan[Any], subject: str, count: int) -> Reasons:
    """Filters that lie together in memory are whole rows of shared memory, of a type that wgmma takes so.

    subject: how a reason begins, of `count` filters.
    """
    dtype = plan.context.dtype
    if plan.is_turned:
        yield f"filters lie together in memory, and wgmma takes {dtype.name} along channels only"
    elif plan.filter_major == "d" and count * dtype.bytes % SWIZZLES[-1]:
        yield f"{subject} not a multiple of {SWIZZLES[-1] // dtype.bytes}"
