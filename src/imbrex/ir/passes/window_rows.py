"""window-rows: a convolution of few channels that asks for it reads copies whose window rows are one stretch.

    miopen.conv2d(%filter, %input, %output) { window_rows = true, padding = [[3, 3], [3, 3]] }   7x7, c = 3
    ->  %packed_filter = workspace   %packed_input = workspace
        launch: %packed_filter = %filter, 7x8, c = 4, and %packed_input = %input, zeros all around
        miopen.conv2d(%packed_filter, %packed_input, %output) { padding = [[0, 0], [0, 0]] }

The filter's gradient is written through a view without the taps and channels that are too many.  See
`view.conv.window_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config.algorithm.arrange import window_rows
from imbrex.config.algorithm.few_channels import NOT_SERVED
from imbrex.ir.attrs import Bool
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.arranged import arrange
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import task_of

__all__ = ["WindowRowsPass"]


@dataclass(frozen=True)
class WindowRowsPass(ModulePass):
    """See the module's first lines."""

    name = "window-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp) and o.window_rows == Bool(True)], _copy)


def _copy(op: ConvOp, run: Run) -> None:
    found = window_rows(task_of(op))
    if found is None:
        raise InvalidOp(op, f"'window_rows': {NOT_SERVED}", "window_rows")
    arrange(op, found, ("window_rows",), run)
