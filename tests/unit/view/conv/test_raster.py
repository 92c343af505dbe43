"""Raster: its gemm sums the products of the convolution, and stores each of its elements once."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from imbrex.index.map import Dim
from imbrex.view.conv.implicit_gemm import Convolution, backward_data_v4r1, forward
from imbrex.view.conv.raster import (
    Raster,
    RasterDirection,
    RasterProduct,
    raster_of,
)

from ..points import all_products, products


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items() if size)


def conv(
    h: int = 5,
    w: int = 6,
    pads: Any = ((1, 1), (1, 1)),
    dilation: int = 1,
    g: int = 0,
    x: int = 3,
    stride: int = 1,
) -> Convolution:
    ho = (h + sum(pads[0]) - 2 * dilation - 1) // stride + 1
    wo = (w + sum(pads[1]) - dilation * (x - 1) - 1) // stride + 1
    arrays = (
        dims(g=g, k=3, y=3, x=x, c=2),
        dims(n=2, hi=h, wi=w, g=g, c=2),
        dims(n=2, ho=ho, wo=wo, g=g, k=3),
    )
    return Convolution(*arrays, (stride, stride), (dilation, dilation), pads)


CASES = {
    "plain": conv(),
    "groups": conv(g=2),
    "dilated": conv(7, 8, ((2, 2), (1, 3)), 2),
    "one-sided": conv(5, 7, ((0, 2), (2, 0))),
    "none": conv(5, 7, ((0, 0), (0, 0))),
    "wide pads": conv(4, 4, ((3, 3), (3, 3))),
    "one column": conv(6, 1, ((1, 1), (0, 0)), x=1),
}
DIRECTIONS: tuple[RasterDirection, ...] = ("forward", "backward_data")


@pytest.mark.parametrize(("case", "direction"), list(product(CASES, DIRECTIONS)))
def test_the_products_that_are_stored_are_the_convolution(case: str, direction: RasterDirection) -> None:
    shape = CASES[case]
    raster = raster_of(shape, direction)
    assert isinstance(raster, Raster)
    view = RasterProduct(shape, direction, raster.height + 3, raster.line).view
    assert view.n == 2 * (raster.height + 3) * raster.line
    plain = [forward(shape, True)] if direction == "forward" else backward_data_v4r1(shape, True)
    assert np.array_equal(products(view), all_products(plain))


@pytest.mark.parametrize(
    ("case", "direction", "together"), list(product(("plain", "groups", "one-sided"), DIRECTIONS, (2, 4)))
)
def test_images_between_one_another(case: str, direction: RasterDirection, together: int) -> None:
    """Another order of the same pixels; images that are too many are not stored."""
    shape = CASES[case]
    raster = raster_of(shape, direction)
    assert isinstance(raster, Raster)
    height = raster.height + 1
    view = RasterProduct(shape, direction, height, raster.line, together=together).view
    assert view.n == together * height * raster.line
    plain = [forward(shape, True)] if direction == "forward" else backward_data_v4r1(shape, True)
    assert np.array_equal(products(view), all_products(plain))
    for pixel, image in ((0, 0), (raster.line, 1), (together * raster.line, 0)):
        at = view.c.at([pixel if d.name == "gemmN" else 0 for d in view.c.upper])
        assert dict(zip((d.name for d in view.c.lower), at.coords, strict=True))["n"].const == image


def test_lines_by_hand() -> None:
    """A line may end with the padding that the next one begins with."""
    sizes = {
        7: (8, True),
        8: (16, False),
        14: (16, False),
        28: (32, False),
        31: (32, True),
        56: (64, False),
        63: (64, True),
    }
    for width, (line, spills) in sizes.items():
        raster = raster_of(conv(w=width), "forward")
        assert isinstance(raster, Raster)
        assert (raster.line, raster.spills, raster.halo, raster.loaded(4)) == (line, spills, 2, 6 + spills)
    no_pads = raster_of(conv(w=8, pads=((0, 0), (0, 0))), "forward")
    assert isinstance(no_pads, Raster) and (no_pads.width, no_pads.line, no_pads.spills) == (6, 8, False)


def test_what_makes_no_raster() -> None:
    assert (
        raster_of(conv(stride=2), "forward") == "strides 2 x 2: neighbouring windows are not one pixel apart"
    )
    one = Convolution(
        dims(k=3, y=1, x=1, c=2),
        dims(n=2, hi=4, wi=4, c=2),
        dims(n=2, ho=4, wo=4, k=3),
        (1, 1),
        (1, 1),
        ((0, 0), (0, 0)),
    )
    assert raster_of(one, "forward") == "a window of one tap is read once anyway"
