"""The tuning of a convolution's windows, by the model of `cost`, and the product that each one is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any, Final

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.access import context_of
from imbrex.config.context import GemmContext
from imbrex.config.halo import space
from imbrex.config.halo.plan import MOST_SPAN, HaloTuning, HaloWeightTuning, ImagePlan, ImageTuning
from imbrex.config.kinds import kind_of
from imbrex.config.legal import check
from imbrex.config.warpgroup.consumers import ConsumersPlan
from imbrex.config.warpgroup.cost import copy_cycles
from imbrex.config.warpgroup.limits import stages_that_fit
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.raster import Raster, RasterDirection, RasterProduct, least_line, raster_of
from imbrex.view.conv.weight_raster import WeightRaster
from imbrex.view.copy.channels_last import is_channels_last
from imbrex.view.gemm.product import GemmView
from imbrex.view.mma.hopper import ROWS
from imbrex.view.stage.halo_tile import PIXELS
from imbrex.view.stage.piece import piece_bytes
from imbrex.view.stage.plane_stage import WINDOW, line_of, lines_abreast
from imbrex.view.stage.shared_layout import PIECES

__all__ = ["WeightWindows", "Windows"]

MOST_OF_PLANES: Final = 2
"""Consumers: lanes of three have too few registers for lines of the output beside their sums."""


@dataclass(frozen=True)
class Windows:
    """A convolution forward, or backward data, for tunings of tiles and line by line.  merged: groups as one.
    stored_bytes: of an element of the result.
    """

    conv: Convolution
    dtype: DType
    machine: GpuMachine
    merged: int
    direction: RasterDirection
    stored_bytes: int

    @property
    def refused(self) -> str | None:
        """Why it is not served, whatever the tuning."""
        read, channel = (self.conv.input, "c") if self.direction == "forward" else (self.conv.output, "k")
        raster = raster_of(self.conv, self.direction)
        if self.stored_bytes == 1:
            return "warpgroups store elements of two and of four bytes"
        if not is_channels_last(read, channel):
            return "a pixel's channels do not lie together in memory"
        if isinstance(raster, str):
            return raster
        if raster.channels * self.dtype.bytes % VECTOR_BYTES:
            return f"{raster.channels} channels are not a multiple of {VECTOR_BYTES} bytes"
        if raster.groups > 1 and space.channels_of(raster, self.dtype) != raster.channels:
            return f"{raster.channels} channels of a group are not whole rows of shared memory"
        return None

    @property
    def _why_none(self) -> str:
        """A reason of the first tuning, where all have one."""
        first = next(space.halo_space(self.raster, self.dtype, self.machine), None)
        if first is not None:
            broken = check(first, context_of(self._product(first).view, self.dtype), self.machine)
            if reasons := [x.reason for x in broken if x.rule in ("columns", "filters")]:
                return reasons[0]
        return "no tile of it fits in shared memory and registers"

    @cached_property
    def raster(self) -> Raster:
        """The raster of its pixels."""
        found = raster_of(self.conv, self.direction)
        assert isinstance(found, Raster), found
        return replace(found, merged=self.merged)

    def view(self, tuning: ImageTuning) -> GemmView:
        """The product that a tuning is for, of whole tiles; a Diagnostic where its lines are too short."""
        _expect_lines(tuning.width, self.raster.width)
        return self._product(tuning).view

    def best(self) -> ImageTuning | str:
        """The fastest by the model; a reason where none is legal."""
        return self.refused or min(self.priced, key=self.priced.__getitem__, default=None) or self._why_none

    @cached_property
    def priced(self) -> Mapping[ImageTuning, float]:
        """Cycles of legal tunings, as the model says."""
        return {plan.tuning: kind_of(plan.tuning).cycles(plan, self.machine) for plan in self.legal()}

    def legal(self) -> Iterator[ImagePlan[Any]]:
        """Plans of the legal tunings, each with as many stages as fit."""
        contexts: dict[RasterProduct, GemmContext] = {}
        for tuning in self._space():
            product = self._product(tuning)
            if product not in contexts:
                contexts[product] = context_of(product.view, self.dtype)
            if not check(tuning, context := contexts[product], self.machine):
                stages = self._stages(tuning.plan(context, self.machine))
                yield replace(tuning, stages=stages).plan(context, self.machine)

    def _space(self) -> Iterator[ImageTuning]:
        yield from space.halo_space(self.raster, self.dtype, self.machine)
        if self.conv.dilations == (1, 1):
            window = self.conv.height.window, self.conv.width.window
            yield from space.line_space(self.raster, window, self.dtype, self.machine)

    def _product(self, tuning: ImageTuning) -> RasterProduct:
        """Lines of an image in whole tiles."""
        rows = tuning.rows if isinstance(tuning, HaloTuning) else tuning.lines
        height = -(-self.raster.height // rows) * rows
        together = 1 if isinstance(tuning, HaloTuning) else tuning.images
        return RasterProduct(self.conv, self.direction, height, tuning.width, tuning.channels, together)

    def _stages(self, plan: ImagePlan[Any]) -> int:
        """As many as fit: of each consumer, where each has its own."""
        t = plan.tuning
        more = piece_bytes(t.n_per_block, self.stored_bytes) - plan.piece_bytes
        return max(1, stages_that_fit(plan, self.machine, t.consumers * PIECES * max(0, more)))


def _expect_lines(width: int, pixels: int) -> None:
    if width < pixels:
        raise Diagnostic(f"a raster {width} wide does not hold lines of {pixels} pixels")


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
        are_last = is_channels_last(conv.input, "c") and is_channels_last(conv.output, "k")
        if not self.in_planes and not are_last:
            return "a pixel's channels do not lie together in memory"
        if raster.filters % ROWS:
            return f"{raster.filters} filters of a group are not a multiple of {ROWS}"
        if space.block_of(raster.channels, self.dtype) is None:
            return f"{raster.channels} channels of a group are not whole rows of shared memory"
        return None

    @cached_property
    def pixels(self) -> space.Summed:
        """What is summed over."""
        h, w = self.conv.height, self.conv.width
        raster = raster_of(self.conv, "forward")
        assert isinstance(raster, Raster), raster
        block = space.block_of(raster.channels, self.dtype)
        assert block, raster
        blocks = raster.groups * (raster.filters // ROWS) * (raster.channels // block)
        is_kept = self.in_planes > 0
        line = line_of(w.out, self.dtype.bytes) if is_kept else least_line(w)
        shape = raster.images, h.out, line, w.out + w.span, raster.halo, raster.taps
        return space.Summed(*shape, block, self._diagonal, blocks, is_kept)

    def view(self, tuning: HaloWeightTuning) -> GemmView:
        """The products that a tuning is for; a Diagnostic where its lines are too short."""
        _expect_lines(tuning.width, self.pixels.line)
        return self._product(tuning).view

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
        if tuning.rows % self.in_planes or tuning.width != self.pixels.line:
            return False
        return 0 < tuning.streams <= MOST_OF_PLANES

    def legal(self) -> Iterator[ConsumersPlan[HaloWeightTuning]]:
        """Plans of the legal tunings, each with as many stages as fit.  Arrays lie as they do for the plain
        product.
        """
        of = self.pixels
        plain = WeightRaster(self.conv, of.rows, of.line, of.channels, 1)
        context = context_of(plain.view, self.dtype)
        for tuning in space.halo_weight_space(of, self.dtype, self.machine):
            if self.in_planes and not self.reads_planes(tuning):
                continue
            k = self._product(tuning).steps * tuning.k_per_block
            plan = tuning.plan(replace(context, g=context.g * tuning.shares, k=k), self.machine)
            if not check(tuning, plan.context, self.machine):
                stages = stages_that_fit(plan, self.machine) // tuning.turns * tuning.turns
                yield replace(tuning, stages=stages).plan(plan.context, self.machine)

    def _product(self, t: HaloWeightTuning) -> WeightRaster:
        return WeightRaster(self.conv, t.rows, t.width, t.channels, t.shares, t.streams)
