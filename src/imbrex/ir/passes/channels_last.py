"""channels-last: a convolution that asks for it reads copies of its arrays whose channels run fastest.

    miopen.conv2d(%filter, %input, %output) { channels_last = true, input_layout = ["n", "c", "hi", "wi"] }
    ->  %packed_filter = workspace   %packed_input = workspace
        launch: %packed_filter = %filter, transposed, and %packed_input = %input, transposed
        miopen.conv2d(%packed_filter, %packed_input, %output) { input_layout = ["n", "hi", "wi", "c"] }

The channels are those that the sum runs over: c of filter and input forward, k of filter and output in
backward data.  There they are also rounded up to 16 bytes, with zeros on both sides, so that every load can
be wide.  Backward weight sums over positions; its channels, k of output and c of input, keep their number.
The result is written in its own layout.

Of an input whose windows have one tap and move by more than one, only what they read is copied; see
`view.copy.sampled`.  Backward weight may ask for a copy of one array alone, `input_last = true` or
`output_last = true`: the other one, whose positions lie together, is read as it is.

`all_last = true` asks for the result, too, where its planes begin anywhere: the convolution writes a
workspace whose channels run fastest, and a launch after it turns that back.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config.algorithm.arrange import channels_last
from imbrex.config.algorithm.channels_last import ALREADY, COPIED, RESULT_STAYS, packed_arrays
from imbrex.ir.attrs import Bool
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.arranged import arrange
from imbrex.ir.rewrite import Run, blaming, replace_with
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import task_of

__all__ = ["ChannelsLastPass"]


@dataclass(frozen=True)
class ChannelsLastPass(ModulePass):
    """See the module's first lines.  where_needed: all that is read and has other channels last is copied, of
    operations that do not ask for anything, too.
    """

    name = "channels-last"
    where_needed: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for problem in [o for o in op.walk() if isinstance(o, ConvOp)]:
            with blaming(problem):
                key = next((key for key in COPIED if problem.properties.get(key) == Bool(True)), None)
                if key is None and self.where_needed and packed_arrays(task_of(problem)):
                    key = "channels_last"
                if key is not None:
                    run = Run()
                    _pack(problem, key, run)
                    replace_with(problem, run.ops)


def _pack(op: ConvOp, key: str, run: Run) -> None:
    """The copies, then the convolution of them."""
    made = channels_last(task_of(op), key)
    if not made.copied:
        why = RESULT_STAYS if key == "all_last" else ALREADY
        raise InvalidOp(op, f"there is nothing to pack: {why}; leave the key out", key)
    arrange(op, made, COPIED, run)
