"""whole-images: a pointwise convolution of images whose planes are no whole rows of shared memory.

    miopen.conv2d_bwd_weight(%filter, %input, %output) { whole_images = 32, ... }            planes of 28 x 28
    ->  views of the arrays, of 800 positions an image
        miopen.gridwise_gemm(%a, %b, %c)

With a stride, backward weight reads a copy of what it needs of the input, and backward data writes a dense
phase, which a launch puts where it belongs.  See `view.conv.whole_images`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config.warpgroup.plan import CHIP
from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Dim
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp
from imbrex.ir.passes.conv_to_gemm import ROLES, convolution_of, gridwise
from imbrex.ir.passes.interleave import Phases, first_phase, phases_apart
from imbrex.ir.passes.tiling import number
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.conv.implicit_gemm import Convolution, phases
from imbrex.view.conv.whole_images import NOT_SERVED, WholeImages, serves
from imbrex.view.copy.sampled import sampled

__all__ = ["WholeImagesPass", "expect_images", "is_served"]

ALGORITHM: Final = "whole_images"
"""Of the product."""
ROW_BYTES: Final = (32, 64, 128)
"""Of shared memory."""


@dataclass(frozen=True)
class WholeImagesPass(ModulePass):
    """See the module's first lines."""

    name = "whole-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.whole_images is not None]
        rewrite_each(asking, lambda problem, run: _product(problem, number(problem, "whole_images"), run))


def pointwise_of(op: ConvOp) -> Convolution:
    """The convolution, or, where windows of one tap leave out some of the input, that of what they do not."""
    shape = convolution_of(op)
    if isinstance(op, Conv2dBwdDataOp) and phases_apart(op, shape):
        (rows, columns), *others = phases(shape)
        if others or (rows.extent, columns.extent) != (shape.height.out, shape.width.out):
            return shape
        sizes = {"hi": rows.extent, "wi": columns.extent}
        dense = tuple(Dim(d.name, sizes.get(d.name, d.size)) for d in shape.input)
        return replace(shape, input=dense, strides=(1, 1), padding=((0, 0), (0, 0)))
    if isinstance(op, Conv2dBwdWeightOp) and (small := sampled(shape)) and small.step > 1:
        return small.conv
    return shape


def is_served(op: ConvOp) -> bool:
    """See `view.whole_images.serves`."""
    return serves(pointwise_of(op), element_bytes(element_of(op.operands[(op.WRITES + 1) % 3])))


def expect_images(asked: str, op: ConvOp, machine: str) -> None:
    """A Diagnostic where it is not served, or the count is of no row of shared memory."""
    if machine != CHIP or not is_served(op):
        message = f"algorithm '{asked}': {NOT_SERVED}"
        raise Diagnostic(message, hint=f"leave the algorithm out; it is for {CHIP}")
    rows = [str(row // element_bytes(element_of(op.filter))) for row in ROW_BYTES]
    word, _, count = asked.partition(":")
    if count not in rows:
        message = f"algorithm '{asked}' says how many positions of an image a row of shared memory holds"
        raise Diagnostic(message, hint=f"write '{word}:COUNT' with a COUNT of {', '.join(rows)}")


def _product(op: ConvOp, multiple: int, run: Run) -> None:
    if not is_served(op):
        raise InvalidOp(op, f"'whole_images': {NOT_SERVED}", "whole_images")
    shape, pointwise = convolution_of(op), pointwise_of(op)
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
