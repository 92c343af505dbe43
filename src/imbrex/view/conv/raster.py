"""Raster: the pixels of a convolution of stride 1 as lines of one width; what is too much is not stored.

    result    n ho wo   ->  gemm's pixels  n, ho' >= ho, wo' >= wo:   what overhangs does not exist

Pixels and their window then have one distance in memory, image for image: a tile of whole lines is a box, and
so are the pixels that any tap of its windows wants, a few lines more.  A width is 8, 16, 32, or a multiple of
64, so that the 64 rows of an instruction are whole lines or a part of one.

Law: the products of the gemm that are stored are those of the convolution.  The lines need not hold a
window's last columns where these are padding, and the next line begins with as much of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from imbrex.index.map import Dim, Map
from imbrex.index.rule import Merge, Pad, Unmerge
from imbrex.index.stack import over
from imbrex.view.conv.implicit_gemm import Axis, Convolution, backward_data_v4r1, forward
from imbrex.view.gemm.product import GemmView

__all__ = [
    "Raster", "RasterDirection", "RasterProduct", "axes_of", "cropped", "least_line", "raster_of", "resized",
    "with_output",
]  # fmt: skip

RasterDirection = Literal["forward", "backward_data"]
NARROW: Final = (8, 16, 32)
WIDE: Final = 64
LINES: Final = "several line one column"


@dataclass(frozen=True)
class Raster:
    """images of height x width pixels that are computed; line: the raster's width.

    halo: further lines that the windows of some lines want.  spills: does the last column's window run over
    the end of a line?  channels, filters: those that a sum runs over, and those that are computed, of each
    group.  merged: groups that are one, with zeros between.
    """

    images: int
    height: int
    width: int
    line: int
    halo: int
    spills: bool
    taps: int
    channels: int
    filters: int
    groups: int
    merged: int = 1

    def loaded(self, lines: int) -> int:
        """Lines that a box brings for so many that are computed."""
        return lines + self.halo + self.spills


def raster_of(conv: Convolution, direction: RasterDirection) -> Raster | str:
    """How a convolution's pixels make a raster; or why they make none."""
    if conv.strides != (1, 1):
        return f"strides {conv.strides[0]} x {conv.strides[1]}: neighbouring windows are not one pixel apart"
    is_forward = direction == "forward"
    sizes = dict(conv.input) | dict(conv.output) | dict(conv.filter)
    h, w = axes_of(conv, direction)
    if h.window * w.window == 1:
        return "a window of one tap is read once anyway"
    least = least_line(w)
    line = next((n for n in NARROW if least <= n), -(-least // WIDE) * WIDE)
    return Raster(
        images=sizes["n"],
        height=h.out,
        width=w.out,
        line=line,
        halo=h.span,
        spills=line < w.out + w.span,
        taps=h.window * w.window,
        channels=sizes["c" if is_forward else "k"],
        filters=sizes["k" if is_forward else "c"],
        groups=sizes.get("g", 1),
    )


@dataclass(frozen=True)
class RasterProduct:
    """The gemm of a raster of `height` lines an image.

    together: images whose lines follow one another: the first line of each, the second of each, ..; images
    that are too many for their number do not exist.  order: of gemmN's digits, images by `together`, lines,
    columns and one of the images together.
    """

    conv: Convolution
    direction: RasterDirection
    height: int
    line: int
    channel_multiple: int = 1
    together: int = 1
    order: str = LINES

    @property
    def view(self) -> GemmView:
        conv, images = self.conv, dict(self.conv.input)["n"]
        if not (spare := -images % self.together):
            return self._whole(conv)
        more, arrays = {"n": images + spare}, self._images
        view = self._whole(replace(conv, **{name: resized(dims, more) for name, dims in arrays.items()}))
        maps = zip((view.b, view.c), arrays.values(), strict=True)
        b, c = (map.then(cropped(dims, more)) for map, dims in maps)
        return GemmView(view.a, b, c)

    @property
    def _images(self) -> dict[str, tuple[Dim, ...]]:
        """The array that is read, and the one that is written."""
        found = {"input": self.conv.input, "output": self.conv.output}
        return found if self.direction == "forward" else dict(reversed(found.items()))

    def _whole(self, conv: Convolution) -> GemmView:
        """The gemm of as many images as are together, or a multiple."""
        if self.direction == "forward":
            dims, wanted = conv.output, {"ho": self.height, "wo": self.line}
            view = forward(with_output(conv, wanted), True, self.channel_multiple)
        else:
            dims, wanted = conv.input, {"hi": self.height, "wi": self.line}
            grown = replace(conv, input=resized(dims, wanted))
            (view,) = backward_data_v4r1(grown, True, self.channel_multiple)
        b, c = view.b, view.c.then(cropped(dims, wanted))
        if self.together > 1:
            b, c = self._in_digits(b), self._in_digits(c)
        return GemmView(view.a, b, c)

    def _in_digits(self, map: Map) -> Map:
        """Pixels in the order of digits, slowest first."""
        images = dict(map.upper)["gemmN"] // (self.height * self.line)
        sizes = {"several": images // self.together, "one": self.together}
        sizes |= {"line": self.height, "column": self.line}
        digits = over(map).passing((Unmerge(), " ".join(sizes), "gemmN"), **sizes)
        return digits.replacing((Merge(), "gemmN", self.order), order=[d.name for d in map.upper]).map


def resized(dims: Sequence[Dim], sizes: Mapping[str, int]) -> tuple[Dim, ...]:
    """The dims of an array with other sizes of some of them."""
    return tuple(Dim(d.name, sizes.get(d.name, d.size)) for d in dims)


def with_output(conv: Convolution, sizes: Mapping[str, int]) -> Convolution:
    """The convolution with an output `resized`, and with as much more padding."""
    (top, bottom), (left, right) = conv.padding
    grown = replace(conv, output=resized(conv.output, sizes))
    below, beside = grown.height.out - conv.height.out, grown.width.out - conv.width.out
    return replace(grown, padding=((top, bottom + below), (left, right + beside)))


def cropped(dims: Sequence[Dim], sizes: Mapping[str, int]) -> Map:
    """The array `resized`, over the one that there is: what is too much does not exist."""
    more = ((d.name, sizes.get(d.name, d.size) - d.size) for d in dims)
    return over(dims).replacing(*((Pad(0, count), name, name) for name, count in more if count)).map


def axes_of(conv: Convolution, direction: RasterDirection) -> tuple[Axis, Axis]:
    """Rows and columns as the windows of a direction see them, whose pixels are one apart."""
    h, w = conv.height, conv.width
    return (h, w) if direction == "forward" else (h.turned, w.turned)


def least_line(w: Axis) -> int:
    """The shortest line whose windows find their pixels, or padding of their own line or the next."""
    whole = w.out + w.span
    return whole if w.before < 0 else min(whole, max(w.out, w.image + w.before, whole - w.before))
