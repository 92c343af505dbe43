"""Rules of tunings of halo weights: each reason says what would work."""

from __future__ import annotations

from imbrex.chip import GpuMachine
from imbrex.config.halo_weight.plan import HaloWeightPlan
from imbrex.config.rules import Reasons, Rules, listed
from imbrex.config.warpgroup import limits
from imbrex.config.warpgroup.instruction import columns_of
from imbrex.config.warpgroup.plan import LEAST_STAGES
from imbrex.numeral import counted
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.shared_tile import SWIZZLES
from imbrex.view.stage.tap_tile import PIXELS

__all__ = ["HALO_WEIGHT_RULES"]


def matrix_unit(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """wgmma reads pixels as K of types of 16 bits alone."""
    dtype = plan.context.dtype
    if machine.has_warpgroups and not (dtype.is_half and columns_of(dtype, machine)):
        yield f"wgmma multiplies rows of pixels of f16 and bf16, not {dtype.name}"


def consumers(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """One to three warpgroups share the taps."""
    t = plan.tuning
    yield from limits.few_consumers(t)
    if not t.by_warps and t.taps % t.consumers:
        yield f"{t.taps} taps are not shared by {t.consumers} consumers"
    if t.by_warps and (t.stages % t.consumers or t.stages < LEAST_STAGES * t.consumers):
        each = f"as many, {LEAST_STAGES} at least, of each of {t.consumers} consumers in turn"
        yield f"stages {t.stages} are not {each}"


def channels(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """A block's channels are one row of shared memory, and so are the filters of an instruction."""
    size, found = plan.context.dtype.bytes, plan.tuning.channels
    if found * size not in SWIZZLES:
        sizes = listed(tuple(s // size for s in reversed(SWIZZLES)))
        yield f"channels {found} are not one of {sizes}"
    if plan.context.m % ROWS:
        yield f"{plan.context.m} filters are not a multiple of {ROWS}"


def window(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """A tile has all taps, a share whole steps."""
    t, context = plan.tuning, plan.context
    if context.n != t.n_per_block:
        yield f"{counted(t.taps, 'tap')} of {counted(t.channels, 'channel')} are not the {context.n} of gemmN"
    if context.k % t.k_per_block:
        yield f"{context.k} pixels of a share are not whole steps of {t.k_per_block}"
    if context.g % t.shares:
        yield f"{context.g} products are not {t.shares} shares"


def pixels(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """Steps, and images of one, are whole instructions; boxes have limits."""
    t = plan.tuning
    parts = t.width if t.by_warps else t.rows * t.width
    if t.by_warps and parts % PIXELS:
        yield f"lines of {t.width} pixels are not a multiple of {PIXELS}"
    elif parts % PIXELS:
        yield f"{t.rows} lines of {t.width} pixels are not a multiple of {PIXELS}"
    yield from limits.boxes(t)


def columns(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
    """A consumer's taps are one instruction's columns."""
    own = plan.tuning.own_columns
    return limits.columns(own, plan.context.dtype, machine, f"{own} columns of a consumer are")


def diagonal(plan: HaloWeightPlan, machine: GpuMachine) -> Reasons:
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


HALO_WEIGHT_RULES: Rules[HaloWeightPlan, GpuMachine] = Rules(
    (limits.warpgroups, matrix_unit, consumers, limits.stages, channels),
    (window, pixels, diagonal, columns, limits.registers, limits.lds_bytes),
)
