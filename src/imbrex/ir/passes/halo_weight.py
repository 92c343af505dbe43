"""Backward weight of `halo`: products over the pixels of a raster, a share of them each, and their sum.

    miopen.conv2d_bwd_weight(%filter, %input, %output) { halo = 1, ... }
    ->  %shares = workspace
        views of input and output as rasters, of %shares as all shares' filters
        miopen.gridwise_gemm(%a, %b, %c) { tuning = { kind = "halo_weight", .. } }
        launch: %filter = the shares, added up

Of groups that were merged the blocks on the diagonal alone are stored.  Sums of f32 are added up in their
order: results do not depend on which workgroup comes first.
"""

from __future__ import annotations

from typing import Final

from imbrex.config.halo_weight.choice import WeightWindows
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.ir.chain import map_of
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.conv_to_gemm import gridwise
from imbrex.ir.passes.fold_sums import add_shares
from imbrex.ir.passes.packing import workspace
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.conv.share_sum import ShareSum
from imbrex.view.gemm.product import GemmView

__all__ = ["products"]

ROLES: Final = ("output", "input", "filter")


def products(op: ConvOp, windows: WeightWindows, chosen: HaloWeightTuning, run: Run) -> None:
    """The products of one convolution, and what adds them up."""
    if isinstance(windows.pixels, str) or windows.pixels.diagonal % chosen.diagonal:
        raise InvalidOp(op, f"{chosen.diagonal} blocks of a diagonal are not all there is of the filter")
    view = windows.view(chosen)
    base, map = map_of(op.filter)
    total = ShareSum(chosen.shares, map.lower if map else windows.conv.filter)
    shares = workspace("shares", accumulator_type(element_of(op.input)), total.stored, run)
    whole = GemmView(view.a, view.b, total.shared(view.c, map.layers if map else ()))
    copies = {"filter": shares}
    gridwise(op, run, whole, ROLES, "backward_weight_v4r4", tuning=chosen, copies=copies)
    source = run.view(shares, total.read.layers, "shares")
    add_shares(total.total, source, run.view(base, total.written.layers, "filter", 0), run)
