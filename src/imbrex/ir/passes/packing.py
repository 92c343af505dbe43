"""Packing: launches that copy an array into a workspace in another order.

A work item moves a box of `other` by `slots` elements.  Where memory runs along `other` on one side and along
`slots` on the other, it turns the box in its registers, so that both sides have wide accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Region, SSAValue

from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Dim, layer_over
from imbrex.index.rule import Embed, PassThrough
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, memref
from imbrex.view.copy.boxes import Boxes

__all__ = ["Body", "Registers", "boxed", "copy", "launch", "workspace"]

Body: TypeAlias = Callable[[Run, Sequence[SSAValue]], None]
"""What a work item does, given its position in the launch, and the shared memory where it wants some."""


def workspace(hint: str, element: Attribute, dims: Sequence[Dim], run: Run) -> SSAValue:
    """Global memory with these dims."""
    op = WorkspaceOp.build(result_types=[memref(element, [d.size for d in dims])])
    op.result.name_hint = hint
    return run.add(op).result


def boxed(of: Boxes, source: SSAValue, dest: SSAValue, hint: str) -> Body:
    """A work item's box, from one view by (workgroup, workitem, other, slot) to the other."""
    box = Registers(of.items.other, of.items.slots, element_of(source), of.items.turns, of.step)

    def body(into: Run, coords: Sequence[SSAValue]) -> None:
        read, across, along = box.alloc(into, hint)
        into.add(copy(source, coords[:2], read, []))
        if across is not along:
            into.add(copy(across, [], along, []))
        into.add(copy(along, [], dest, coords[:2]))

    return body


@dataclass(frozen=True)
class Registers:
    """What a work item moves at once: `slots` neighbours of the packed array by `other` of the plain one, of
    which it reads `step` times as many.
    """

    other: int
    slots: int
    element: Attribute
    turns: bool = True
    step: int = 1

    def alloc(self, into: Run, hint: str) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Registers for the box, seen as (other, slot): what is read, and what of it is moved, both with
        neighbours along other, and that along slot; one buffer where there is nothing to turn.
        """
        along = into.alloc(f"thread_{hint}", self.element, [self.other, self.slots], PRIVATE)
        if self.other * self.step == 1 or not self.turns:
            return along, along, along
        count = self.other * self.step
        across = into.alloc(f"thread_{hint}_turned", self.element, [self.slots, count], PRIVATE)
        dims, kept = (Dim("slot", self.slots), Dim("other", count)), (PassThrough(), "slot", "slot")
        names = ("other", "slot")
        turned = layer_over(dims, *((PassThrough(), n, n) for n in names))
        read = into.view(across, [turned], f"thread_{hint}_turned")
        if self.step == 1:
            return read, read, along
        every = (Embed((self.step,)), "other", "other")
        moved = into.view(across, [layer_over(dims, every, kept, other=self.other)], f"thread_{hint}_kept")
        return read, moved, along


def launch(workgroups: int, workitems: int, body: Body, run: Run) -> None:
    """`body` for each work item; its position is (workgroup, work item)."""
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
