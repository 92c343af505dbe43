"""channel-vectors: depthwise convolutions, one channel and one filter a group, by lanes.

    miopen.conv2d, conv2d_bwd_data      ->  a launch, see `channel_strips`
    miopen.conv2d_bwd_weight            ->  two, see `channel_sums`

Matrix instructions would multiply such a product with zeros for the most part.  Arrays are read where they
are, in any layout.  The option `strips` says what a work item has of the array that strips cut, as
`config.strips.Box` does; without it the model does.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config.strips import Box
from imbrex.ir.attrs import Bool
from imbrex.ir.ops.problem import Conv2dBwdWeightOp, ConvOp
from imbrex.ir.passes.channel_strips import strips_written
from imbrex.ir.passes.channel_sums import sums_over_strips
from imbrex.ir.rewrite import Run, rewrite_each

__all__ = ["ChannelVectors"]


@dataclass(frozen=True)
class ChannelVectors(ModulePass):
    """See the module's first lines."""

    name = "channel-vectors"

    strips: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.channel_vectors == Bool(True)]
        box = None if self.strips is None else Box(*self.strips)
        rewrite_each(asking, lambda problem, run: _launches(problem, box, run))


def _launches(op: ConvOp, box: Box | None, run: Run) -> None:
    launches = sums_over_strips if isinstance(op, Conv2dBwdWeightOp) else strips_written
    launches(op, box, run)
