"""Packing: launches that copy an array into a workspace in another order.

A work item moves a box of `other` by `slots` elements.  Where memory runs along `other` on one side and along
`slots` on the other, it turns the box in its registers, so that both sides have wide accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Region, SSAValue

from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import PassThrough
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, memref
from imbrex.view.channels_last import ChannelsLast
from imbrex.view.data_tiled import VECTOR_BYTES, Items

__all__ = ["Registers", "copied", "copy", "launch", "pack", "workspace"]

Body = Callable[[Run, Sequence[SSAValue]], None]


def workspace(hint: str, element: Attribute, dims: Sequence[Dim], run: Run) -> SSAValue:
    """Global memory with these dims."""
    op = WorkspaceOp.build(result_types=[memref(element, [d.size for d in dims])])
    op.result.name_hint = hint
    return run.add(op).result


def copied(array: SSAValue, of: ChannelsLast, items: Items, hint: str, run: Run) -> SSAValue:
    """A workspace, and a launch that fills it with the array."""
    dest = workspace(f"packed_{hint}", element_of(array), of.packed, run)
    pack(array, dest, of.placed, items, hint, run)
    return dest


def pack(array: SSAValue, packed: SSAValue, placed: Map, items: Items, hint: str, run: Run) -> None:
    """A launch that fills the packed array.  placed: packed -> array; zeros where that is guarded."""
    source = run.view(array, items.map.then(placed).layers, hint)
    dest = run.view(packed, items.map.layers, f"packed_{hint}")
    box = Registers(items.other, items.slots, element_of(array), items.turns)

    def body(into: Run, place: Sequence[SSAValue]) -> None:
        across, along = box.alloc(into, hint)
        into.add(copy(source, place, across, []))
        if across is not along:
            into.add(copy(across, [], along, []))
        into.add(copy(along, [], dest, place))

    launch(items.workgroups, items.workitems, body, run)


@dataclass(frozen=True)
class Registers:
    """What a work item moves at once: `slots` neighbours of the packed array by `other` of the plain one."""

    other: int
    slots: int
    element: Attribute
    turns: bool = True

    def alloc(self, into: Run, hint: str) -> tuple[SSAValue, SSAValue]:
        """Registers for the box, seen as (other, slot): with neighbours along other, and along slot; one
        buffer where there is nothing to turn.
        """
        along = into.alloc(f"thread_{hint}", self.element, [self.other, self.slots], PRIVATE)
        if self.other == 1 or not self.turns:
            return along, along
        across = into.alloc(f"thread_{hint}_turned", self.element, [self.slots, self.other], PRIVATE)
        dims = (Dim("slot", self.slots), Dim("other", self.other))
        names = ("other", "slot")
        turned = layer_over(dims, *((PassThrough(), n, n) for n in names))
        return into.view(across, [turned], f"thread_{hint}_turned"), along


def launch(workgroups: int, workitems: int, body: Body, run: Run) -> None:
    """`body` for each work item; its place is (workgroup, work item)."""
    block = Block(arg_types=[IndexType(), IndexType()])
    inner = Run()
    body(inner, list(block.args))
    block.add_ops(inner.ops)
    run.add(LaunchOp.over(workgroups, workitems, Region(block)))


def copy(
    source: SSAValue,
    source_index: Sequence[SSAValue],
    dest: SSAValue,
    dest_index: Sequence[SSAValue],
    scale: Mapping[str, Attribute] | None = None,
) -> ThreadwiseCopyOp:
    """A copy in accesses as wide as they go."""
    widest = max(1, VECTOR_BYTES // max(element_bytes(element_of(v)) for v in (source, dest)))
    return ThreadwiseCopyOp.build(
        operands=[source, source_index, dest, dest_index],
        properties={**properties({"vector": widest}), **(scale or {})},
    )
