"""whole_images: pointwise convolutions of images whose planes are no whole rows of shared memory.

    array     [n, c, hi, wi]
    pixel     (n, position)       positions of an image, counted up; those too many do not exist

    direction         gemmM      gemmN      gemmK
    forward           k          pixel      c
    backward data     c          pixel      k
    backward weight   k          c          pixel

A row of shared memory stays in an image, where every plane ends.
Law: these are the products of `view.conv`, with zeros between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from imbrex.index.map import Dim, Entry, Layer, Map, layer_over, replacing
from imbrex.index.rule import Merge, Pad, PassThrough
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.gemm.product import GemmView

__all__ = ["NOT_SERVED", "WholeImages", "serves"]

NOT_SERVED: Final = (
    "only pointwise convolutions of one group serve, of planes of whole 16 bytes but not of whole rows of 128"
)
STRIDE_BYTES: Final = 16
"""What tensor maps want strides to be multiples of."""
ROW_BYTES: Final = 128
"""Longest row of shared memory."""


def serves(conv: Convolution, element_bytes: int) -> bool:
    """Is it pointwise, of one group, of planes that tensor maps step by but that fill no whole rows?"""
    axes = (conv.height, conv.width)
    if conv.is_grouped or any((x.window, x.stride, x.before, x.after) != (1, 1, 0, 0) for x in axes):
        return False
    arrays = (("c", conv.input, "hi", "wi"), ("k", conv.output, "ho", "wo"))
    if any([d.name for d in array[-3:]] != [channel, *rows] for channel, array, *rows in arrays):
        return False
    plane = prod(axis.out for axis in axes) * element_bytes
    return plane % STRIDE_BYTES == 0 and plane % ROW_BYTES != 0


@dataclass(frozen=True)
class WholeImages:
    """multiple: of an image's positions."""

    conv: Convolution
    multiple: int

    @property
    def forward(self) -> GemmView:
        return GemmView(
            a=self._filter(gemmK="c", gemmM="k"),
            b=self._images(self.conv.input, gemmK="c", gemmN="n at"),
            c=self._images(self.conv.output, gemmM="k", gemmN="n at"),
        )

    @property
    def backward_data(self) -> GemmView:
        return GemmView(
            a=self._filter(gemmK="k", gemmM="c"),
            b=self._images(self.conv.output, gemmK="k", gemmN="n at"),
            c=self._images(self.conv.input, gemmM="c", gemmN="n at"),
        )

    @property
    def backward_weight(self) -> GemmView:
        return GemmView(
            a=self._images(self.conv.output, gemmK="n at", gemmM="k"),
            b=self._images(self.conv.input, gemmK="n at", gemmN="c"),
            c=self._filter(gemmM="k", gemmN="c"),
        )

    def _filter(self, **gemm: str) -> Map:
        """The filter of one tap."""
        below = replacing(self.conv.filter, (Merge(), "c", "c y x"))
        return Map((_numbered(below.upper, gemm), below))

    def _images(self, array: Sequence[Dim], **gemm: str) -> Map:
        """An array of images, their positions counted up."""
        *_, rows, columns = (d.name for d in array)
        planes = replacing(array, (Merge(), "at", f"{rows} {columns}"))
        extra = -dict(planes.upper)["at"] % self.multiple
        counted = replacing(planes.upper, (Pad(0, extra), "at", "at"))
        return Map((_numbered(counted.upper, gemm), counted, planes))


def _numbered(dims: Sequence[Dim], gemm: dict[str, str]) -> Layer:
    entries: list[Entry] = [
        (Merge() if " " in parts else PassThrough(), name, parts) for name, parts in gemm.items()
    ]
    return layer_over(dims, *entries)
