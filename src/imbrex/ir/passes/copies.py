"""Copies of arrays in workspaces, filled by one launch whose workgroups follow one another.

    %packed_filter = workspace   %packed_input = workspace
    launch: %packed_filter = %filter, by the first workgroups; %packed_input = %input, by those after them

How an array is copied is a value, see `view.copy.boxes`: boxes go through registers, tiles through shared
memory.  Where one of the arrays wants shared memory, a workgroup does its own array's part and no other's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from imbrex.index.map import Dim, Layer, layer_over
from imbrex.index.rule import Pad, PassThrough, Rule
from imbrex.ir.ops.memory import LdsBarrierOp
from imbrex.ir.ops.schedule import WithinOp
from imbrex.ir.passes.packing import Body, boxed, launch, workspace
from imbrex.ir.passes.plane_packing import turned
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import LDS, element_of
from imbrex.view.copy.boxes import ArrayCopy, Boxes

__all__ = ["copied"]


def copied(
    arrays: Mapping[str, SSAValue],
    copies: Mapping[str, ArrayCopy],
    run: Run,
    word: str = "packed",
) -> dict[str, SSAValue]:
    """Copies of arrays, by role.  word: what their names begin with."""
    found = {
        role: workspace(f"{word}_{role}", element_of(arrays[role]), how.written.lower, run)
        for role, how in copies.items()
    }
    if not copies:
        return found
    counts = [dict(how.read.upper)["workgroup"] for how in copies.values()]
    (workitems,) = {dict(how.read.upper)["workitem"] for how in copies.values()}
    starts = [sum(counts[:i]) for i, _ in enumerate(counts)]
    moves = [
        _moves(how, arrays[role], found[role], role, (start, sum(counts)), run)
        for start, (role, how) in zip(starts, copies.items(), strict=True)
    ]
    shared = [
        0 if isinstance(how, Boxes) else prod(d.size for d in how.tile.shared) for how in copies.values()
    ]
    (element,) = {element_of(array) for array in found.values()}

    def body(into: Run, coords: Sequence[SSAValue]) -> None:
        most = max(shared)
        memory = [into.alloc("shared_planes", element, [most], LDS)] if most else []
        for i, move in enumerate(moves):
            if not most or len(moves) == 1:
                move(into, [*coords, *memory])
                continue
            is_later = shared[i] > 0 and any(shared[:i])
            _once(coords[0], starts[i], counts[i], into, partial(_apart, move, [*coords, *memory], is_later))

    launch(sum(counts), workitems, body, run)
    return found


def _moves(
    how: ArrayCopy, array: SSAValue, copy: SSAValue, role: str, among: tuple[int, int], run: Run
) -> Body:
    """What a work item does of an array.  among: the workgroups before its own, and all of the launch."""
    read, written = how.read, how.written
    source = run.view(array, (*_part_of(read.upper, *among), *read.layers), role)
    dest = run.view(copy, (*_part_of(written.upper, *among), *written.layers), f"packed_{role}")
    return boxed(how, source, dest, role) if isinstance(how, Boxes) else turned(how.tile, source, dest, role)


def _part_of(dims: Sequence[Dim], before: int, workgroups: int) -> tuple[Layer, ...]:
    """The same dims of a launch of so many workgroups, of which these come after `before`; nothing where they
    are all.
    """
    others = workgroups - dict(dims)["workgroup"]
    rules: dict[str, Rule] = {"workgroup": Pad(before, others - before)} if others else {}
    entries = [(rules.get(d.name, PassThrough()), d.name, d.name) for d in dims]
    return (layer_over(dims, *entries),) if others else ()


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
