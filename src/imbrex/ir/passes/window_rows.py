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
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from imbrex.config.algorithm.few_channels import NOT_SERVED, rows_of
from imbrex.index.map import Map
from imbrex.ir.attrs import Bool, Names, Padding
from imbrex.ir.convolution import task_of
from imbrex.ir.ops.problem import Conv2dBwdWeightOp, ConvOp
from imbrex.ir.passes.packing import Packing, pack_all, workspace
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.conv.window_rows import WindowRows

__all__ = ["WindowRowsPass"]


@dataclass(frozen=True)
class WindowRowsPass(ModulePass):
    """See the module's first lines."""

    name = "window-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp) and o.window_rows == Bool(True)], _copy)


def _copy(op: ConvOp, run: Run) -> None:
    found = rows_of(task_of(op))
    if found is None:
        raise InvalidOp(op, f"'window_rows': {NOT_SERVED}", "window_rows")
    properties: dict[str, Attribute] = {k: p for k, p in op.properties.items() if k != "window_rows"}
    properties["padding"] = Padding(((0, 0), (0, 0)))
    filters, copies = op.filter, list[Packing]()
    if isinstance(op, Conv2dBwdWeightOp):
        filters = run.view(filters, found.filter.layers, "counted_filter")
    else:
        copies.append(_packing(filters, found, found.filter, "filter", run))
    copies.append(_packing(op.input, found, found.input, "input", run))
    pack_all(copies, run)
    packed = {of.hint: of.packed for of in copies}
    arrays = [packed.get("filter", filters), packed["input"], op.output]
    for role, map in (("filter", found.filter), ("input", found.input)):
        properties[f"{role}_layout"] = Names(tuple(d.name for d in map.upper))
    run.add(type(op).build(operands=arrays, properties=properties))


def _packing(array: SSAValue, of: WindowRows, map: Map, role: str, run: Run) -> Packing:
    dest = workspace(f"packed_{role}", element_of(array), map.upper, run)
    return Packing(array, dest, map, of.items(map.upper), role)
