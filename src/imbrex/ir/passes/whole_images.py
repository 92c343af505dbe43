"""whole-images: a pointwise convolution of images whose planes are no whole rows of shared memory.

    miopen.conv2d_bwd_weight(%filter, %input, %output) { whole_images = 32, ... }            planes of 28 x 28
    ->  views of the arrays, of 800 positions an image
        miopen.gridwise_gemm(%a, %b, %c)

With a stride, backward weight reads a copy of what it needs of the input, and backward data writes a dense
phase, which a launch puts where it belongs.  See `view.conv.whole_images`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config.algorithm.pointwise import is_served, pointwise_of
from imbrex.ir.convolution import ROLES, task_of
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp
from imbrex.ir.passes.conv_to_gemm import gridwise
from imbrex.ir.passes.interleave import Phases, first_phase
from imbrex.ir.passes.tiling import number
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.source import InvalidOp
from imbrex.view.conv.whole_images import NOT_SERVED, WholeImages

__all__ = ["WholeImagesPass"]

ALGORITHM: Final = "whole_images"
"""What its products are called."""


@dataclass(frozen=True)
class WholeImagesPass(ModulePass):
    """See the module's first lines."""

    name = "whole-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.whole_images is not None]
        rewrite_each(asking, lambda problem, run: _product(problem, number(problem, "whole_images"), run))


def _product(op: ConvOp, multiple: int, run: Run) -> None:
    task = task_of(op)
    if not is_served(task):
        raise InvalidOp(op, f"'whole_images': {NOT_SERVED}", "whole_images")
    shape, pointwise = task.conv, pointwise_of(task)
    images, is_strided = WholeImages(pointwise, multiple), pointwise != shape
    match op:
        case Conv2dBwdWeightOp():
            copies = {"input": first_phase(op, shape, run)} if is_strided else {}
            roles = ("output", "input", "filter")
            gridwise(op, run, images.backward_weight, roles, ALGORITHM, copies=copies)
        case Conv2dBwdDataOp():
            apart = Phases(op, shape, run) if is_strided else None
            copies = {"input": apart.arrays[0]} if apart else {}
            roles = ("filter", "output", "input")
            gridwise(op, run, images.backward_data, roles, ALGORITHM, copies=copies)
            if apart:
                apart.put_together(run)
        case _:
            gridwise(op, run, images.forward, ROLES, ALGORITHM)
