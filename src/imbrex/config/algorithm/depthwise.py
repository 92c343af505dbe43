"""Depthwise convolutions, which lanes multiply."""

from __future__ import annotations

from imbrex.config.algorithm.task import ConvTask
from imbrex.config.strips import Shape, is_served
from imbrex.dtype import F32, DType

__all__ = ["has_window_vectors", "is_depthwise", "is_lanes_own", "strips_shape"]


def is_depthwise(task: ConvTask) -> bool:
    """Has each group one channel and one filter, with a window that lanes take?"""
    sizes = dict(task.conv.filter)
    return task.conv.is_grouped and sizes["k"] == sizes["c"] == 1 and is_served(strips_shape(task))


def has_window_vectors(task: ConvTask) -> bool:
    """Do the windows of a depthwise convolution move with what is written, as vectors of a CPU want them?"""
    return task.direction == "forward" or (task.is_backward_data and task.conv.strides == (1, 1))


def is_lanes_own(dtype: DType) -> bool:
    """Do lanes multiply depthwise convolutions of it: floats, summed as f32 and stored as they are read?"""
    return dtype.accumulator == F32 and dtype.output == dtype


def strips_shape(task: ConvTask) -> Shape:
    """The convolution as work items that have strips of it see it."""
    return Shape(task.conv, task.direction, task.dtype.bytes)
