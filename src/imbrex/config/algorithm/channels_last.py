"""Which arrays of a convolution are copied so that their channels run fastest, and whether that is worth it.

Law: the channels of what is copied are rounded up to whole packs of VECTOR_BYTES.  Where a sum runs over
channels, both that it reads have the same number of them; backward weight sums over positions, and each array
has its own.  Where products count the channels of each tap up to more than that, and copies have to add some
anyway, these have all of them; where they add none, they begin as far apart: then rows of shared memory begin
on sectors, and go over the ends of few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import gcd, lcm
from typing import Final, TypeAlias

from imbrex.chip import SECTOR_BYTES, VECTOR_BYTES
from imbrex.config.algorithm.task import READ, ConvTask
from imbrex.index.map import Dim, Layer, Map
from imbrex.index.query import vector_width
from imbrex.problem.layout import Role
from imbrex.view.conv import implicit_gemm
from imbrex.view.copy.boxes import ArrayCopy, Boxes
from imbrex.view.copy.channels_last import ChannelsLast, is_channels_last
from imbrex.view.copy.plane_tiles import PlaneTiles, line_tiles, plane_tiles
from imbrex.view.copy.sampled import Sampled, sampled

__all__ = [
    "ALL_READ", "ALREADY", "COPIED", "RESULT_STAYS", "Packed", "copy_of", "packed_alone", "packed_arrays",
    "pays", "sampled_input", "spread", "unpacked_tiles", "whole_steps",
]  # fmt: skip

MOST_BETWEEN: Final = 0.25
"""Share of their channels that may lie between pixels that begin on steps of K: 48 channels as far apart as
64 took an H200 up to 1.37 of the time, 80 as far as 96 took 0.85 to 0.9.
"""
ALREADY: Final = f"channels run fastest in all that is read, in whole packs of {VECTOR_BYTES} bytes"
RESULT_STAYS: Final = "the result's planes are whole 16 bytes, or its channels are not, or come last"
LEAST_LOAD: Final = 4
"""Bytes of neighbours with which a work item does well enough without a copy."""

Packed: TypeAlias = dict[Role, ChannelsLast]


def packed_arrays(task: ConvTask) -> Packed:
    """What is copied, by role; empty where all that is read can be read 16 bytes at a time."""
    small = sampled_input(task)
    arrays: dict[Role, tuple[Dim, ...]] = {role: task.array(role) for role in READ[task.direction]}
    if small is not None and "input" in arrays:
        arrays["input"] = small.conv.input
    multiple = max(1, VECTOR_BYTES // task.dtype.bytes)
    found: Packed = {
        role: ChannelsLast(arrays[role], name, multiple) for role, name in READ[task.direction].items()
    }
    rounded = {r for r, of in found.items() if of.packed[-1].size != dict(of.array)[of.channel]}
    if rounded and not task.is_backward_weight:
        return found
    return {r: of for r, of in found.items() if r in rounded or not is_channels_last(of.array, of.channel)}


def packed_alone(task: ConvTask, role: Role) -> Packed:
    """The copy of one array, where the other is to be read as it is; empty where not both would be copied,
    or the other is the input and not all of it is read.
    """
    packed = packed_arrays(task)
    is_read_as_it_is = role == "input" or sampled_input(task) is None
    if not task.is_backward_weight or not {"input", "output"} <= set(packed) or not is_read_as_it_is:
        return {}
    return {role: packed[role]}


def packed_all(task: ConvTask) -> Packed:
    """All that is read, where it has other channels last, and the result, whose planes begin anywhere; empty
    where they do not, or an epilogue finishes what is stored.
    """
    role = task.written
    array, channel = task.array(role), "k" if role == "output" else "c"
    if task.finishing or is_channels_last(array, channel):
        return {}
    packed = ChannelsLast(array, channel)
    if unpacked_tiles(packed, task) is None:
        return {}
    return {**packed_arrays(task), role: packed}


def whole_steps(packed: Packed, task: ConvTask, multiple: int) -> Packed:
    """The same of as many channels as the product counts at each tap, a multiple of so many, where copies add
    some and a window has several taps.
    """
    is_rounded = any(of.packed[-1].size != dict(of.array)[of.channel] for of in packed.values())
    taps = task.conv.height.window * task.conv.width.window
    if task.is_backward_weight or taps == 1 or not is_rounded:
        return packed
    return {
        role: of if role == task.written else replace(of, multiple=lcm(of.multiple, multiple))
        for role, of in packed.items()
    }


def spread(of: ChannelsLast, task: ConvTask, multiple: int) -> tuple[Layer, ...]:
    """Layers from a copy that is read to memory, in which pixels, and taps, begin a multiple of so many
    channels apart: where their channels are whole sectors, so that none is written in part, and what lies
    between is little.
    """
    taps, channels = task.conv.height.window * task.conv.width.window, of.packed[-1].size
    is_whole = channels * task.dtype.bytes % SECTOR_BYTES == 0
    is_little = -channels % multiple <= MOST_BETWEEN * channels
    return of.spread(multiple) if is_whole and is_little and taps > 1 and not task.is_backward_weight else ()


COPIED: Final[Mapping[str, Callable[[ConvTask], Packed]]] = {
    "channels_last": packed_arrays,
    "input_last": partial(packed_alone, role="input"),
    "output_last": partial(packed_alone, role="output"),
    "all_last": packed_all,
}
"""What each key of an operation asks to copy."""
ALL_READ: Final = ("channels_last", "all_last")
"""The keys that ask for all that is read."""


def pays(task: ConvTask) -> bool:
    """Is it worth the copies?  Where elements are narrow, the channels fill 16 bytes, and some array has
    fewer than LEAST_LOAD bytes of neighbours that a work item could load together.
    """
    size = task.dtype.bytes
    if size >= LEAST_LOAD or not packed_arrays(task):
        return False
    bytes_of = [dict(task.array(role))[name] * size for role, name in READ[task.direction].items()]
    if task.is_backward_weight and any(count % VECTOR_BYTES for count in bytes_of):
        return False
    return min(bytes_of) >= VECTOR_BYTES and _widest_load(task) * size < LEAST_LOAD


def sampled_input(task: ConvTask) -> Sampled | None:
    """What windows read of an input that is copied; None where that is all of it."""
    if task.is_backward_data or is_channels_last(task.conv.input, "c"):
        return None
    return sampled(task.conv)


def copy_of(of: ChannelsLast, element_bytes: int, small: Sampled | None = None) -> ArrayCopy:
    """How an array is copied: through shared memory, but for channels that are too few, or no whole 16 bytes.

    small: of an input of which windows read a part, that part.
    """
    within = None if small is None else small.within
    if small is None or within is not None:
        tiles = line_tiles(of, element_bytes, within) or plane_tiles(of, element_bytes, within)
        if tiles is not None:
            return tiles
    if small is None or small.step == 1:
        placed = of.placed if small is None else of.placed.then(small.map)
        return Boxes(placed, of.items(element_bytes))
    kept = gcd(small.conv.width.out, max(1, VECTOR_BYTES // (element_bytes * small.step)))
    items = of.items(element_bytes, most=kept)
    return Boxes(of.placed, items, small.wide(items.map.then(of.placed)), small.step)


def unpacked_tiles(of: ChannelsLast, task: ConvTask) -> PlaneTiles | None:
    """How a result is copied back through shared memory; None where that is not done."""
    return plane_tiles(of, task.stored.bytes)


def _widest_load(task: ConvTask) -> int:
    """Elements that lie together for both operands of the product as it is; of a gradient that no product
    writes, as many as nobody would copy for.
    """
    match task.direction:
        case "backward_weight":
            view = implicit_gemm.backward_weight(task.conv)
        case "backward_data":
            views = list(implicit_gemm.backward_data_v4r1(task.conv, taps_first=True))
            if not views:
                return LEAST_LOAD
            view = views[0]
        case "forward":
            view = implicit_gemm.forward(task.conv, taps_first=True)
    return min(_width(view.a, "gemmM"), _width(view.b, "gemmN"))


def _width(map: Map, free: str) -> int:
    return max(vector_width(map, name) for name in ("gemmK", free))
