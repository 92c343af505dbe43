"""line_access: where an operand of windows comes line by line, and the reason where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from imbrex.dtype import F16
from imbrex.view.conv.implicit_gemm import forward
from imbrex.view.conv.raster import RasterProduct
from imbrex.view.tensor import Halo, Refused, line_access

from .test_halo import layer, product


def test_two_images_between_one_another() -> None:
    found = line_access(product(RasterProduct(layer(28), "forward", 28, 32, 1, 2).view, 14 * 64), 64, F16)
    assert isinstance(found, Halo)
    assert found.box.box == (32, 32, 2, 1) and found.box.sizes == (32, 28, 2, 28)
    top = "14*tile + step - 1"
    assert [str(x) for x in found.box.pieces[0].coords] == ["0", "-1", "0", top]
    assert (str(found.exists[0].index), found.exists[0].size) == (top, 28)
    assert (found.slots, len(found.taps), found.tile.taps) == (3, 9, ((3, 1),))


def test_backward_data_has_its_taps_the_other_way_round() -> None:
    ahead, back = (
        line_access(product(RasterProduct(layer(56), direction, 56, 64).view, 8 * 64), 64, F16)
        for direction in ("forward", "backward_data")
    )
    assert isinstance(ahead, Halo) and isinstance(back, Halo)
    assert back.taps == tuple(reversed(ahead.taps)) and back.box == ahead.box


def test_images_that_are_too_many_are_zeros() -> None:
    found = line_access(product(RasterProduct(layer(7), "forward", 8, 8, 1, 8).view, 8 * 64), 64, F16)
    assert isinstance(found, Halo)
    assert found.box.box == (32, 8, 8, 1) and found.box.sizes == (32, 7, 2, 7)


DILATED = replace(layer(14), dilations=(2, 2), padding=((2, 2), (2, 2)))
REASONS = {
    "a line without room for padding": (
        RasterProduct(layer(8), "forward", 8, 8, 1, 8).view,
        8 * 64,
        "is not the operand's",
    ),
    "no raster": (forward(layer(16), True), 256, "not lines of 64"),
    "one image's lines": (RasterProduct(layer(14), "forward", 16, 16).view, 512, "not lines of 64"),
    "dilated": (RasterProduct(DILATED, "forward", 14, 16, 1, 4).view, 14 * 64, "not neighbouring rows"),
    "channels not together": (
        RasterProduct(layer(14, channels_last=False), "forward", 14, 16, 1, 4).view,
        14 * 64,
        "not always neighbours in memory",
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_what_is_refused(case: str) -> None:
    view, rows, reason = REASONS[case]
    found = line_access(product(view, rows), 64, F16)
    assert isinstance(found, Refused) and reason in found.reason, found
