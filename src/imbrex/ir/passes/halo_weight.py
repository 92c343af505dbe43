"""Backward weight of `halo`: products over the pixels of a raster, a share of them each, and their sum.

    miopen.conv2d_bwd_weight(%filter, %input, %output) { halo = 1, ... }
    ->  %shares = workspace
        views of input and output as rasters, of %shares as all shares' filters
        miopen.gridwise_gemm(%a, %b, %c) { tuning = "v1:halo_weight:..." }
        launch: %filter = the shares, added up

Of groups that were merged the blocks on the diagonal alone are stored.  Sums of f32 are added up in their
order: results do not depend on which workgroup comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from imbrex.config import tuning
from imbrex.config.halo_weight.choice import WeightWindows
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.config.target import GPU_TARGETS
from imbrex.config.tuning import Tuning
from imbrex.config.warpgroup.plan import CHIP
from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge, PassThrough
from imbrex.ir.chain import map_of
from imbrex.ir.element import accumulator_type, dtype_of
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import Conv2dBwdWeightOp, ConvOp
from imbrex.ir.ops.standard import SSAValue
from imbrex.ir.passes.conv_to_gemm import convolution_of, gridwise
from imbrex.ir.passes.fold_sums import add_shares
from imbrex.ir.passes.packing import workspace
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.weight_raster import SHARE, beside
from imbrex.view.gemm.product import GemmView
from imbrex.view.work.fold import Total

__all__ = ["halo_weight_tuning", "products", "reads_planes", "windows_of"]

ROLES: Final = ("output", "input", "filter")
WORKITEMS: Final = 256
"""Of a workgroup that adds up shares."""


def windows_of(op: ConvOp, merged: int = 1) -> WeightWindows | str:
    """A convolution as tunings of halo weights see it, of so many groups as one, arrays copied where they
    have to be; or why they do not.
    """
    conv, one = convolution_of(op), merged
    if op.merged_groups is None and op.halo is not None:
        one = op.halo.data  # already merged
    elif merged > 1:
        conv = _merged(conv, merged)
    windows = WeightWindows(conv, dtype_of(element_of(op.input)), GPU_TARGETS[CHIP], one)
    return windows.pixels if isinstance(windows.pixels, str) else windows


def _merged(conv: Convolution, count: int) -> Convolution:
    """With the channels of what is read last, as they are after copies."""
    filters, images, results = (GroupMerge(a, count).merged for a in (conv.filter, conv.input, conv.output))
    read = tuple(sorted(images, key=lambda d: d.name == "c"))
    results = tuple(sorted(results, key=lambda d: d.name == "k"))
    return replace(conv, filter=filters, input=read, output=results)


def reads_planes(op: ConvOp, given: Tuning | None) -> bool:
    """Is a convolution one of weights whose pixels come once, out of the planes that they lie in: by the
    tuning that is given, or where that is faster by the model?
    """
    if not isinstance(op, Conv2dBwdWeightOp) or op.halo is None:
        return False
    windows = windows_of(op)
    if isinstance(windows, str):
        return False
    if given is None:
        return windows.planes_pay
    return isinstance(given, HaloWeightTuning) and windows.reads_planes(given)


def halo_weight_tuning(op: GridwiseGemmOp) -> HaloWeightTuning | None:
    """The one that a product is laid out for; None of other products."""
    own = None if op.tuning is None else tuning.parse(op.tuning.data)
    return own if isinstance(own, HaloWeightTuning) else None


def products(op: ConvOp, given: Tuning | None, run: Run) -> None:
    """The products of one convolution, and what adds them up."""
    windows = windows_of(op)
    if isinstance(windows, str):
        raise InvalidOp(op, f"windows do not come into shared memory once: {windows}")
    if given is not None and not isinstance(given, HaloWeightTuning):
        raise Diagnostic(f"'halo' of backward weight takes tunings of its own kind, got {tuning.text(given)}")
    chosen = given or windows.best()
    if isinstance(chosen, str):
        raise InvalidOp(op, f"windows do not come into shared memory once: {chosen}")
    if isinstance(windows.pixels, str) or windows.pixels.diagonal % chosen.diagonal:
        raise InvalidOp(op, f"{chosen.diagonal} blocks of a diagonal are not all there is of the filter")
    view = windows.view(chosen)
    base, map = map_of(op.filter)
    dims = map.lower if map else windows.conv.filter
    stored = (Dim(SHARE, chosen.shares), *sorted(dims, key=lambda d: d.name == "c"))
    shares = workspace("shares", accumulator_type(element_of(op.input)), stored, run)
    below = [beside(layer, stored[0]) for layer in (map.layers if map else ())]
    ordered = layer_over(stored, *((PassThrough(), d.name, d.name) for d in (stored[0], *dims)))
    whole = GemmView(view.a, view.b, Map((*view.c.layers, *below, ordered)))
    text, copies = tuning.text(chosen), {"filter": shares}
    gridwise(op, run, whole, ROLES, "backward_weight_v4r4", tuning=text, copies=copies)
    _add_up(shares, stored, base, dims, run)


def _add_up(
    shares: SSAValue, stored: Sequence[Dim], filters: SSAValue, dims: Sequence[Dim], run: Run
) -> None:
    """The launch.  stored, dims: of the shares and of the filter, in memory order."""
    names = " ".join(d.name for d in stored[1:])
    cells = layer_over(stored, (PassThrough(), SHARE, SHARE), (Merge(), "cell", names))
    total = Total(stored[0].size, dict(cells.upper)["cell"], WORKITEMS)
    turned = layer_over(dims, *((PassThrough(), d.name, d.name) for d in stored[1:]))
    placed = layer_over(turned.upper, (Merge(), "cell", names))
    source = run.view(shares, [*total.read(), cells], "shares")
    add_shares(total, source, run.view(filters, [*total.stored(), placed, turned], "filter", 0), run)
