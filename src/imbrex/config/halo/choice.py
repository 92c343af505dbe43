"""The halo tuning of a convolution, by the model of `cost`, and the product that it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from imbrex.cached import cached_property
from imbrex.chip import VECTOR_BYTES, GpuMachine
from imbrex.config.access import context_of
from imbrex.config.context import GemmContext
from imbrex.config.halo.plan import HaloPlan, HaloTuning, LinesPlan, LinesTuning, WindowTuning
from imbrex.config.halo.space import channels_of, halo_space, line_space
from imbrex.config.kinds import kind_of
from imbrex.config.legal import check
from imbrex.config.warpgroup.limits import stages_that_fit
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DType
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.raster import Raster, RasterDirection, RasterProduct, raster_of
from imbrex.view.copy.channels_last import is_channels_last
from imbrex.view.gemm.product import GemmView
from imbrex.view.stage.piece import piece_bytes
from imbrex.view.stage.shared_layout import PIECES

__all__ = ["Windows"]


@dataclass(frozen=True)
class Windows:
    """A convolution forward, or backward data, for halo tunings.  merged: groups as one.  stored_bytes: of an
    element of the result.
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
        if raster.groups > 1 and channels_of(raster, self.dtype) != raster.channels:
            return f"{raster.channels} channels of a group are not whole rows of shared memory"
        return None

    @cached_property
    def raster(self) -> Raster:
        """The raster of its pixels."""
        found = raster_of(self.conv, self.direction)
        assert isinstance(found, Raster), found
        return replace(found, merged=self.merged)

    def view(self, tuning: WindowTuning) -> GemmView:
        """The product that a tuning is for, of whole tiles; a Diagnostic where its lines are too short."""
        if tuning.width < self.raster.width:
            lines = f"lines of {self.raster.width} pixels"
            raise Diagnostic(f"a raster {tuning.width} wide does not hold {lines}")
        shape = self._height(tuning), tuning.width, tuning.channels, _together(tuning)
        return RasterProduct(self.conv, self.direction, *shape).view

    def best(self) -> WindowTuning | str:
        """The fastest by the model; a reason where none is legal."""
        return self.refused or min(self.priced, key=self.priced.__getitem__, default=None) or self._why_none

    @cached_property
    def priced(self) -> Mapping[WindowTuning, float]:
        """Cycles of legal tunings, as the model says."""
        return {plan.tuning: kind_of(plan.tuning).cycles(plan, self.machine) for plan in self.legal()}

    def legal(self) -> Iterator[HaloPlan | LinesPlan]:
        """Plans of the legal tunings, each with as many stages as fit: of windows that read all taps out of
        one raster, and of windows line by line.
        """
        contexts: dict[tuple[int, int], GemmContext] = {}
        for tuning in self._space():
            shape = self._height(tuning), _together(tuning)
            if shape not in contexts:
                contexts[shape] = context_of(self.view(tuning), self.dtype)
            plan = tuning.plan(contexts[shape], self.machine)
            if not check(tuning, contexts[shape], self.machine):
                filled = replace(tuning, stages=self._stages(plan))
                yield filled.plan(plan.context, self.machine)

    @property
    def _why_none(self) -> str:
        """A reason of the first tuning, where all have one."""
        first = next(halo_space(self.raster, self.dtype, self.machine), None)
        if first is not None:
            context = context_of(self.view(first), self.dtype)
            broken = check(first, context, self.machine)
            if reasons := [x.reason for x in broken if x.rule in ("columns", "filters")]:
                return reasons[0]
        return "no tile of it fits in shared memory and registers"

    def _space(self) -> Iterator[WindowTuning]:
        yield from halo_space(self.raster, self.dtype, self.machine)
        if self.conv.dilations == (1, 1):
            window = self.conv.height.window, self.conv.width.window
            yield from line_space(self.raster, window, self.dtype, self.machine)

    def _height(self, tuning: WindowTuning) -> int:
        """Lines of an image, whole tiles of them where an image has several."""
        rows = tuning.rows if isinstance(tuning, HaloTuning) else tuning.lines
        several = isinstance(tuning, HaloTuning) and tuning.images > 1
        return rows if several else -(-self.raster.height // rows) * rows

    def _stages(self, plan: HaloPlan | LinesPlan) -> int:
        """As many as fit: of each consumer, where each has its own."""
        t = plan.tuning
        more = piece_bytes(t.n_per_block, self.stored_bytes) - plan.piece_bytes
        return max(1, stages_that_fit(plan, self.machine, t.consumers * PIECES * max(0, more)))


def _together(tuning: WindowTuning) -> int:
    return tuning.images if isinstance(tuning, LinesTuning) else 1
