"""halo: a convolution whose pixels come into shared memory once, with their halo, for warpgroups of Hopper.

    miopen.conv2d(%filter, %input, %output) { halo = 1, ... }
    ->  views of the arrays, of the result as a raster whose overhang does not exist
        miopen.gridwise_gemm(%a, %b, %c) { tuning = "v1:halo:..." }

Of stride 1, forward and backward data.  The raster is what the tuning wants, so that the product names it:
the one that the option `config` spells, or the fastest by the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config import tuning
from imbrex.config.halo.choice import Windows
from imbrex.config.halo.lines import WindowTuning
from imbrex.config.halo.space import diagonal_of
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.config.target import GPU_TARGETS
from imbrex.config.warpgroup.plan import CHIP
from imbrex.diagnostic import Diagnostic
from imbrex.ir.chain import map_of
from imbrex.ir.element import dtype_of, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp
from imbrex.ir.passes import halo_weight
from imbrex.ir.passes.conv_to_gemm import ROLES, convolution_of, gridwise
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.shape import element_of, memref_type
from imbrex.ir.source import InvalidOp
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.conv.implicit_gemm import Convolution

__all__ = ["Halo", "expect_diagonal", "groups_of", "halo_tuning", "refused", "windows_of"]

BACKWARD: Final = ("filter", "output", "input")


@dataclass(frozen=True)
class Halo(ModulePass):
    """See the module's first lines."""

    name = "halo"

    config: str = ""

    @staticmethod
    def of(given: tuning.Tuning | None) -> Halo:
        """With the tuning that is given, if any."""
        return Halo("" if given is None else tuning.text(given))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.halo is not None]
        rewrite_each(asking, lambda problem, run: _product(problem, self.config, run))


def windows_of(op: ConvOp, merged: int = 1) -> Windows | str:
    """A convolution as halo tunings see it, of so many groups as one, arrays copied where they have to be;
    or why they do not.
    """
    if isinstance(op, Conv2dBwdWeightOp):
        return "backward weight sums over pixels, each of them once"
    direction = "backward_data" if isinstance(op, Conv2dBwdDataOp) else "forward"
    written = op.operands[op.WRITES]
    base, _ = map_of(written)
    stored = element_bytes(memref_type(base).get_element_type())
    conv, one = convolution_of(op), merged
    if op.merged_groups is None and op.halo is not None:
        one = op.halo.data  # already merged
    elif merged > 1:
        conv = _merged(conv, merged, "c" if direction == "forward" else "k")
    windows = Windows(conv, direction, dtype_of(element_of(op.filter)), GPU_TARGETS[CHIP], stored, one)
    return windows.raster if isinstance(windows.raster, str) else windows


def _merged(conv: Convolution, count: int, last: str) -> Convolution:
    """With channels, or those that a sum runs over, last in each array, as they are after copies."""
    filters, *images = (GroupMerge(array, count).merged for array in (conv.filter, conv.input, conv.output))
    read, written = (tuple(sorted(array, key=lambda d: d.name in "ck")) for array in images)
    summed = tuple(sorted(filters, key=lambda d: d.name == last))
    return replace(conv, filter=summed, input=read, output=written)


def refused(op: ConvOp, merged: int, chip: str = CHIP) -> str | None:
    """Why a convolution, of so many groups as one, is not served; None where it is."""
    if chip != CHIP:
        return f"{chip} has no warpgroups, {CHIP} has"
    groups = op.sizes("filter").get("g") or 1
    if merged < 1 or groups % merged:
        return f"{merged} does not divide {groups} groups"
    own = halo_weight.windows_of(op, merged) if isinstance(op, Conv2dBwdWeightOp) else None
    windows = own or windows_of(op, merged)
    found = windows if isinstance(windows, str) else windows.best()
    return found if isinstance(found, str) else None


def halo_tuning(op: GridwiseGemmOp) -> WindowTuning | None:
    """The one that a product is laid out for; None of other products."""
    own = None if op.tuning is None else tuning.parse(op.tuning.data)
    return own if isinstance(own, WindowTuning) else None


def groups_of(given: WindowTuning | HaloWeightTuning, op: ConvOp) -> int:
    """How many groups a tuning computes as one."""
    sizes = op.sizes("filter")
    each = (sizes["k"] if isinstance(op, Conv2dBwdDataOp) else sizes["c"]) or given.channels
    return min(sizes.get("g") or 1, max(1, given.channels // each))


def _product(op: ConvOp, config: str, run: Run) -> None:
    given = tuning.parse(config) if config else None
    if isinstance(op, Conv2dBwdWeightOp):
        halo_weight.products(op, given, run)
        return
    windows = windows_of(op)
    if isinstance(windows, str):
        raise InvalidOp(op, f"windows do not come into shared memory once: {windows}")
    if given is not None and not isinstance(given, WindowTuning):
        raise Diagnostic(f"'halo' takes tunings of its own kind, got {config}")
    chosen = given or windows.best()
    if isinstance(chosen, str):
        raise InvalidOp(op, f"windows do not come into shared memory once: {chosen}")
    if chosen.width < windows.whole.width:
        message = f"a raster {chosen.width} wide does not hold lines of {windows.whole.width} pixels"
        raise InvalidOp(op, message)
    is_forward = windows.direction == "forward"
    roles, algorithm = (ROLES, "v4r4") if is_forward else (BACKWARD, "backward_data_v4r1")
    blocks = diagonal_of(windows.whole, windows.dtype)
    made, text = windows.view(chosen), tuning.text(chosen)
    gridwise(op, run, made, roles, algorithm, tuning=text, diagonal=blocks if blocks > 1 else None)


def expect_diagonal(op: GridwiseGemmOp, chosen: WindowTuning) -> None:
    """Is the filter zero between the tuning's blocks?"""
    blocks = 1 if op.diagonal is None else op.diagonal.data
    if blocks % chosen.diagonal:
        told = f"{chosen.diagonal} blocks of its diagonal are not all there is of the filter"
        raise InvalidOp(op, f"{told}, {blocks} are")
