"""Stores of C: a sub-tile writes exactly the elements that the map has in it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from imbrex.dtype import F16, F32
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import PassThrough
from imbrex.view.conv import implicit_gemm
from imbrex.view.gemm.product import plain
from imbrex.view.tensor import Box, Refused, store_access

from ..points import Ints, offsets
from .operands import convolution

TRANSPOSED = Map(
    (layer_over((Dim("n", 64), Dim("m", 64)), (PassThrough(), "gemmM", "m"), (PassThrough(), "gemmN", "n")),)
)


def reached(box: Box, env: dict[str, int]) -> Ints:
    """[row, column] -> the element's offset, -1 where none is written."""
    spans = [
        np.arange(int(x.eval(env)), int(x.eval(env)) + extent, step)
        for x, extent, step in zip(box.pieces[0].coords, box.box, box.steps, strict=True)
    ]
    places = np.meshgrid(*reversed(spans), indexing="ij")[::-1]
    inside = np.logical_and.reduce([(0 <= x) & (x < n) for x, n in zip(places, box.sizes, strict=True)])
    flat = box.base + places[0] + sum(x * s for x, s in zip(places[1:], box.strides, strict=True))
    return np.where(inside, flat, -1).reshape(-1, len(spans[0]))


def writes(box: Box, map: Map, rows: int, columns: int, names: tuple[str, str]) -> bool:
    sizes = dict(map.upper)
    order = [d.name for d in map.upper]
    flat = offsets(map)
    if "gemmG" not in order:
        flat, order = flat[None], ["gemmG", *order]
    flat = flat.transpose([order.index(n) for n in ("gemmG", *names)])
    for batch, row, column in product(
        range(flat.shape[0]), range(0, sizes[names[0]], rows), range(0, sizes[names[1]], columns)
    ):
        want = np.full((rows, columns), -1)
        part = flat[batch, row : row + rows, column : column + columns]
        want[: part.shape[0], : part.shape[1]] = part
        if not np.array_equal(reached(box, {"batch": batch, "row": row, "column": column}), want):
            return False
    return True


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("columns", [64, 16])
def test_products(batch: int | None, columns: int) -> None:
    view = plain(136, 72, 8, batch)
    box = store_access(view.c, 64, columns, F16, swizzle=2 * columns)
    assert isinstance(box, Box)
    assert [str(x) for x in box.pieces[0].coords[:2]] == ["column", "row"]
    assert writes(box, view.c, 64, columns, ("gemmM", "gemmN"))
    assert not writes(replace(box, base=8), view.c, 64, columns, ("gemmM", "gemmN"))


@pytest.mark.parametrize("layout", ["nhwc", "nhwc grouped"])
def test_pixels_by_channels(layout: str) -> None:
    """Forward: pixels are rows; backward weight: filters are, and taps and channels columns."""
    shape = convolution(layout, 3, 32, 7, 5, 40, 3, 3, padding=((1, 1), (1, 1)), g=2)
    view, names = implicit_gemm.forward(shape), ("gemmN", "gemmM")
    box = store_access(view.c, 64, 32, F16, 64, names)
    assert isinstance(box, Box) and writes(box, view.c, 64, 32, names)
    (view,) = implicit_gemm.backward_data_v4r1(shape)
    box = store_access(view.c, 64, 32, F32, 128, names)
    assert isinstance(box, Box) and writes(box, view.c, 64, 32, names)
    view = implicit_gemm.backward_weight(shape)
    box = store_access(view.c, 64, 32, F32)
    assert isinstance(box, Box) and writes(box, view.c, 64, 32, ("gemmM", "gemmN"))


def test_a_phase_whose_rows_are_whole_images_rows() -> None:
    """Every other pixel of rows of 16: 64 of them are a box; of rows of 10, they are not."""
    for width, kind in ((16, Box), (10, Refused)):
        shape = convolution("nhwc", 2, 32, 16, 2 * width, 32, 3, 3, (2, 2), padding=((1, 0), (1, 0)))
        for view in implicit_gemm.backward_data_v4r1(shape):
            box = store_access(view.c, 64, 32, F16, 64, ("gemmN", "gemmM"))
            assert isinstance(box, kind), box
            if isinstance(box, Box):
                assert writes(box, view.c, 64, 32, ("gemmN", "gemmM"))


@pytest.mark.parametrize(
    ("map", "columns", "reason"),
    [
        (plain(64, 63, 8).c, 64, "a stride of 126 bytes is not a multiple of 16"),
        (plain(64, 64, 8).c, 128, "256 bytes are not a row of the swizzle, 128 bytes"),
        (TRANSPOSED, 64, "what lies together in memory is not along gemmN"),
    ],
)
def test_what_is_refused_and_why(map: Map, columns: int, reason: str) -> None:
    found = store_access(map, 64, columns, F16)
    assert isinstance(found, Refused) and found.reason == reason, found
