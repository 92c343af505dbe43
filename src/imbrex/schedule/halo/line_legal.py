"""Rules of tunings line by line: each reason says what would work."""

from __future__ import annotations

from typing import Final

from imbrex.schedule.halo.lines import LinesPlan
from imbrex.schedule.rules import Reasons, Rules, listed
from imbrex.schedule.target import GpuTarget
from imbrex.schedule.warpgroup.legal import MOST_CONSUMERS, MOST_STAGES
from imbrex.schedule.warpgroup.plan import CHIP, PIECES, ROWS, SWIZZLES, VECTOR_BYTES, columns_of

__all__ = ["LINE_RULES", "MOST_SUMS"]

MOST_LINE: Final = 256
"""Of a box along one dim."""
MOST_SUMS: Final = {1: 128, 2: 128, 3: 96}
"""Consumers -> sums of a thread."""


def warpgroups(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """The machine has wgmma and tensor maps, and wgmma takes the type."""
    if machine.name != CHIP:
        yield f"{machine.name} has no warpgroup instructions, {CHIP} has"
    elif not columns_of(plan.context.dtype):
        yield f"wgmma does not multiply {plan.context.dtype.name}"


def consumers(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """One to three warpgroups multiply, each with a ring of its own."""
    t = plan.tuning
    if t.consumers > MOST_CONSUMERS:
        yield f"consumers {t.consumers} > {MOST_CONSUMERS}: with the producer they are at most 4 warpgroups"
    if t.pingpong and t.consumers < 2:
        yield "pingpong takes 2 or 3 consumers, got 1"
    if not PIECES <= t.stages <= MOST_STAGES:
        yield f"stages {t.stages} is outside {PIECES}..{MOST_STAGES}"


def channels(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """A pixel's channels are whole rows of shared memory, and so are those of a block."""
    t, dtype = plan.tuning, plan.context.dtype
    for count, what in ((t.channels, "channels"), (t.channels // t.diagonal, "channels of a block")):
        size = count * dtype.bytes
        if size not in SWIZZLES and size % SWIZZLES[0]:
            sizes = listed(tuple(s // dtype.bytes for s in reversed(SWIZZLES)))
            yield f"{what} {count} are not one of {sizes} or a multiple of the last"
    if t.channels % t.diagonal or t.n_per_block % t.diagonal:
        yield f"{t.channels} channels and {t.n_per_block} filters are not {t.diagonal} blocks"


def window(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """A step of K is all of a window."""
    t, k = plan.tuning, plan.context.k
    if t.k_per_block != k:
        taps = f"{t.window_rows} x {t.window_columns} taps of {t.channels} channels"
        yield f"{taps} are not the {k} of gemmK"


def pixels(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """A line of all images is whole instructions, and a tile several of them."""
    t = plan.tuning
    if t.line % ROWS:
        yield f"{t.images} lines of {t.width} pixels are not a multiple of {ROWS}"
    if t.lines < 2:
        yield "lines 1 < 2: a tile is several lines"
    if plan.context.n % t.m_per_block:
        yield f"{plan.context.n} pixels are not whole tiles of {t.lines} lines of {t.images} x {t.width}"
    if max(t.width, t.images) > MOST_LINE:
        yield f"a box of {t.images} lines of {t.width} pixels is not one of at most {MOST_LINE} each"


def columns(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """A block's filters at all of a window's rows are the columns of one instruction."""
    t, dtype = plan.tuning, plan.context.dtype
    each = t.n_per_block // t.diagonal
    if each * t.window_rows not in columns_of(dtype):
        yield f"{t.window_rows} times {each} filters are not the columns of an instruction for {dtype.name}"
    if t.n_per_block not in columns_of(dtype):
        yield f"n_per_block {t.n_per_block} is not wgmma's for {dtype.name}"
    if each % 8:
        yield f"{each} filters are not a multiple of 8"
    if plan.is_turned:
        yield f"filters lie together in memory, and wgmma takes {dtype.name} along channels only"
    elif plan.filter_major == "d" and each * dtype.bytes % SWIZZLES[-1]:
        yield f"{each} filters are not a multiple of {SWIZZLES[-1] // dtype.bytes}"
    if t.diagonal > 1 and t.n_per_block != plan.context.m:
        yield f"{plan.context.m} filters are not the {t.n_per_block} of {t.diagonal} blocks"


def filters(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """The filter comes by TMA, one part of it for each workgroup."""
    dtype, widest = plan.context.dtype, max(plan.context.a.vector)
    if widest * dtype.bytes < VECTOR_BYTES:
        together = f"{widest * dtype.bytes} bytes of the filter lie together in memory"
        yield f"{together}, tensor maps want {VECTOR_BYTES}"
    if plan.filters > machine.compute_units:
        yield f"{plan.filters} parts of the filter > {machine.compute_units} workgroups, which keep one each"


def registers(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """The sums of a consumer stay in registers."""
    most = MOST_SUMS[plan.tuning.consumers]
    if plan.accumulators > most:
        yield f"accumulators {plan.accumulators} > {most} of a thread"


def lds_bytes(plan: LinesPlan, machine: GpuTarget) -> Reasons:
    """All stages, the filter, the pieces of C and the barriers fit."""
    if (total := plan.ring.total) > machine.lds_bytes:
        yield f"lds_bytes {total} > {machine.lds_bytes} on {machine.name}"


LINE_RULES: Rules[LinesPlan, GpuTarget] = Rules(
    (warpgroups, consumers, channels), (window, pixels, filters, columns, registers, lds_bytes)
)
