"""RowTaps: images abreast are the convolution, and taps of a row of a window are views of one another."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from imbrex.view.conv.implicit_gemm import Convolution, backward_data_v4r1, forward
from imbrex.view.conv.raster import RasterDirection
from imbrex.view.conv.row_taps import RowTaps, abreast, row_taps

from ..points import all_products, products
from .test_raster import CASES, DIRECTIONS, conv, dims

ROWS = {name: case for name, case in CASES.items() if name != "one column"}


@pytest.mark.parametrize(("case", "direction", "images"), list(product(ROWS, DIRECTIONS, (1, 2, 3))))
def test_images_abreast_are_the_same_products(case: str, direction: RasterDirection, images: int) -> None:
    shape = ROWS[case]
    view = abreast(shape, direction, images)
    plain = [forward(shape, True)] if direction == "forward" else backward_data_v4r1(shape, True)
    assert np.array_equal(products(view), all_products(plain))


@pytest.mark.parametrize(("case", "direction", "images"), list(product(ROWS, DIRECTIONS, (1, 2, 3))))
def test_taps_of_a_row_are_views_of_one_another(case: str, direction: RasterDirection, images: int) -> None:
    shape = ROWS[case]
    taps = row_taps(shape, direction, images)
    assert isinstance(taps, RowTaps)
    assert not differing(shape, direction, images, taps)
    assert differing(shape, direction, images, replace(taps, step=2 * taps.step)), "a control"


def differing(shape: Convolution, direction: RasterDirection, images: int, taps: RowTaps) -> int:
    """Elements of B, of columns that are stored, that are not those of the first tap so many columns on."""
    view = abreast(shape, direction, images)
    lead = [0] * (len(view.b.upper) - 2)
    k, n = np.meshgrid(np.arange(view.k), np.arange(view.n), indexing="ij")
    coords, exists = view.b.evaluate([*lead, k, n])
    places = np.where(exists, np.ravel_multi_index(coords, [d.size for d in view.b.lower], mode="clip"), -1)
    by_tap = places.reshape(-1, taps.count, taps.channels, view.n)
    _, stored = view.c.evaluate([*lead, 0, np.arange(view.n)])
    base = 0 if taps.step > 0 else taps.count - 1
    reach = abs(taps.step) * (taps.count - 1)
    beyond = np.full((*by_tap[:, base].shape[:2], reach), -1)
    first = np.concatenate([by_tap[:, base], beyond], axis=-1)
    shifts = ((tap - base) * taps.step for tap in range(taps.count))
    pairs = zip(range(taps.count), shifts, strict=True)
    found = (first[..., shift : shift + view.n] != by_tap[:, tap] for tap, shift in pairs)
    return sum(int((wrong & np.broadcast_to(stored, view.n)).sum()) for wrong in found)


def test_rows_that_are_not_views_say_why() -> None:
    assert "strides" in str(row_taps(conv(stride=2), "forward", 1))
    assert "one tap" in str(row_taps(CASES["one column"], "forward", 1))
    planes = replace(conv(), input=dims(n=2, c=2, hi=5, wi=6))
    assert "channels do not come last" in str(row_taps(planes, "forward", 1))
