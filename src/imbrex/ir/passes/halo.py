"""halo: a convolution whose pixels come into shared memory once, with their halo, for warpgroups of Hopper.

    miopen.conv2d(%filter, %input, %output) { halo = 1, ... }
    ->  views of the arrays, of the result as a raster whose overhang does not exist
        miopen.gridwise_gemm(%a, %b, %c) { tuning = { kind = "halo", .. } }

Of stride 1, forward and backward data.  The raster is what the tuning wants, so that the product has it, too:
the convolution's own `tuning`, or the fastest by the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config import tuning
from imbrex.config.algorithm.windows import weights_of, windows_of
from imbrex.config.halo.choice import Windows
from imbrex.config.halo.lines import LinesTuning, WindowTuning
from imbrex.config.halo.plan import HaloTuning
from imbrex.config.halo.space import diagonal_of
from imbrex.config.halo_weight.choice import WeightWindows
from imbrex.config.halo_weight.plan import HaloWeightTuning
from imbrex.ir.convolution import ROLES, task_of
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes import halo_weight
from imbrex.ir.passes.conv_to_gemm import gridwise
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.source import InvalidOp

__all__ = ["Halo", "expect_diagonal"]

BACKWARD: Final = ("filter", "output", "input")


@dataclass(frozen=True)
class Halo(ModulePass):
    """See the module's first lines."""

    name = "halo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.halo is not None]
        rewrite_each(asking, _product)


def _product(op: ConvOp, run: Run) -> None:
    task, given = task_of(op), None if op.tuning is None else op.tuning.data
    windows = (weights_of if task.is_backward_weight else windows_of)(task)
    chosen = windows if isinstance(windows, str) else given or windows.best()
    if isinstance(windows, str) or isinstance(chosen, str):
        raise InvalidOp(op, f"windows do not come into shared memory once: {chosen}")
    match windows, chosen:
        case WeightWindows(), HaloWeightTuning():
            halo_weight.products(op, windows, chosen, run)
        case Windows(), HaloTuning() | LinesTuning():
            _of_windows(op, windows, chosen, run)
        case _:
            got = tuning.with_article(chosen.kind)
            where = "'halo' of backward weight" if task.is_backward_weight else "'halo'"
            raise InvalidOp(op, f"{where} takes tunings of its own kind, got {got} tuning", "tuning")


def _of_windows(op: ConvOp, windows: Windows, chosen: WindowTuning, run: Run) -> None:
    is_forward = windows.direction == "forward"
    roles, algorithm = (ROLES, "v4r4") if is_forward else (BACKWARD, "backward_data_v4r1")
    blocks = diagonal_of(windows.whole, windows.dtype)
    view = windows.view(chosen)
    gridwise(op, run, view, roles, algorithm, tuning=chosen, diagonal=blocks if blocks > 1 else None)


def expect_diagonal(op: GridwiseGemmOp, chosen: WindowTuning) -> None:
    """Is the filter zero between the tuning's blocks?"""
    blocks = 1 if op.diagonal is None else op.diagonal.data
    if blocks % chosen.diagonal:
        subject = f"{chosen.diagonal} blocks of its diagonal are not all there is of the filter"
        raise InvalidOp(op, f"{subject}, {blocks} are")
