"""Packing: launches that copy an array into a workspace in another order.

A work item moves a box of `other` by `slots` elements.  Where memory runs along `other` on one side and along
`slots` on the other, it turns the box in its registers, so that both sides have wide accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Region, SSAValue

from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Dim, Layer, Map, layer_over
from imbrex.index.rule import Embed, Pad, PassThrough, Rule
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.grid import LaunchOp
from imbrex.ir.ops.memory import LdsBarrierOp
from imbrex.ir.ops.schedule import WithinOp
from imbrex.ir.ops.thread import ThreadwiseCopyOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, PRIVATE, element_of, memref
from imbrex.view.copy.data_tiled import Items

__all__ = [
    "Body",
    "Copied",
    "Packing",
    "Registers",
    "copy",
    "launch",
    "pack",
    "pack_all",
    "part_of",
    "workspace",
]

Body = Callable[[Run, Sequence[SSAValue]], None]


def workspace(hint: str, element: Attribute, dims: Sequence[Dim], run: Run) -> SSAValue:
    """Global memory with these dims."""
    op = WorkspaceOp.build(result_types=[memref(element, [d.size for d in dims])])
    op.result.name_hint = hint
    return run.add(op).result


def pack(array: SSAValue, packed: SSAValue, placed: Map, items: Items, hint: str, run: Run) -> None:
    """A launch that fills the packed array.  placed: packed -> array; zeros where that is guarded."""
    pack_all([Packing(array, packed, placed, items, hint)], run)


class Copied(Protocol):
    """A launch's part for one array.

    shared: elements of memory that a workgroup wants for it, all of which it may overwrite.
    """

    @property
    def workgroups(self) -> int: ...

    @property
    def workitems(self) -> int: ...

    @property
    def shared(self) -> int: ...

    @property
    def array(self) -> SSAValue: ...

    def moves(self, before: int, workgroups: int, run: Run) -> Body:
        """What a work item does, if its workgroup is one of the array's: those from `before` on, of so many.
        After its place in the launch it is given the shared memory, where it wants some.
        """
        ...


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

    @property
    def workgroups(self) -> int:
        return self.items.workgroups

    @property
    def workitems(self) -> int:
        return self.items.workitems

    @property
    def shared(self) -> int:
        return 0

    def moves(self, before: int, workgroups: int, run: Run) -> Body:
        items, hint, element = self.items, self.hint, element_of(self.array)
        read = self.wide or items.map.then(self.placed)
        source = run.view(self.array, (*part_of(read.upper, before, workgroups), *read.layers), hint)
        own = part_of(items.map.upper, before, workgroups)
        dest = run.view(self.packed, (*own, *items.map.layers), f"packed_{hint}")
        box = Registers(items.other, items.slots, element, items.turns, self.step)

        def body(into: Run, coords: Sequence[SSAValue]) -> None:
            read, across, along = box.alloc(into, hint)
            into.add(copy(source, coords[:2], read, []))
            if across is not along:
                into.add(copy(across, [], along, []))
            into.add(copy(along, [], dest, coords[:2]))

        return body


def part_of(dims: Sequence[Dim], before: int, workgroups: int) -> tuple[Layer, ...]:
    """The same dims of a launch of so many workgroups, of which these come after `before`; nothing where they
    are all.
    """
    others = workgroups - dict(dims)["workgroup"]
    rules: dict[str, Rule] = {"workgroup": Pad(before, others - before)} if others else {}
    entries = [(rules.get(d.name, PassThrough()), d.name, d.name) for d in dims]
    return (layer_over(dims, *entries),) if others else ()


def pack_all(packings: Sequence[Copied], run: Run) -> None:
    """One launch for all of them, whose workgroups follow one another.  Where one of them wants shared
    memory, a workgroup does its own array's part and no other's.
    """
    counts = [p.workgroups for p in packings]
    starts = [sum(counts[:i]) for i, _ in enumerate(counts)]
    moves = [p.moves(start, sum(counts), run) for p, start in zip(packings, starts, strict=True)]
    most = max(p.shared for p in packings)

    def body(into: Run, coords: Sequence[SSAValue]) -> None:
        if not most or len(moves) == 1:
            more = [_shared(packings, most, into)] if most else []
            for move in moves:
                move(into, [*coords, *more])
            return
        memory = _shared(packings, most, into)
        for i, (part, move) in enumerate(zip(packings, moves, strict=True)):
            is_later = part.shared > 0 and any(p.shared for p in packings[:i])
            _once(coords[0], starts[i], counts[i], into, partial(_apart, move, [*coords, memory], is_later))

    (workitems,) = {p.workitems for p in packings}
    launch(sum(counts), workitems, body, run)


def _shared(packings: Sequence[Copied], elements: int, into: Run) -> SSAValue:
    (element,) = {element_of(p.array) for p in packings}
    return into.alloc("shared_planes", element, [elements], LDS)


def _apart(move: Body, coords: Sequence[SSAValue], is_later: bool, into: Run) -> None:
    """A part that shares memory with those before it."""
    if is_later:
        into.add(LdsBarrierOp.build())
    move(into, coords)


def _once(number: SSAValue, first: int, count: int, into: Run, body: Callable[[Run], None]) -> None:
    """The body where a number is one of `count` from `first` on."""
    given = properties({"first": first, "count": count})
    op = into.add(WithinOp.build(operands=[number], result_types=[IndexType()], properties=given))
    op.result.name_hint = "within"
    into.loop_between("once", into.index(0), op.result, 1, lambda run, _: body(run))


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
