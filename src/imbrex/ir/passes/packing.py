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
from imbrex.index.rule import Embed, Pad, PassThrough, Rule
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import PRIVATE, element_of, memref
from imbrex.view.data_tiled import VECTOR_BYTES, Items

__all__ = ["Packing", "Registers", "copy", "launch", "pack", "pack_all", "workspace"]

Body = Callable[[Run, Sequence[SSAValue]], None]


def workspace(hint: str, element: Attribute, dims: Sequence[Dim], run: Run) -> SSAValue:
    """Global memory with these dims."""
    op = WorkspaceOp.build(result_types=[memref(element, [d.size for d in dims])])
    op.result.name_hint = hint
    return run.add(op).result


def pack(array: SSAValue, packed: SSAValue, placed: Map, items: Items, hint: str, run: Run) -> None:
    """A launch that fills the packed array.  placed: packed -> array; zeros where that is guarded."""
    pack_all([Packing(array, packed, placed, items, hint)], run)


@dataclass(frozen=True)
class Packing:
    """An array, the one that is filled from it, the map from this to that, who moves what.

    wide: (workgroup, workitem, other, slot) -> array, where a work item reads `step` times as many neighbours
    as it moves, and keeps the first of each `step`; else None.
    """

    array: SSAValue
    packed: SSAValue
    placed: Map
    items: Items
    hint: str
    wide: Map | None = None
    step: int = 1


def pack_all(packings: Sequence[Packing], run: Run) -> None:
    """One launch for all of them, whose workgroups follow one another."""
    counts = [p.items.workgroups for p in packings]
    moves = [_moves(p, sum(counts[:i]), sum(counts), run) for i, p in enumerate(packings)]

    def body(into: Run, place: Sequence[SSAValue]) -> None:
        for move in moves:
            move(into, place)

    (workitems,) = {p.items.workitems for p in packings}
    launch(sum(counts), workitems, body, run)


def _moves(of: Packing, before: int, workgroups: int, run: Run) -> Body:
    """What a work item does for one array, if its workgroup is one of the array's: those from `before` on."""
    items, hint, element = of.items, of.hint, element_of(of.array)
    others = workgroups - items.workgroups
    rules: dict[str, Rule] = {"workgroup": Pad(before, others - before)} if others else {}
    entries = [(rules.get(d.name, PassThrough()), d.name, d.name) for d in items.map.upper]
    own = (layer_over(items.map.upper, *entries),) if others else ()
    read = of.wide or items.map.then(of.placed)
    all_read = [(rule, name, name) for (rule, name, _), _ in zip(entries, read.upper, strict=True)]
    source = run.view(
        of.array, (*((layer_over(read.upper, *all_read),) if others else ()), *read.layers), hint
    )
    dest = run.view(of.packed, (*own, *items.map.layers), f"packed_{hint}")
    box = Registers(items.other, items.slots, element, items.turns, of.step)

    def body(into: Run, place: Sequence[SSAValue]) -> None:
        read, across, along = box.alloc(into, hint)
        into.add(copy(source, place, read, []))
        if across is not along:
            into.add(copy(across, [], along, []))
        into.add(copy(along, [], dest, place))

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
