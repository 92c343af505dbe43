"""halo: a convolution whose pixels come into shared memory once, with their halo, for warpgroups of Hopper.

    miopen.conv2d(%filter, %input, %output) { halo = 1, ... }
    ->  views of the arrays, of the result as a raster whose overhang does not exist
        miopen.gridwise_gemm(%a, %b, %c) { tuning = { kind = "halo", .. } }

Of stride 1.  The raster is what the tuning wants, so that the product has it, too: the convolution's own
`tuning`, or the fastest by the model.  Backward weight sums over the pixels of a raster, a share of them
each, and a launch adds up the shares in their order: results do not depend on which workgroup comes first.
Of groups that were merged the blocks on the diagonal alone are stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config import tuning
from imbrex.config.algorithm.make import halo
from imbrex.config.halo.lines import WindowTuning
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.conv_products import conv_products
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import task_of

__all__ = ["Halo", "expect_diagonal"]


@dataclass(frozen=True)
class Halo(ModulePass):
    """See the module's first lines."""

    name = "halo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.halo is not None]
        rewrite_each(asking, _product)


def _product(op: ConvOp, run: Run) -> None:
    task, given = task_of(op), None if op.tuning is None else op.tuning.data
    own = HaloWeightTuning if task.is_backward_weight else WindowTuning
    if given is not None and not isinstance(given, own):
        got = tuning.with_article(given.kind)
        where = "'halo' of backward weight" if task.is_backward_weight else "'halo'"
        raise InvalidOp(op, f"{where} takes tunings of its own kind, got {got} tuning", "tuning")
    conv_products(op, halo(task, given), run)


def expect_diagonal(op: GridwiseGemmOp, chosen: WindowTuning) -> None:
    """Is the filter zero between the tuning's blocks?"""
    blocks = 1 if op.diagonal is None else op.diagonal.data
    if blocks % chosen.diagonal:
        subject = f"{chosen.diagonal} blocks of its diagonal are not all there is of the filter"
        raise InvalidOp(op, f"{subject}, {blocks} are")
