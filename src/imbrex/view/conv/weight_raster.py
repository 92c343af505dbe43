"""WeightRaster: backward weight as sums over the pixels of a raster, a part of them in each of many products.

    gemmG   share g block             share: a part of all tiles; block: of channels
    gemmM   k                         filters of a group
    gemmN   tap c                     taps, the channels of a block
    gemmK   step row wo               one tile of pixels after the other, of rows x line each

Tiles are numbered strip by strip of an image, then by images; of `streams`, as many images at a time, whose
strips take turns, and shares have whole images.  Rows, columns, images and tiles that are too
many do not exist in the output: what the input has there is multiplied by zeros.  A line need only be as long
as it takes for a window's pixels, or as much padding, to follow one another; see `view.conv.raster`.

Law: over all shares, the products add up to those of the convolution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from imbrex.cached import cached_property
from imbrex.index.map import Dim, Entry, Map
from imbrex.index.rule import Broadcast, Merge, PassThrough, Slice, Unmerge
from imbrex.index.stack import Stack, over
from imbrex.view.conv.implicit_gemm import Convolution, backward_weight
from imbrex.view.conv.raster import cropped, resized, with_output
from imbrex.view.gemm.product import GemmView

__all__ = ["SHARE", "WeightRaster"]

PIXELS: Final = ("n", "ho", "wo")
SHARE: Final = "share"


@dataclass(frozen=True)
class WeightRaster:
    """conv: of stride 1.  rows, line: of a tile.  channels: of a block.  shares: of all tiles.
    streams: 0 where tiles are dealt out one by one.
    """

    conv: Convolution
    rows: int
    line: int
    channels: int
    shares: int
    streams: int = 0

    @property
    def steps(self) -> int:
        """Tiles of a share."""
        images = dict(self.conv.output)["n"]
        if self.streams:
            return -(-images // (self.streams * self.shares)) * self.streams * self._strips
        return -(-images * self._strips // self.shares)

    @property
    def _strips(self) -> int:
        """Strips of an image."""
        return -(-self.conv.height.out // self.rows)

    @property
    def _images(self) -> int:
        """As many as all shares want: those that there are, or more."""
        return -(-self.steps * self.shares // self._strips)

    @cached_property
    def view(self) -> GemmView:
        """View of C, whose array is all shares' filters: the share, then the filter's dims."""
        plain = backward_weight(self._grown, taps_first=True)
        output = cropped(self.conv.output, dict(self._grown.output))
        images = cropped(self.conv.input, dict(self._grown.input))
        return GemmView(
            a=self._product(over(plain.a.then(output))),
            b=self._product(over(plain.b.then(images))),
            c=self._top(self._blocks(over(plain.c.with_leading([Dim(SHARE, self.shares)])))),
        )

    @cached_property
    def _grown(self) -> Convolution:
        """The convolution with whole tiles of pixels."""
        sizes = {"n": self._images, "ho": self._strips * self.rows, "wo": self.line}
        images = resized(self.conv.input, {"n": sizes["n"]})
        return replace(with_output(self.conv, sizes), input=images)

    def _product(self, below: Stack) -> Map:
        """(gemmG, gemmK, its own dim) of an operand, over that of the plain product."""
        images, strips, tiles = self._images, self._strips, self.steps * self.shares
        pixels = {d.name: d.size for d in self._grown.output if d.name in PIXELS}
        turns = max(1, self.streams)
        cut = {"many": images // turns, "turn": turns, "strip": strips, "row": self.rows}
        order = "many strip turn" if self.streams else "many turn strip"
        every = Slice(0, tiles) if tiles < images * strips else PassThrough()
        dealt = (
            self._blocks(below)
            .passing((Unmerge(), " ".join(pixels), "gemmK"), **pixels)
            .passing((Unmerge(), "many turn", "n"), (Unmerge(), "strip row", "ho"), **cut)
            .passing((Merge(), "tile", order))
            .passing((every, "tile", "tile"))
            .passing((Unmerge(), f"{SHARE} step", "tile"), **{SHARE: self.shares, "step": self.steps})
        )
        return self._top(dealt, gemmK="step row wo")

    def _blocks(self, below: Stack) -> Stack:
        """The group's own name; channels in blocks, the same for all filters."""
        named: list[Entry] = [(PassThrough(), "g", "gemmG")] if self.conv.is_grouped else []
        channels, sizes = dict(self.conv.filter)["c"], dict(below.upper)
        blocks = channels // self.channels
        if "gemmN" not in sizes:
            return below.passing(*named, (Broadcast(), "block", ""), block=blocks)
        apart = below.passing(
            *named, (Unmerge(), "tap c", "gemmN"), tap=sizes["gemmN"] // channels, c=channels
        )
        return apart.passing((Unmerge(), "block c", "c"), block=blocks, c=self.channels)

    def _top(self, below: Stack, **more: str) -> Map:
        """The dims of the product: batches, those that are given, and filters or channels."""
        batch = f"{SHARE} g block" if self.conv.is_grouped else f"{SHARE} block"
        own = {"gemmM": "gemmM", "gemmN": "tap c"}
        own = {name: of for name, of in own.items() if of.split()[0] in dict(below.upper)}
        return below.merging(gemmG=batch, **more, **own).map
