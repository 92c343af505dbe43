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
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from imbrex.config.algorithm.groups import copies_of
from imbrex.ir.attrs import Bool, Names
from imbrex.ir.convolution import ROLES, convolution_of, task_of
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp
from imbrex.ir.passes.packing import pack, workspace
from imbrex.ir.passes.tiling import number
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.shape import element_of
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.copy.channels_last import ChannelsLast

__all__ = ["MergeGroups"]


@dataclass(frozen=True)
class MergeGroups(ModulePass):
    """See the module's first lines."""

    name = "merge-groups"

    in_place: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asking = [o for o in op.walk() if isinstance(o, ConvOp) and o.merged_groups is not None]
        rewrite_each(asking, lambda problem, run: _merge(problem, self.in_place, run))


def _merge(op: ConvOp, in_place: bool | None, run: Run) -> None:
    given = None if op.tuning is None else op.tuning.data
    shape, count = convolution_of(op), number(op, "merged_groups")
    arrays = dict(zip(ROLES, (shape.filter, shape.input, shape.output), strict=True))
    properties: dict[str, Attribute] = {k: p for k, p in op.properties.items() if k != "merged_groups"}
    operands: list[SSAValue] = []
    for role, array in zip(ROLES, op.operands, strict=True):
        of = GroupMerge(arrays[role], count)
        if role == "filter" and not isinstance(op, Conv2dBwdWeightOp):
            operands.append(_block_diagonal(op, array, of, properties, run))
        else:
            operands.append(run.view(array, of.map.layers, f"merged_{role}"))
    made = run.add(type(op).build(operands=operands, properties=properties))
    key = copies_of(task_of(made), op.halo is not None, given, in_place)
    if key is not None:
        made.properties[key] = Bool(True)


def _block_diagonal(
    op: ConvOp, array: SSAValue, of: GroupMerge, properties: dict[str, Attribute], run: Run
) -> SSAValue:
    """The filter with zeros, in a workspace; the channels that a sum runs over fastest."""
    element = element_of(array)
    dims, placed = of.ordered(last="k" if isinstance(op, Conv2dBwdDataOp) else "c")
    dest = workspace("merged_filter", element, dims, run)
    items = ChannelsLast(dims, dims[-1].name).items(element_bytes(element))
    pack(array, dest, placed, items, "filter", run)
    properties["filter_layout"] = Names(tuple(d.name for d in dims))
    return dest
