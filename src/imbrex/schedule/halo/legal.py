"""Rules of halo tunings: each reason says what would work."""

from __future__ import annotations

from typing import Final

from imbrex.schedule.halo.plan import HaloPlan
from imbrex.schedule.rules import Reasons, Rules, listed
from imbrex.schedule.target import GpuTarget
from imbrex.schedule.warpgroup.legal import MOST_ACCUMULATORS, MOST_CONSUMERS, MOST_STAGES
from imbrex.schedule.warpgroup.plan import CHIP, PIECES, ROWS, SWIZZLES, VECTOR_BYTES, columns_of

__all__ = ["HALO_RULES"]

MOST_LINE: Final = 256
"""Of a box along one dim."""


def warpgroups(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """The machine has wgmma and tensor maps, and wgmma takes the type."""
    if machine.name != CHIP:
        yield f"{machine.name} has no warpgroup instructions, {CHIP} has"
    elif not columns_of(plan.context.dtype):
        yield f"wgmma does not multiply {plan.context.dtype.name}"


def window(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """A step of K is all of a window."""
    t, k = plan.tuning, plan.context.k
    if t.k_per_block != k:
        yield f"{t.taps} taps of {t.channels} channels are not the {k} of gemmK"


def channels(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """A pixel's channels are whole rows of shared memory."""
    size = plan.tuning.channels * plan.context.dtype.bytes
    if size not in SWIZZLES and size % SWIZZLES[0]:
        sizes = listed(tuple(s // plan.context.dtype.bytes for s in reversed(SWIZZLES)))
        yield f"channels {plan.tuning.channels} are not one of {sizes} or a multiple of the last"


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
    elif plan.is_turned:
        yield f"filters lie together in memory, and wgmma takes {dtype.name} along channels only"
    elif plan.filter_major == "d" and n * dtype.bytes % SWIZZLES[-1]:
        yield f"n_per_block {n} is not a multiple of {SWIZZLES[-1] // dtype.bytes}"


def filters(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """The filter comes by TMA."""
    dtype, widest = plan.context.dtype, max(plan.context.a.vector)
    if widest * dtype.bytes < VECTOR_BYTES:
        together = f"{widest * dtype.bytes} bytes of the filter lie together in memory"
        yield f"{together}, tensor maps want {VECTOR_BYTES}"


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
    if t.consumers > MOST_CONSUMERS:
        yield f"consumers {t.consumers} > {MOST_CONSUMERS}: with the producer they are at most 4 warpgroups"
    if t.pingpong and t.consumers != 2:
        yield f"pingpong takes 2 consumers, got {t.consumers}"
    if not PIECES <= t.stages <= MOST_STAGES:
        yield f"stages {t.stages} is outside {PIECES}..{MOST_STAGES}"


def registers(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """The sums of a consumer stay in registers."""
    most = MOST_ACCUMULATORS[plan.tuning.consumers]
    if plan.accumulators > most:
        yield f"accumulators {plan.accumulators} > {most} of a thread"


def lds_bytes(plan: HaloPlan, machine: GpuTarget) -> Reasons:
    """All stages, the filter, the pieces of C and the barriers fit."""
    if (total := plan.ring.total) > machine.lds_bytes:
        yield f"lds_bytes {total} > {machine.lds_bytes} on {machine.name}"


HALO_RULES: Rules[HaloPlan, GpuTarget] = Rules(
    (warpgroups, consumers, channels), (window, pixels, filters, columns, diagonal, registers, lds_bytes)
)
