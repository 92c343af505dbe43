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

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from imbrex.config.algorithm.channels_last import (
    ALREADY,
    COPIED,
    RESULT_STAYS,
    Packed,
    copy_of,
    packed_arrays,
    sampled_input,
    unpacked_tiles,
)
from imbrex.ir.attrs import Bool, Ints, Names, Padding
from imbrex.ir.convolution import ROLES, task_of
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.packing import Packing, pack_all, workspace
from imbrex.ir.passes.plane_packing import PlanePacking, unpack_planes
from imbrex.ir.rewrite import Run, blaming, replace_with
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.copy.sampled import Sampled

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
                    _pack(problem, COPIED[key](task_of(problem)), key, run)
                    replace_with(problem, run.ops)


def _pack(op: ConvOp, packed: Packed, key: str, run: Run) -> None:
    """The copies, then the convolution of them."""
    if not packed:
        why = RESULT_STAYS if key == "all_last" else ALREADY
        raise InvalidOp(op, f"there is nothing to pack: {why}; leave the key out", key)
    properties: dict[str, Attribute] = {k: p for k, p in op.properties.items() if k not in COPIED}
    arrays: dict[str, SSAValue] = dict(zip(ROLES, op.operands, strict=True))
    task = task_of(op)
    written = task.written
    if small := sampled_input(task):
        arrays["input"] = run.view(arrays["input"], small.map.layers, "sampled_input")
        properties |= {"strides": Ints(small.conv.strides), "padding": Padding(small.conv.padding)}
    copies = [_packing(op, arrays, of, role, small, run) for role, of in packed.items() if role != written]
    if copies:
        pack_all(copies, run)
    for of in copies:
        arrays[of.hint] = of.packed
    result = packed.get(written)
    if result is not None:
        arrays[written] = workspace(f"packed_{written}", element_of(arrays[written]), result.packed, run)
    for role, of in packed.items():
        properties[f"{role}_layout"] = Names(tuple(d.name for d in of.packed))
    run.add(type(op).build(operands=[arrays[role] for role in ROLES], properties=properties))
    if result is not None:
        tiles = unpacked_tiles(result, task)
        assert tiles is not None, result
        unpack_planes(arrays[written], op.operands[op.WRITES], tiles, written, run)


def _packing(
    op: ConvOp, arrays: Mapping[str, SSAValue], of: ChannelsLast, role: str, small: Sampled | None, run: Run
) -> Packing | PlanePacking:
    """The copy of an array.  small: what windows read of the input."""
    element, part = element_of(arrays[role]), small if role == "input" else None
    dest = workspace(f"packed_{role}", element, of.packed, run)
    array = arrays[role] if part is None else op.input
    match copy_of(of, element_bytes(element), part):
        case Boxes(placed, items, None, _):
            return Packing(arrays[role], dest, placed, items, role)
        case Boxes(placed, items, wide, step):
            return Packing(array, dest, placed, items, role, wide, step)
        case tiles:
            return PlanePacking(array, dest, tiles, role)
