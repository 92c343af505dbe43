"""whole-images: a pointwise convolution of images whose planes are no whole rows of shared memory.

    miopen.conv2d_bwd_weight(%filter, %input, %output) { whole_images = 32, ... }            planes of 28 x 28
    ->  views of the arrays, of 800 positions an image
        miopen.gridwise_gemm(%a, %b, %c)

With a stride, backward weight reads a copy of what it needs of the input, and backward data writes a dense
phase, which a launch puts where it belongs.  See `view.conv.whole_images`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config.algorithm.make import whole_images
from imbrex.config.algorithm.pointwise import is_served
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.conv_products import conv_products
from imbrex.ir.passes.tiling import number
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import task_of
from imbrex.view.conv.whole_images import NOT_SERVED

__all__ = ["WholeImagesPass"]


@dataclass(frozen=True)
class WholeImagesPass(ModulePass):
    """See the module's first lines."""

    name = "whole-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp) and o.whole_images is not None], _product)


def _product(op: ConvOp, run: Run) -> None:
    task = task_of(op)
    if not is_served(task):
        raise InvalidOp(op, f"'whole_images': {NOT_SERVED}", "whole_images")
    conv_products(op, whole_images(task, number(op, "whole_images")), run)
