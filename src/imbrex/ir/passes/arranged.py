"""Passes after which a convolution is one of views and copies of its arrays: what they are is decided in
`config.algorithm.arrange`, for an operation that asks for it by a key.

    miopen.conv2d(%filter, %input, %output)
    ->  %packed_filter = workspace     launch: %packed_filter = %filter     %packed_input = transform(%input)
        miopen.conv2d(%packed_filter, %packed_input, %output)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from imbrex.argument import whole
from imbrex.config.algorithm.arrange import Arrangement, channels_last, merge_groups, window_rows
from imbrex.config.algorithm.channels_last import ALREADY, COPIED, RESULT_STAYS, packed_arrays
from imbrex.config.algorithm.few_channels import NOT_SERVED
from imbrex.ir.attrs import Bool, Ints, Names, Padding
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.copies import copied
from imbrex.ir.passes.packing import workspace
from imbrex.ir.passes.plane_packing import unpack_planes
from imbrex.ir.passes.tiling import number
from imbrex.ir.rewrite import Run, blaming, rewrite_each
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import task_of
from imbrex.problem.layout import ROLES
from imbrex.view.copy.plane_tiles import PlaneTiles

__all__ = ["ChannelsLast", "MergeGroups", "WindowRows"]


@dataclass(frozen=True)
class WindowRows(ModulePass):
    """Few channels: copies are read whose window rows are one stretch; see `view.conv.window_rows`.

        miopen.conv2d(%filter, %input, %output) { window_rows = true, padding = [[3, 3], [3, 3]] }  7x7, c = 3
        ->  %packed_filter = workspace   %packed_input = workspace
            launch: %packed_filter = %filter, 7x1, c = 32, and %packed_input = %input, c = 4, zeros all around
            %rows = transform(%packed_input), windows of one column, c = 32, that overlap
            miopen.conv2d(%packed_filter, %rows, %output) { padding = [[0, 0], [0, 0]] }

    The filter's gradient is written through a view without the taps and channels that are too many.  In the
    gradient of the input the output has rows, and taps come the other way round.
    """

    name = "window-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp) and o.window_rows == Bool(True)], _rows)


def _rows(op: ConvOp, run: Run) -> None:
    found = window_rows(task_of(op))
    if found is None:
        raise InvalidOp(op, f"'window_rows': {NOT_SERVED}", "window_rows")
    _arrange(op, found, ("window_rows",), run)


@dataclass(frozen=True)
class MergeGroups(ModulePass):
    """A grouped convolution becomes one of fewer groups with more channels each.

        miopen.conv2d(%filter, %input, %output) { merged_groups = 4, ... }                32 groups of 8 x 8
        ->  %merged_filter = workspace   launch: %merged_filter = %filter, block diagonal
            %merged_input = transform(%input)   %merged_output = transform(%output)
            miopen.conv2d(%merged_filter, %merged_input, %merged_output)                   8 groups of 32 x 32

    Input and output stay where they are.  In backward weight the filter's gradient is written through a view,
    of which only the blocks on the diagonal exist.  Where the merged arrays that are read do not have their
    channels last, the convolution asks for copies of them, in backward weight of the input alone where the
    output's planes are whole pieces of 16 bytes; see `ChannelsLast`.  A halo asks for none where it reads the
    planes: where `in_place` says so; without it by its own tuning, or where that is faster by the model.
    """

    name = "merge-groups"
    in_place: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.merged_groups is not None]
        rewrite_each(asking, self._merge)

    def _merge(self, op: ConvOp, run: Run) -> None:
        count, given = number(op, "merged_groups"), None if op.tuning is None else op.tuning.data
        made = merge_groups(task_of(op), count, op.halo is not None, given, self.in_place)
        _arrange(op, made, ("merged_groups",), run, "merged")


@dataclass(frozen=True)
class ChannelsLast(ModulePass):
    """A convolution reads copies of its arrays whose channels run fastest.

        miopen.conv2d(%filter, %input, %output) { channels_last = true, input_layout = ["n", "c", ..] }
        ->  %packed_filter = workspace   %packed_input = workspace
            launch: %packed_filter = %filter, transposed, and %packed_input = %input, transposed
            miopen.conv2d(%packed_filter, %packed_input, %output) { input_layout = ["n", .., "c"] }

    The channels are those that the sum runs over: c of filter and input forward, k of filter and output in
    backward data.  There they are also rounded up to 16 bytes, with zeros on both sides, so that every load
    can be wide.  Backward weight sums over positions; its channels, k of output and c of input, keep their
    number.  The result is written in its own layout.

    Of an input whose windows have one tap and move by more than one, only what they read is copied; see
    `view.copy.sampled`.  Backward weight may ask for a copy of one array alone, `input_last = true` or
    `output_last = true`: the other one, whose positions lie together, is read as it is.

    `all_last = true` asks for the result, too, where its planes begin anywhere: the convolution writes a
    workspace whose channels run fastest, and a launch after it turns that back.

    where_needed: all that is read and has other channels last is copied, of operations that do not ask for
    anything, too.  channel_multiple: what the product counts the channels of each tap up to; where copies
    add channels, they have as many.
    """

    name = "channels-last"
    where_needed: bool = False
    channel_multiple: int = 1

    def __post_init__(self) -> None:
        whole("channel_multiple", self.channel_multiple, 1)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convolutions = [o for o in op.walk() if isinstance(o, ConvOp)]
        rewrite_each([o for o in convolutions if self._key(o) is not None], self._pack)

    def _key(self, op: ConvOp) -> str | None:
        """The copies that an operation gets, a key of `COPIED`."""
        key = next((key for key in COPIED if op.properties.get(key) == Bool(True)), None)
        with blaming(op):
            is_needed = key is None and self.where_needed and bool(packed_arrays(task_of(op)))
        return "channels_last" if is_needed else key

    def _pack(self, op: ConvOp, run: Run) -> None:
        key = self._key(op)
        assert key is not None, op
        made = channels_last(task_of(op), key, self.channel_multiple)
        if not made.copied:
            why = RESULT_STAYS if key == "all_last" else ALREADY
            raise InvalidOp(op, f"there is nothing to pack: {why}; leave the key out", key)
        _arrange(op, made, COPIED, run)


def _arrange(op: ConvOp, made: Arrangement, keys: Collection[str], run: Run, word: str = "packed") -> None:
    """The operation of other arrays, without these keys.  word: what the names of arrays begin with."""
    arrays: dict[str, SSAValue] = dict(zip(ROLES, op.operands, strict=True))
    dims = {"filter": made.conv.filter, "input": made.conv.input, "output": made.conv.output}
    written = ROLES[op.WRITES]
    read = {str(role): how for role, how in made.copied.items() if role != written}
    own = arrays | copied(arrays, read, run, word)
    own |= {role: run.view(own[role], of, f"{word}_{role}") for role, of in made.seen.items()}
    back = made.copied.get(written)
    if back is not None:
        own[written] = workspace(f"{word}_{written}", element_of(arrays[written]), back.written.lower, run)
    properties: dict[str, Attribute] = {k: p for k, p in op.properties.items() if k not in keys}
    properties |= {f"{role}_layout": Names(tuple(d.name for d in dims[role])) for role in ROLES}
    properties |= {"strides": Ints(made.conv.strides), "padding": Padding(made.conv.padding)}
    if made.copies_key is not None:
        properties[made.copies_key] = Bool(True)
    run.add(type(op).build(operands=[own[role] for role in ROLES], properties=properties))
    if back is not None:
        assert isinstance(back, PlaneTiles), back
        unpack_planes(own[written], arrays[written], back, written, run)
