"""Rules of halo tunings: each reason says what would work."""

from __future__ import annotations

from imbrex.chip import GpuTarget
from imbrex.config.halo.plan import HaloPlan
from imbrex.config.halo.window_legal import MOST_LINE, filters, filters_together
from imbrex.config.rules import Reasons, Rules, lds_bytes
from imbrex.config.warpgroup.limits import few_consumers, registers, stages_ahead, warpgroups, whole_rows
from imbrex.config.warpgroup.plan import ROWS, SWIZZLES, columns_of

__all__ = ["HALO_RULES"]


def window(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """A step of K is all of a window."""
    t, k = plan.tuning, plan.context.k
    if t.k_per_block != k:
        yield f"{t.taps} taps of {t.channels} channels are not the {k} of gemmK"


def channels(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """A pixel's channels are whole rows of shared memory."""
    count = plan.tuning.channels
    yield from whole_rows(f"channels {count} are", count, plan.context.dtype)


def pixels(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """Tiles are whole lines, and whole instructions of each consumer, and of each of several images."""
    t = plan.tuning
    image = t.rows * t.width
    if t.images > 1 and image % ROWS:
        yield f"{image} pixels of an image are not a multiple of {ROWS}"
    parts = ROWS * (1 if t.pingpong else t.consumers)
    if t.m_per_block % parts:
        yield f"{t.m_per_block} pixels of a tile are not a multiple of {parts}"
    elif t.images > 1 and t.images % (t.m_per_block // t.consumer_rows):
        yield f"{t.images} images are not shared by {t.consumers} consumers"
    if plan.context.n % image:
        yield f"{plan.context.n} pixels are not whole tiles' lines, {t.rows} of {t.width}"
    if not t.rows <= t.loaded <= MOST_LINE or t.width > MOST_LINE:
        most = f"{t.rows} to {MOST_LINE} lines of {MOST_LINE}"
        yield f"a box of {t.loaded} lines of {t.width} pixels is not one of {most}"


def columns(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """Columns are those of one instruction, and whole rows of shared memory where filters lie together."""
    n, dtype = plan.tuning.n_per_block, plan.context.dtype
    if n not in columns_of(dtype):
        yield f"n_per_block {n} is not wgmma's for {dtype.name}"
    else:
        yield from filters_together(plan, f"n_per_block {n} is", n)


def diagonal(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """Blocks of the diagonal are whole instructions, all of them of one tile."""
    t, dtype = plan.tuning, plan.context.dtype
    if t.diagonal == 1:
        return
    count, n = t.diagonal, t.n_per_block
    if t.channels % count or t.channels // count * dtype.bytes % SWIZZLES[-1]:
        least = SWIZZLES[-1] // dtype.bytes
        yield f"{t.channels} channels are not {count} blocks of a multiple of {least}"
    if n % count or n // count not in columns_of(dtype) or n != plan.context.m:
        yield f"{plan.context.m} filters are not {count} blocks of an instruction's columns"


def consumers(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """One to three warpgroups multiply; two in turn.  The producer is a stage ahead."""
    t = plan.tuning
    yield from few_consumers(t)
    if t.pingpong and t.consumers != 2:
        yield f"pingpong takes 2 consumers, got {t.consumers}"
    yield from stages_ahead(t)


HALO_RULES: Rules[HaloPlan, GpuTarget] = Rules(
    (warpgroups, consumers, channels), (window, pixels, filters, columns, diagonal, registers, lds_bytes)
)
