"""Rules of tunings line by line: each reason says what would work."""

from __future__ import annotations

from imbrex.chip import GpuMachine
from imbrex.config.halo import legal
from imbrex.config.halo.legal import filters_together, window
from imbrex.config.halo.plan import LinesPlan
from imbrex.config.rules import Reasons, Rules
from imbrex.config.warpgroup import limits
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.numeral import counted
from imbrex.view.mma.hopper import ROWS
from imbrex.view.tensor.limit import MOST_BOX

__all__ = ["LINE_RULES"]


def consumers(plan: LinesPlan, machine: GpuMachine) -> Reasons:
    """One to three warpgroups multiply, each with a ring of its own."""
    t = plan.tuning
    yield from limits.few_consumers(t)
    if t.pingpong and t.consumers < 2:
        yield "pingpong takes 2 or 3 consumers, got 1"


def channels(plan: LinesPlan, machine: GpuMachine) -> Reasons:
    """A pixel's channels are whole rows of shared memory, and so are those of a block."""
    t, dtype = plan.tuning, plan.context.dtype
    block = t.channels // t.diagonal
    yield from limits.whole_rows(f"channels {t.channels} are", t.channels, dtype)
    yield from limits.whole_rows(f"channels of a block {block} are", block, dtype)
    if t.channels % t.diagonal or t.n_per_block % t.diagonal:
        both = f"{counted(t.channels, 'channel')} and {counted(t.n_per_block, 'filter')}"
        yield f"{both} are not {counted(t.diagonal, 'block')}"


def pixels(plan: LinesPlan, machine: GpuMachine) -> Reasons:
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


def columns(plan: LinesPlan, machine: GpuMachine) -> Reasons:
    """A block's filters at all of a window's rows are the columns of one instruction."""
    t, dtype = plan.tuning, plan.context.dtype
    each = t.n_per_block // t.diagonal
    if each * t.window_rows not in columns_of(dtype, machine):
        columns_are = f"{t.window_rows} times {counted(each, 'filter is', 'filters are')}"
        yield f"{columns_are} not the columns of an instruction for {dtype.name}"
    yield from limits.columns(t.n_per_block, dtype, machine)
    if each % 8:
        yield f"{each} filters are not a multiple of 8"
    yield from filters_together(plan, f"{each} filters are", each)
    if t.diagonal > 1 and t.n_per_block != plan.context.m:
        yield f"{plan.context.m} filters are not the {t.n_per_block} of {t.diagonal} blocks"


def filters(plan: LinesPlan, machine: GpuMachine) -> Reasons:
    """The filter comes by TMA, one part of it for each workgroup."""
    yield from legal.filters(plan, machine)
    if plan.filters > machine.compute_units:
        yield f"{plan.filters} parts of the filter > {machine.compute_units} workgroups, which keep one each"


LINE_RULES: Rules[LinesPlan, GpuMachine] = Rules(
    (limits.warpgroups, limits.matrix_unit, consumers, limits.stages, channels),
    (window, pixels, filters, columns, limits.registers, limits.lds_bytes),
)
