"""Arranging: a convolution becomes one of merged groups, or of copies, before it becomes products.

Each function is what the pass of its name does to an operation, as a function of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from imbrex.config.algorithm.channels_last import COPIED, copy_of, sampled_input, unpacked_tiles
from imbrex.config.algorithm.few_channels import rows_of
from imbrex.config.algorithm.groups import copies_of
from imbrex.config.algorithm.product import End, Launch, reached
from imbrex.config.algorithm.task import ROLES, ConvTask, Role
from imbrex.config.tuning import Tuning
from imbrex.index.map import Dim, Layer, Map
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.channels_last import ChannelsLast

__all__ = ["Arranged", "channels_last", "merge_groups", "window_rows"]

Arrays: TypeAlias = Mapping[Role, tuple[Dim, ...]]
Below: TypeAlias = Mapping[Role, tuple[Layer, ...]]


@dataclass(frozen=True)
class Arranged:
    """task: what is to become products.  before, after: launches on both sides of these.  asks: the copies
    that a step wants of the next one, a key of `channels_last.COPIED`.
    """

    task: ConvTask
    before: tuple[Launch, ...] = ()
    after: tuple[Launch, ...] = ()
    copies_key: str | None = None


def merge_groups(of: Arranged, count: int, is_halo: bool, given: Tuning | None) -> Arranged:
    """`count` groups as one.  A filter that is read is copied, with zeros; other arrays are seen so."""
    task, arrays, below = of.task, dict[Role, tuple[Dim, ...]](), dict[Role, tuple[Layer, ...]]()
    before = of.before
    for role in ROLES:
        merge = GroupMerge(task.array(role), count)
        if role == "filter" and not task.is_backward_weight:
            dims, placed = merge.ordered(last="k" if task.is_backward_data else "c")
            items, size = ChannelsLast(dims, dims[-1].name).items(task.dtype.bytes), task.dtype.bytes
            read = reached(items.map.then(placed), task.layers(role))
            before = (*before, Launch((End(read, size), End(items.map, size))))
            arrays[role], below[role] = dims, ()
        else:
            arrays[role], below[role] = merge.merged, (*merge.map.layers, *task.layers(role))
    made = replace(_with(task, arrays, below), merged=count if is_halo else 1)
    return Arranged(made, before, of.after, copies_of(made, is_halo, given))


def channels_last(of: Arranged, key: str) -> Arranged:
    """Copies of the arrays that the key asks for, their channels fastest; of the result, one copied back."""
    task, small = of.task, sampled_input(of.task)
    packed = COPIED[key](task)
    assert packed, (key, task)
    conv = task.conv if small is None else small.conv
    seen = task if small is None else _with(
        replace(task, conv=conv), {}, {"input": (*small.map.layers, *task.layers("input"))}
    )  # fmt: skip
    ends, after, size = list[End](), of.after, task.dtype.bytes
    for role, array in packed.items():
        if role == task.written:
            tiles = unpacked_tiles(array, task)
            assert tiles is not None, array
            result = End(reached(tiles.read, task.layers(role)), task.stored.bytes)
            after = (*after, Launch((End(tiles.written, task.stored.bytes), result)))
            continue
        copy = copy_of(array, size, small if role == "input" else None)
        is_of_view = isinstance(copy, Boxes) and copy.wide is None
        ends += [
            End(reached(copy.read, (seen if is_of_view else task).layers(role)), size),
            End(copy.written, size),
        ]
    before = (*of.before, Launch(tuple(ends))) if ends else of.before
    copied: Arrays = {role: array.packed for role, array in packed.items()}
    alone: Below = dict.fromkeys(packed, ())
    return Arranged(_with(seen, copied, alone), before, after)


def window_rows(of: Arranged) -> Arranged:
    """Copies whose window rows are one stretch; the gradient of a filter is seen without what is too much."""
    task, found = of.task, rows_of(of.task)
    assert found is not None, task
    maps: dict[Role, Map] = {"filter": found.filter, "input": found.input}
    ends, below, size = list[End](), dict[Role, tuple[Layer, ...]](), task.dtype.bytes
    for role, map in maps.items():
        if role == task.written:
            below[role] = (*map.layers, *task.layers(role))
            continue
        items = found.items(map.upper)
        ends += [
            End(reached(items.map.then(map), task.layers(role)), size),
            End(items.map, size),
        ]
        below[role] = ()
    copied: Arrays = {role: map.upper for role, map in maps.items()}
    made = _with(replace(task, conv=replace(task.conv, padding=((0, 0), (0, 0)))), copied, below)
    return Arranged(made, (*of.before, Launch(tuple(ends))), of.after)


def _with(task: ConvTask, arrays: Arrays, below: Below) -> ConvTask:
    """The task with other arrays, and other layers below them."""
    dims = {role: arrays.get(role, task.array(role)) for role in ROLES}
    filters, images, results = (below.get(role, task.layers(role)) for role in ROLES)
    conv: Convolution = replace(task.conv, filter=dims["filter"], input=dims["input"], output=dims["output"])
    return replace(task, conv=conv, below=(filters, images, results))
