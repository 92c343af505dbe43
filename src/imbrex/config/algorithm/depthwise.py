"""Convolutions of groups of few channels: depthwise ones, which lanes multiply, and what vectors multiply."""

from __future__ import annotations

from typing import Final

from imbrex.config.algorithm.task import ConvTask
from imbrex.config.strips import MOST_ROW_BYTES, Shape, filter_row_bytes, has_whole_strides, is_served
from imbrex.dtype import F32, DType

__all__ = ["FEW_CHANNELS", "has_window_vectors", "is_depthwise", "is_lanes_own", "strips_shape"]


FEW_CHANNELS: Final = 32
"""Channels of a group whose product is full register tiles: vectors of windows would not be faster."""


def is_depthwise(task: ConvTask) -> bool:
    """Has each group one channel and one filter, with a window that lanes take?"""
    sizes = dict(task.conv.filter)
    return task.conv.is_grouped and sizes["k"] == sizes["c"] == 1 and is_served(strips_shape(task))


def has_window_vectors(task: ConvTask) -> bool:
    """Has it groups of few channels, with windows that vectors take?"""
    sizes = dict(task.conv.filter)
    if not task.conv.is_grouped or max(sizes["k"], sizes["c"]) > FEW_CHANNELS:
        return False
    if not is_served(strips_shape(task)):
        return False
    if task.direction == "backward_weight":
        return filter_row_bytes(strips_shape(task), sizes["k"]) <= MOST_ROW_BYTES
    return task.direction == "forward" or has_whole_strides(strips_shape(task))


def is_lanes_own(dtype: DType) -> bool:
    """Do lanes multiply depthwise convolutions of it: floats, summed as f32 and stored as they are read?"""
    return dtype.accumulator == F32 and dtype.output == dtype


def strips_shape(task: ConvTask) -> Shape:
    """The convolution as work items that have strips of it see it."""
    return Shape(task.conv, task.direction, task.dtype.bytes)
