"""merge-groups: a grouped convolution that asks for it becomes one of fewer groups with more channels each.

    miopen.conv2d(%filter, %input, %output) { merged_groups = 4, ... }                 32 groups of 8 x 8
    ->  %merged_filter = workspace   launch: %merged_filter = %filter, block diagonal
        %merged_input = transform(%input)   %merged_output = transform(%output)
        miopen.conv2d(%merged_filter, %merged_input, %merged_output)                    8 groups of 32 x 32

Input and output stay where they are.  In backward weight the filter's gradient is written through a view, of
which only the blocks on the diagonal exist.  Where the merged arrays that are read do not have their channels
last, the convolution asks for copies of them, in backward weight of the input alone where the output's planes
are whole pieces of 16 bytes; see `channels_last`.  A halo asks for none where it reads the planes: where
`in_place` says so; without it by its own tuning, or where that is faster by the model.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config.algorithm.arrange import merge_groups
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.arranged import arrange
from imbrex.ir.passes.tiling import number
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.task import task_of

__all__ = ["MergeGroups"]


@dataclass(frozen=True)
class MergeGroups(ModulePass):
    """See the module's first lines."""

    name = "merge-groups"

    in_place: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.merged_groups is not None]
        rewrite_each(asking, self._merge)

    def _merge(self, op: ConvOp, run: Run) -> None:
        count, given = number(op, "merged_groups"), None if op.tuning is None else op.tuning.data
        made = merge_groups(task_of(op), count, op.halo is not None, given, self.in_place)
        arrange(op, made, ("merged_groups",), run, "merged")
