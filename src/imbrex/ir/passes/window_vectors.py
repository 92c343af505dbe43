"""window-vectors: few channels a group on a CPU, each workgroup with some rows of some channels.

    miopen.conv2d, conv2d_bwd_data      ->  one launch of `miopen.threadwise_windows`
    miopen.conv2d_bwd_weight            ->  one launch of `miopen.threadwise_filter_sums`

Arrays are read where they are, in any layout.  The option `strips` says what a workgroup has of the array
that is written, as `config.strips.Box` does, or of filters, whose channels it has of all images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.strips import Box
from imbrex.config.window_strips import workgroup_strips
from imbrex.ir.ops.problem import Conv2dBwdWeightOp, ConvOp
from imbrex.ir.ops.windows import ThreadwiseFilterSumsOp, ThreadwiseWindowsOp
from imbrex.ir.passes.packing import launch
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.task import convolution_of, task_of

__all__ = ["WindowVectors"]


@dataclass(frozen=True)
class WindowVectors(ModulePass):
    """See the module's first lines."""

    name = "window-vectors"

    strips: tuple[int, ...]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp)]
        rewrite_each(asking, lambda problem, run: _launches(problem, Box(*self.strips), run))


def _launches(op: ConvOp, box: Box, run: Run) -> None:
    launched = _filter_sums if isinstance(op, Conv2dBwdWeightOp) else _windows
    launched(op, box, run)


def _filter_sums(op: ConvOp, box: Box, run: Run) -> None:
    shape = convolution_of(op)
    strips = workgroup_strips(strips_shape(task_of(op)), box)
    windows = run.view(op.input, strips.windows(shape.input, "hi", "wi"), "input", 1)
    output = run.view(op.output, strips.strip(shape.output, "ho", "wo"), "output", 2)
    taps = run.view(op.filter, strips.taps(shape.filter), "filter", 0)

    def body(into: Run, indices: Sequence[SSAValue]) -> None:
        operands = [output, indices, windows, indices, taps, indices]
        into.add(ThreadwiseFilterSumsOp.build(operands=operands))

    launch(strips.numbering.workgroups, strips.workitems, body, run)


def _windows(op: ConvOp, box: Box, run: Run) -> None:
    convolution, shape = strips_shape(task_of(op)), convolution_of(op)
    strips = workgroup_strips(convolution, box)
    images = (strips.strip if convolution.is_back else strips.windows)(shape.input, "hi", "wi")
    outputs = (strips.windows if convolution.is_back else strips.strip)(shape.output, "ho", "wo")
    taps = run.view(op.filter, strips.taps(shape.filter), "filter", 0)
    image, output = run.view(op.input, images, "input", 1), run.view(op.output, outputs, "output", 2)
    read, written = (output, image) if convolution.is_back else (image, output)

    def body(into: Run, indices: Sequence[SSAValue]) -> None:
        at = [*indices, into.index(0)]  # of one image
        into.add(ThreadwiseWindowsOp.build(operands=[taps, indices, read, at, written, at]))

    launch(strips.numbering.workgroups, strips.workitems, body, run)
