"""Rules of halo tunings, and those of all tunings of windows: each reason says what would work."""

from __future__ import annotations

from typing import Any

from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.halo.plan import HaloPlan, WindowPlan
from imbrex.config.rules import Reasons, Rules
from imbrex.config.warpgroup import limits
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.numeral import counted
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.shared_tile import SWIZZLES

__all__ = ["HALO_RULES", "filters", "filters_together", "window"]


def window(plan: WindowPlan[Any], machine: GpuMachine) -> Reasons:
    """A step of K is all of a window."""
    t, k = plan.tuning, plan.context.k
    if t.k_per_block != k:
        yield f"{t.taps_text} taps of {counted(t.channels, 'channel')} are not the {k} of gemmK"


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
    if plan.filters_lie_together and plan.filter_major == "k":
        yield f"filters lie together in memory, and wgmma takes {dtype.name} along channels only"
    elif plan.filter_major == "d" and count * dtype.bytes % SWIZZLES[-1]:
        yield f"{subject} not a multiple of {SWIZZLES[-1] // dtype.bytes}"


def channels(plan: HaloPlan, machine: GpuMachine) -> Reasons:
    """A pixel's channels are whole rows of shared memory."""
    count = plan.tuning.channels
    yield from limits.whole_rows(f"channels {count} are", count, plan.context.dtype)


def pixels(plan: HaloPlan, machine: GpuMachine) -> Reasons:
    """Tiles are whole lines, and whole instructions of each consumer, and of each of several images."""
    t = plan.tuning
    image = t.rows * t.width
    if t.images > 1 and image % ROWS:
        yield f"{image} pixels of an image are not a multiple of {ROWS}"
    parts = ROWS * (1 if t.pingpong else t.consumers)
    if t.m_per_block % parts:
        yield f"{t.m_per_block} pixels of a tile are not a multiple of {parts}"
    elif t.images > 1 and t.images % (t.m_per_block // t.held[0]):
        images = counted(t.images, "image is", "images are")
        yield f"{images} not shared by {counted(t.consumers, 'consumer')}"
    if plan.context.n % image:
        pixels = counted(plan.context.n, "pixel is", "pixels are")
        yield f"{pixels} not whole tiles' lines, {t.rows} of {t.width}"
    yield from limits.boxes(t)


def columns(plan: HaloPlan, machine: GpuMachine) -> Reasons:
    """Columns are those of one instruction, and whole rows of shared memory where filters lie together."""
    n, dtype = plan.tuning.n_per_block, plan.context.dtype
    yield from limits.columns(n, dtype, machine)
    if n in columns_of(dtype, machine):
        yield from filters_together(plan, f"n_per_block {n} is", n)


def diagonal(plan: HaloPlan, machine: GpuMachine) -> Reasons:
    """Blocks of the diagonal are whole instructions, all of them of one tile."""
    t, dtype = plan.tuning, plan.context.dtype
    if t.diagonal == 1:
        return
    count, n = t.diagonal, t.n_per_block
    if t.channels % count or t.channels // count * dtype.bytes % SWIZZLES[-1]:
        least = SWIZZLES[-1] // dtype.bytes
        channels = counted(t.channels, "channel is", "channels are")
        yield f"{channels} not {counted(count, 'block')} of a multiple of {least}"
    if n % count or n // count not in columns_of(dtype, machine) or n != plan.context.m:
        filters = counted(plan.context.m, "filter is", "filters are")
        yield f"{filters} not {counted(count, 'block')} of an instruction's columns"


HALO_RULES: Rules[HaloPlan, GpuMachine] = Rules(
    (limits.warpgroups, limits.matrix_unit, limits.consumers, limits.stages, channels),
    (window, pixels, filters, columns, diagonal, limits.registers, limits.lds_bytes),
)
