"""The tuning of a convolution's halo weights, by the model of `cost`, and the products that it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Final

from imbrex.cached import cached_property
from imbrex.chip import GpuMachine
from imbrex.config.access import context_of
from imbrex.config.halo_weight.plan import MOST_SPAN, HaloWeightPlan, HaloWeightTuning
from imbrex.config.halo_weight.space import Pixels, block_of, halo_weight_space
from imbrex.config.kinds import kind_of
from imbrex.config.legal import check
from imbrex.config.warpgroup.cost import copy_cycles
from imbrex.config.warpgroup.limits import stages_that_fit
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.raster import Raster, least_line, raster_of
from imbrex.view.conv.weight_raster import WeightRaster
from imbrex.view.copy.channels_last import is_channels_last
from imbrex.view.gemm.product import GemmView
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.plane_stage import WINDOW, line_of, lines_abreast
from imbrex.view.stage.tap_tile import PIXELS

__all__ = ["WeightWindows"]

MOST_OF_PLANES: Final = 2
"""Consumers: lanes of three have too few registers for lines of the output beside their sums."""


@dataclass(frozen=True)
class WeightWindows:
    """A convolution for tunings of halo weights.  merged: groups as one."""

    conv: Convolution
    dtype: DType
    machine: GpuMachine
    merged: int

    @property
    def refused(self) -> str | None:
        """Why it is not served, whatever the tuning."""
        conv, span = self.conv, self.conv.width.span
        raster = raster_of(conv, "forward")
        if not self.dtype.is_half:
            return f"wgmma multiplies rows of pixels of f16 and bf16, not {self.dtype.name}"
        if isinstance(raster, str):
            return raster
        if span > MOST_SPAN:
            return f"a window reaches over {span} columns, more than {MOST_SPAN}"
        if not self.in_planes and not (
            is_channels_last(conv.input, "c") and is_channels_last(conv.output, "k")
        ):
            return "a pixel's channels do not lie together in memory"
        if raster.filters % ROWS:
            return f"{raster.filters} filters of a group are not a multiple of {ROWS}"
        if block_of(raster.channels, self.dtype) is None:
            return f"{raster.channels} channels of a group are not whole rows of shared memory"
        return None

    @cached_property
    def pixels(self) -> Pixels:
        """What is summed over."""
        h, w = self.conv.height, self.conv.width
        raster = raster_of(self.conv, "forward")
        assert isinstance(raster, Raster), raster
        block = block_of(raster.channels, self.dtype)
        assert block, raster
        blocks = raster.groups * (raster.filters // ROWS) * (raster.channels // block)
        is_kept = self.in_planes > 0
        line = line_of(w.out, self.dtype.bytes) if is_kept else least_line(w)
        shape = raster.images, h.out, line, w.out + w.span, raster.halo, raster.taps
        return Pixels(*shape, block, self._diagonal, blocks, is_kept)

    def view(self, tuning: HaloWeightTuning) -> GemmView:
        """The products that a tuning is for; a Diagnostic where its lines are too short."""
        if tuning.width < self.pixels.line:
            raise Diagnostic(f"a raster {tuning.width} wide does not hold lines of {self.pixels.line} pixels")
        return self._raster(tuning).view

    def best(self) -> HaloWeightTuning | str:
        """The fastest by the model; a reason where none is legal."""
        none = "no step of it fits in shared memory and registers"
        return self.refused or min(self.priced, key=self.priced.__getitem__, default=None) or none

    @cached_property
    def priced(self) -> Mapping[HaloWeightTuning, float]:
        """Cycles of legal tunings, as the model says."""
        plans = () if self.refused else self.legal()
        return {plan.tuning: kind_of(plan.tuning).cycles(plan, self.machine) for plan in plans}

    @cached_property
    def in_planes(self) -> int:
        """Lines of a group, where warps read both arrays' planes (`view.stage.plane_stage`); else 0."""
        conv, axes = self.conv, (self.conv.height, self.conv.width)
        planes = tuple(tuple(d.name for d in dims[-2:]) for dims in (conv.input, conv.output))
        is_centred = all((x.window, x.before, x.out) == (WINDOW, WINDOW // 2, x.image) for x in axes)
        if planes != (("hi", "wi"), ("ho", "wo")) or not is_centred or self._diagonal == 1:
            return 0
        return lines_abreast(conv.height.out, conv.width.out, self.dtype.bytes) or 0

    @property
    def _diagonal(self) -> int:
        """Blocks of filters and channels, one of each warp, between which no group is divided; 1 where others
        are wanted, too, or warps do not serve.
        """
        conv, sizes = self.conv, dict(self.conv.filter)
        axes = (conv.height, conv.width)
        if sizes["k"] != ROWS or sizes["c"] != ROWS or any(x.window == 1 or x.dilation > 1 for x in axes):
            return 1
        return ROWS // PIXELS if PIXELS % (ROWS // self.merged) == 0 else 1

    @property
    def planes_pay(self) -> bool:
        """Does it take longer to copy both arrays to channels last, and to read the copies?"""
        if not self.in_planes:
            return False
        read, written = (
            tuple(sorted(a, key=lambda d: d.name in "ck")) for a in (self.conv.input, self.conv.output)
        )
        copied = replace(self, conv=replace(self.conv, input=read, output=written))
        moved = 2 * self.dtype.bytes * (prod(d.size for d in read) + prod(d.size for d in written))
        most = min(copied.priced.values(), default=inf) + copy_cycles(moved, 1, self.machine)
        return min(self.priced.values(), default=inf) < most

    def reads_planes(self, tuning: HaloWeightTuning) -> bool:
        """Are the stages of a tuning whole rows of shared memory, of planes that serve?"""
        if self.refused or not self.in_planes:
            return False
        if tuning.images > 1 or tuning.rows % self.in_planes or tuning.width != self.pixels.line:
            return False
        return 0 < tuning.streams <= MOST_OF_PLANES

    def legal(self) -> Iterator[HaloWeightPlan]:
        of = self.pixels
        plain = WeightRaster(self.conv, 1, of.rows, of.line, of.channels, 1)
        context = context_of(plain.view, self.dtype)
        for tuning in halo_weight_space(of, self.dtype, self.machine):
            if self.in_planes and not self.reads_planes(tuning):
                continue
            k = self._raster(tuning).steps * tuning.k_per_block
            plan = tuning.plan(replace(context, g=context.g * tuning.shares, k=k), self.machine)
            if check(tuning, plan.context, self.machine):
                continue
            stages = stages_that_fit(plan, self.machine)
            filled = replace(tuning, stages=stages // tuning.turns * tuning.turns)
            yield filled.plan(plan.context, self.machine)

    def _raster(self, t: HaloWeightTuning) -> WeightRaster:
        return WeightRaster(self.conv, t.images, t.rows, t.width, t.channels, t.shares, t.streams)
