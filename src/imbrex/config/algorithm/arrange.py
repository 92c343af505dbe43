"""Arranging: a convolution becomes one of views and copies of its arrays, before it becomes products.

    merge_groups, channels_last, window_rows      ConvTask -> Arrangement

What an Arrangement says is emitted by the pass of that name, and priced by its launches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from imbrex.config.algorithm.channels_last import (
    COPIED,
    copy_of,
    sampled_input,
    spread,
    unpacked_tiles,
    whole_steps,
)
from imbrex.config.algorithm.few_channels import rows_of
from imbrex.config.algorithm.groups import copies_of
from imbrex.config.algorithm.product import Launch, copied
from imbrex.config.algorithm.task import ConvTask
from imbrex.config.tuning import Tuning
from imbrex.index.map import Layer
from imbrex.problem.layout import ROLES, Role
from imbrex.view.conv.group_merge import GroupMerge
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.copy.boxes import ArrayCopy, Boxes
from imbrex.view.copy.channels_last import ChannelsLast

__all__ = ["Arranged", "Arrangement", "channels_last", "merge_groups", "window_rows"]

Seen: TypeAlias = Mapping[Role, tuple[Layer, ...]]
Copied: TypeAlias = Mapping[Role, ArrayCopy]


@dataclass(frozen=True)
class Arrangement:
    """conv: what is computed of the other arrays.  seen: those that are views, as layers over what there was,
    or over a copy of it.  copied: those that are copies, and how; of the array that is written, how the copy
    comes back.

    merged: so many groups are one; None where that does not change.  copies_key: the copies that are wanted
    next, a key of `channels_last.COPIED`.
    """

    conv: Convolution
    seen: Seen
    copied: Copied
    merged: int | None = None
    copies_key: str | None = None

    def task(self, of: ConvTask) -> ConvTask:
        """The convolution that is left of the one that was arranged."""
        filters, images, results = (
            (*self.seen.get(role, ()), *(() if role in self.copied else of.layers(role))) for role in ROLES
        )
        merged = of.merged if self.merged is None else self.merged
        return replace(of, conv=self.conv, merged=merged, below=(filters, images, results))


@dataclass(frozen=True)
class Arranged:
    """task: what is to become products.  before, after: launches on both sides of these.  copies_key: see
    `Arrangement`.
    """

    task: ConvTask
    before: tuple[Launch, ...] = ()
    after: tuple[Launch, ...] = ()
    copies_key: str | None = None

    def then(self, step: Arrangement) -> Arranged:
        """This, arranged once more."""
        task, before, after = self.task, self.before, self.after
        read: Copied = {role: how for role, how in step.copied.items() if role != task.written}
        if read:
            ends = [end for role, how in read.items() for end in copied(how, task.layers(role), task.dtype)]
            before = (*before, Launch(tuple(ends)))
        if back := step.copied.get(task.written):
            plain, packed = copied(back, task.layers(task.written), task.stored)
            after = (*after, Launch((packed, plain)))
        return Arranged(step.task(task), before, after, step.copies_key)


def merge_groups(
    task: ConvTask, count: int, is_halo: bool, given: Tuning | None, in_place: bool | None = None
) -> Arrangement:
    """`count` groups as one.  A filter that is read is copied, with zeros; other arrays are seen so.

    is_halo, given, in_place: see `groups.copies_of`.
    """
    merges: dict[Role, GroupMerge] = {role: GroupMerge(task.array(role), count) for role in ROLES}
    arrays = {role: of.merged for role, of in merges.items()}
    copies = dict[Role, ArrayCopy]()
    if not task.is_backward_weight:
        arrays["filter"], placed = merges["filter"].ordered(last="k" if task.is_backward_data else "c")
        whole = ChannelsLast(arrays["filter"], arrays["filter"][-1].name)
        copies["filter"] = Boxes(placed, whole.items(task.dtype.bytes))
    seen: Seen = {role: of.map.layers for role, of in merges.items() if role not in copies}
    step = Arrangement(replace(task.conv, **arrays), seen, copies, count if is_halo else 1)
    return replace(step, copies_key=copies_of(step.task(task), is_halo, given, in_place))


def channels_last(task: ConvTask, key: str, multiple: int = 1) -> Arrangement:
    """Copies of the arrays that a key of `COPIED` asks for, their channels fastest: of an input whose windows
    leave out a part, of what they read; nothing where there is nothing to copy.

    multiple: what the product counts the channels of each tap up to.
    """
    packed, small = whole_steps(COPIED[key](task), task, multiple), sampled_input(task)
    copies, seen = dict[Role, ArrayCopy](), dict[Role, tuple[Layer, ...]]()
    for role, array in packed.items():
        if role == task.written:
            tiles = unpacked_tiles(array, task)
            assert tiles is not None, array
            copies[role] = tiles
            continue
        how = copy_of(array, task.dtype.bytes, small if role == "input" else None)
        copies[role] = how
        if below := spread(array, task, multiple):
            copies[role], seen[role] = replace(how, below=below), below
    conv = task.conv if small is None else small.conv
    return Arrangement(replace(conv, **{role: of.packed for role, of in packed.items()}), seen, copies)


def window_rows(task: ConvTask) -> Arrangement | None:
    """Copies whose window rows are one stretch; the gradient of a filter is seen without what is too much.
    None where a convolution is not served.
    """
    rows = rows_of(task)
    if rows is None:
        return None
    image: Copied = {rows.image: rows.image_copy}
    seen: Seen = {rows.image: rows.rows.layers}
    if task.is_backward_weight:
        return Arrangement(rows.copied, {"filter": rows.filter.layers, **seen}, image)
    return Arrangement(rows.copied, seen, {"filter": rows.filter_copy, **image})
