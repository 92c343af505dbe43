"""Rules of tunings of windows: each reason says what would work.  Those of one kind say so in their names."""

from __future__ import annotations

from typing import Any

from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.halo.plan import HaloPlan, HaloWeightPlan, ImagePlan, LinesPlan
from imbrex.config.rules import Reasons, Rules, listed
from imbrex.config.warpgroup import limits
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.plan import LEAST_STAGES
from imbrex.numeral import counted
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.halo_tile import PIXELS
from imbrex.view.stage.shared_tile import SWIZZLES
from imbrex.view.tensor.limit import MOST_BOX

__all__ = ["HALO_RULES", "HALO_WEIGHT_RULES", "LINE_RULES"]


def channels(plan: ImagePlan[Any], machine: GpuMachine) -> Reasons:
    """A pixel's channels are whole rows of shared memory, and so are those of a block of a diagonal."""
    t, dtype, blocks = plan.tuning, plan.context.dtype, plan.tuning.diagonal
    yield from limits.whole_rows(f"channels {t.channels} are", t.channels, dtype)
    if t.channels % blocks or t.n_per_block % blocks:
        both = f"{counted(t.channels, 'channel')} and {counted(t.n_per_block, 'filter')}"
        yield f"{both} are not {counted(blocks, 'block')}"
    elif blocks > 1:
        yield from limits.whole_rows(
            f"channels of a block {t.channels // blocks} are", t.channels // blocks, dtype
        )


def window(plan: ImagePlan[Any], machine: GpuMachine) -> Reasons:
    """A step of K is all of a window."""
    t, k = plan.tuning, plan.context.k
    if t.k_per_block != k:
        yield f"{counted(t.taps, 'tap')} of {counted(t.channels, 'channel')} are not the {k} of gemmK"


def filters(plan: ImagePlan[Any], machine: GpuMachine) -> Reasons:
    """The filter comes by TMA; filters that lie together in memory are whole rows of shared memory, of a type
    that wgmma takes so.
    """
    dtype, each = plan.context.dtype, plan.tuning.n_per_block // plan.tuning.diagonal
    size = max(plan.context.a.vector) * dtype.bytes
    if size < VECTOR_BYTES:
        yield f"{size} bytes of the filter lie together in memory, tensor maps want {VECTOR_BYTES}"
    if plan.filters_lie_together and plan.filter_major == "k":
        yield f"filters lie together in memory, and wgmma takes {dtype.name} along channels only"
    elif plan.filter_major == "d" and each * dtype.bytes % SWIZZLES[-1]:
        yield f"{counted(each, 'filter is', 'filters are')} not a multiple of {SWIZZLES[-1] // dtype.bytes}"


def columns(plan: ImagePlan[Any], machine: GpuMachine) -> Reasons:
    """Filters, and a block's at the rows of a window that are multiplied at a time, are the columns of an
    instruction; blocks of a diagonal are all of one tile.
    """
    t, dtype = plan.tuning, plan.context.dtype
    each = t.n_per_block // t.diagonal
    yield from limits.columns(t.n_per_block, dtype, machine)
    if t.instruction_columns != t.n_per_block:
        if t.instruction_columns not in columns_of(dtype, machine):
            times = f"{t.instruction_columns // each} times {counted(each, 'filter is', 'filters are')}"
            yield f"{times} not the columns of an instruction for {dtype.name}"
        if each % 8:
            yield f"{counted(each, 'filter is', 'filters are')} not a multiple of 8"
    if t.diagonal > 1 and t.n_per_block != plan.context.m:
        yield f"{plan.context.m} filters are not the {t.n_per_block} of {t.diagonal} blocks"


def tile_pixels(plan: HaloPlan, machine: GpuMachine) -> Reasons:
    """Tiles are whole lines, and whole instructions of each consumer."""
    t = plan.tuning
    parts = ROWS * (1 if t.pingpong else t.consumers)
    if t.m_per_block % parts:
        yield f"{t.m_per_block} pixels of a tile are not a multiple of {parts}"
    if plan.context.n % t.m_per_block:
        pixels = counted(plan.context.n, "pixel is", "pixels are")
        yield f"{pixels} not whole tiles' lines, {t.rows} of {t.width}"
    yield from limits.boxes(t)


def line_consumers(plan: LinesPlan, machine: GpuMachine) -> Reasons:
    """One to three warpgroups multiply, each with a ring of its own."""
    t = plan.tuning
    yield from limits.few_consumers(t)
    if t.pingpong and t.consumers < 2:
        yield "pingpong takes 2 or 3 consumers, got 1"


def line_pixels(plan: LinesPlan, machine: GpuMachine) -> Reasons:
    """A line of all images is whole instructions, and a tile several of them."""
    t = plan.tuning
    if t.line % ROWS:
        yield f"a line of each image has {t.line} pixels in all, not a multiple of {ROWS}"
    if t.lines < 2:
        yield "lines 1 < 2: a tile is several lines"
    if plan.context.n % t.m_per_block:
        pixels = counted(plan.context.n, "pixel is", "pixels are")
        yield f"{pixels} not whole tiles of {counted(t.lines, 'line')} of {t.images} x {t.width}"
    if max(t.width, t.images) > MOST_BOX:
        yield f"a box of {t.images} lines of {t.width} pixels is not one of at most {MOST_BOX} each"


def line_filters(plan: LinesPlan, machine: GpuMachine) -> Reasons:
    """Each workgroup keeps one part of the filter."""
    if plan.filters > machine.compute_units:
        yield f"{plan.filters} parts of the filter > {machine.compute_units} workgroups, which keep one each"


def weight_type(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """wgmma reads pixels as K of types of 16 bits alone."""
    dtype = plan.context.dtype
    if machine.has_warpgroups and not (dtype.is_half and columns_of(dtype, machine)):
        yield f"wgmma multiplies rows of pixels of f16 and bf16, not {dtype.name}"


def weight_consumers(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """One to three warpgroups share the taps."""
    t = plan.tuning
    yield from limits.few_consumers(t)
    if not t.by_warps and t.taps % t.consumers:
        yield f"{t.taps} taps are not shared by {t.consumers} consumers"
    if t.by_warps and (t.stages % t.consumers or t.stages < LEAST_STAGES * t.consumers):
        each = f"as many, {LEAST_STAGES} at least, of each of {t.consumers} consumers in turn"
        yield f"stages {t.stages} are not {each}"


def weight_channels(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """A block's channels are one row of shared memory, and so are the filters of an instruction."""
    size, found = plan.context.dtype.bytes, plan.tuning.channels
    if found * size not in SWIZZLES:
        sizes = listed(tuple(s // size for s in reversed(SWIZZLES)))
        yield f"channels {found} are not one of {sizes}"
    if plan.context.m % ROWS:
        yield f"{plan.context.m} filters are not a multiple of {ROWS}"


def weight_window(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """A tile has all taps, a share whole steps."""
    t, context = plan.tuning, plan.context
    if context.n != t.n_per_block:
        yield f"{counted(t.taps, 'tap')} of {counted(t.channels, 'channel')} are not the {context.n} of gemmN"
    if context.k % t.k_per_block:
        yield f"{context.k} pixels of a share are not whole steps of {t.k_per_block}"
    if context.g % t.shares:
        yield f"{context.g} products are not {t.shares} shares"


def weight_pixels(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """Steps are whole instructions; boxes have limits."""
    t = plan.tuning
    lines, parts = ("", t.width) if t.by_warps else (f"{t.rows} ", t.rows * t.width)
    if parts % PIXELS:
        yield f"{lines}lines of {t.width} pixels are not a multiple of {PIXELS}"
    yield from limits.boxes(t)


def weight_columns(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """A consumer's taps are one instruction's columns."""
    own = plan.tuning.own_columns
    return limits.columns(own, plan.context.dtype, machine, f"{own} columns of a consumer are")


def weight_diagonal(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """Warps have blocks of 16 filters and channels, at all taps; a workgroup adds up its consumers once."""
    t = plan.tuning
    if not t.by_warps:
        return
    if t.channels != t.diagonal * PIXELS or t.channels != ROWS:
        each = f"{ROWS // PIXELS} of {PIXELS}, of a warp each"
        yield f"{t.diagonal} blocks of {t.channels} channels are not {each}"
    if t.streams and not plan.in_planes:
        yield f"{counted(t.loaded, 'line is', 'lines are')} without a halo, which warps keep of planes alone"
    if plan.units > plan.workgroups:
        yield f"{plan.units} tiles are more than the {plan.workgroups} workgroups, which have one each"


HALO_RULES: Rules[HaloPlan, GpuMachine] = Rules(
    (limits.warpgroups, limits.matrix_unit, limits.consumers, limits.stages, channels),
    (window, tile_pixels, filters, columns, limits.registers, limits.lds_bytes),
)
LINE_RULES: Rules[LinesPlan, GpuMachine] = Rules(
    (limits.warpgroups, limits.matrix_unit, line_consumers, limits.stages, channels),
    (window, line_pixels, filters, line_filters, columns, limits.registers, limits.lds_bytes),
)
HALO_WEIGHT_RULES: Rules[HaloWeightPlan, GpuMachine] = Rules(
    (limits.warpgroups, weight_type, weight_consumers, limits.stages, weight_channels),
    (weight_window, weight_pixels, weight_diagonal, weight_columns, limits.registers, limits.lds_bytes),
)
