"""RowTaps: the taps of a row of a window, whose pixels a tile reads once.

`abreast` is a raster whose fastest digit is the image, of so many: pixels of a tap are then those of the tap
before it, a fixed number of gemmN further on, whatever the line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.raster import RasterDirection, RasterProduct, axes_of, least_line
from imbrex.view.gemm.product import GemmView

__all__ = ["RowTaps", "abreast", "row_taps"]

ORDER: Final = "several line column one"
"""Digits of gemmN, the image among so many last."""


@dataclass(frozen=True)
class RowTaps:
    """See the module's first lines.

    count: of them, the digit of gemmK above `channels`, its fastest.  step: of gemmN, from the pixels of a
    tap to those of the next; negative where the next tap reads the pixels before.
    Law: B[(.., tap, c), n] = B[(.., 0, c), n + tap * step] for every n that is stored.
    """

    count: int
    channels: int
    step: int

    def __post_init__(self) -> None:
        assert self.count > 1 and self.channels > 0 and self.step != 0, self


def row_taps(conv: Convolution, direction: RasterDirection, images: int) -> RowTaps | str:
    """The taps of a row of windows over so many images abreast; or why a tile does not read pixels once."""
    if conv.strides != (1, 1):
        return f"strides {conv.strides[0]} x {conv.strides[1]}: neighbouring windows are not one pixel apart"
    if conv.width.window == 1:
        return "a row of one tap is read once anyway"
    read, name = (conv.input, "c") if direction == "forward" else (conv.output, "k")
    written = conv.output if direction == "forward" else conv.input
    if read[-1].name != name or written[-1].name not in ("c", "k"):
        return "channels do not come last in memory, in both images"
    step = images * conv.width.dilation
    channels = dict(read)[name]
    return RowTaps(conv.width.window, channels, step if direction == "forward" else -step)


def abreast(conv: Convolution, direction: RasterDirection, images: int) -> GemmView:
    """The gemm of a raster of which so many images lie abreast; gemmK is (row, tap of it, channel)."""
    height, width = axes_of(conv, direction)
    shape = height.out, least_line(width)
    return RasterProduct(conv, direction, *shape, together=images, order=ORDER).view
