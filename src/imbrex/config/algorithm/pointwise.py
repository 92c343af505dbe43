"""Convolutions of one tap that are products of whole images, see `view.conv.whole_images`."""

from __future__ import annotations

from dataclasses import replace

from imbrex.config.algorithm.phases import are_apart
from imbrex.config.algorithm.task import ConvTask
from imbrex.index.map import Dim
from imbrex.view.conv.implicit_gemm import Convolution, phases
from imbrex.view.conv.whole_images import serves
from imbrex.view.copy.sampled import sampled

__all__ = ["is_served", "pointwise_of"]


def pointwise_of(task: ConvTask) -> Convolution:
    """The convolution, or, where windows of one tap leave out some of the input, that of what they do not."""
    shape = task.conv
    if are_apart(task):
        found = list(phases(shape))
        if len(found) != 1:
            return shape
        rows, columns = found[0]
        if (rows.extent, columns.extent) != (shape.height.out, shape.width.out):
            return shape
        sizes = {"hi": rows.extent, "wi": columns.extent}
        dense = tuple(Dim(d.name, sizes.get(d.name, d.size)) for d in shape.input)
        return replace(shape, input=dense, strides=(1, 1), padding=((0, 0), (0, 0)))
    if task.is_backward_weight and (small := sampled(shape)) and small.step > 1:
        return small.conv
    return shape


def is_served(task: ConvTask) -> bool:
    """See `view.conv.whole_images.serves`."""
    return serves(pointwise_of(task), task.dtype.bytes)
