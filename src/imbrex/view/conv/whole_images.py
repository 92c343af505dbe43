"""whole_images: pointwise convolutions of images whose planes are no whole rows of shared memory.

    array     [n, c, hi, wi]
    pixel     (n, position)       positions of an image, counted up; those too many do not exist

Such an image is one of a single row, and the products are those of `view.conv.implicit_gemm`.
A row of shared memory stays in an image, where every plane ends.
Law: these are the products of the convolution, with zeros between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final, Literal

from imbrex.chip import VECTOR_BYTES
from imbrex.index.map import Dim, Map
from imbrex.index.rule import Merge, Pad, Unmerge
from imbrex.index.stack import over
from imbrex.view.conv.implicit_gemm import Convolution, backward_data_v4r1, backward_weight, forward
from imbrex.view.conv.raster import RasterDirection
from imbrex.view.gemm.product import GemmView
from imbrex.view.stage.shared_tile import SWIZZLES

__all__ = ["NOT_SERVED", "serves", "whole_images"]

NOT_SERVED: Final = (
    "only pointwise convolutions of one group serve, without strides, "
    "of planes of whole 16 bytes but not of whole rows of 128"
)


def serves(conv: Convolution, element_bytes: int) -> bool:
    """Is it pointwise, of one group, of planes that tensor maps step by but that fill no whole rows?"""
    axes = (conv.height, conv.width)
    if conv.is_grouped or any((x.window, x.stride, x.before, x.after) != (1, 1, 0, 0) for x in axes):
        return False
    arrays = (("c", conv.input, "hi", "wi"), ("k", conv.output, "ho", "wo"))
    if any([d.name for d in array[-3:]] != [channel, *rows] for channel, array, *rows in arrays):
        return False
    plane = prod(axis.out for axis in axes) * element_bytes
    return plane % VECTOR_BYTES == 0 and plane % SWIZZLES[0] != 0


def whole_images(
    conv: Convolution, direction: RasterDirection | Literal["backward_weight"], multiple: int
) -> GemmView:
    """The product of a convolution that is served, whose images have a multiple of so many positions."""
    input, output = (_flat(array, multiple) for array in (conv.input, conv.output))
    flat = replace(conv, input=input.upper, output=output.upper)
    match direction:
        case "forward":
            view = forward(flat)
        case "backward_data":
            (view,) = backward_data_v4r1(flat)
        case "backward_weight":
            view = backward_weight(flat)
    below = {map.upper: map for map in (input, output)}
    a, b, c = (x.then(below[x.lower]) if x.lower in below else x for x in (view.a, view.b, view.c))
    return GemmView(a, b, c)


def _flat(array: Sequence[Dim], multiple: int) -> Map:
    """Images of one row each, of all of an image's positions, over an array."""
    *_, rows, columns = (d.name for d in array)
    planes = over(array).replacing((Merge(), "at", f"{rows} {columns}"))
    counted = planes.replacing((Pad(0, -planes.upper[-1].size % multiple), "at", "at"))
    sizes = {rows: 1, columns: counted.upper[-1].size}
    return counted.replacing((Unmerge(), " ".join(sizes), "at"), order=None, **sizes).map
