"""halo_access: where an operand of windows is one box, and the reason where it is not."""

from __future__ import annotations

import re

import pytest

from imbrex.dtype import F16
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import PassThrough
from imbrex.view.conv.implicit_gemm import Convolution, forward
from imbrex.view.conv.raster import RasterProduct
from imbrex.view.gemm.product import GemmView
from imbrex.view.tensor import Halo, Product, Refused, halo_access


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items())


def layer(size: int, c: int = 32, channels_last: bool = True) -> Convolution:
    pixels = dims(n=2, hi=size, wi=size, c=c) if channels_last else dims(n=2, c=c, hi=size, wi=size)
    return Convolution(
        dims(k=32, y=3, x=3, c=c), pixels, dims(n=2, ho=size, wo=size, k=32), (1, 1), (1, 1), ((1, 1), (1, 1))
    )


def product(view: GemmView, rows: int) -> Product:
    """Of pixels as rows."""
    names = [d.name for d in view.c.upper if d.name not in ("gemmM", "gemmN")]
    turned = layer_over(view.c.upper, *((PassThrough(), n, n) for n in (*names, "gemmN", "gemmM")))
    channels = dict(view.b.upper)["gemmK"] // 9
    return Product(view.b, Map((turned, *view.c.layers)), rows, channels, d_name="gemmN")


def test_one_box_for_nine_taps() -> None:
    found = halo_access(product(RasterProduct(layer(28), "forward", 28, 32).view, 14 * 32), F16)
    assert isinstance(found, Halo)
    assert found.box.box == (32, 32, 16, 1) and found.box.sizes == (32, 28, 28, 2)
    assert [str(x) for x in found.box.pieces[0].coords] == ["0", "-1", "(14*(tile % 2)) - 1", "tile / 2"]
    assert found.tile.taps == ((3, 32), (3, 1)) and (found.tile.pixels, found.tile.loaded) == (448, 512)


def test_a_line_that_ends_in_the_next() -> None:
    found = halo_access(product(RasterProduct(layer(7), "forward", 8, 8).view, 64), F16)
    assert isinstance(found, Halo)
    assert found.box.box == (32, 8, 10, 1)


REASONS = {
    "a line without room for padding": (
        RasterProduct(layer(8), "forward", 8, 8).view,
        64,
        "is not the operand's element",
    ),
    "no raster": (forward(layer(16), True), 64, "is not the operand's element"),
    "half an instruction": (
        RasterProduct(layer(7), "forward", 7, 8).view,
        56,
        "not whole instructions of 64",
    ),
    "rows of several images in part": (
        RasterProduct(layer(14), "forward", 16, 16).view,
        384,
        "rows of the tile",
    ),
    "channels not together": (
        RasterProduct(layer(14, channels_last=False), "forward", 16, 16).view,
        256,
        "not always neighbours in memory",
    ),
    "few channels": (RasterProduct(layer(14, c=8), "forward", 16, 16).view, 256, "32 bytes of them or more"),
}


@pytest.mark.parametrize("case", REASONS)
def test_what_is_refused(case: str) -> None:
    view, rows, reason = REASONS[case]
    found = halo_access(product(view, rows), F16)
    assert isinstance(found, Refused) and re.search(reason, found.reason), found
