"""Rows of windows: the convolution of the copies sums the same products, and a tensor map walks over them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from imbrex.dtype import F16
from imbrex.index.map import Map
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.window_rows import Image, WindowRows, window_rows
from imbrex.view.copy.boxes import Boxes
from imbrex.view.gemm.product import GemmView
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Walk, access

from ..points import covers_once, offsets, products
from ..tensor.operands import brings, convolution


def found(shape: Convolution, image: Image = "input") -> WindowRows:
    of = window_rows(shape, 2, image)
    assert of is not None
    return of


def seen(map: Map, of: WindowRows) -> Map:
    """An operand of the copies, down to the image that they are copies of."""
    return map.then(of.rows).then(of.placed)


def stem() -> WindowRows:
    return found(convolution("nhwc", 2, 3, 22, 18, 16, 7, 7, (2, 2), padding=((3, 3), (3, 3))))


def some(seed: int) -> Convolution:
    rng = random.Random(seed)
    window, stride = (rng.randint(2, 5), rng.randint(1, 5)), (rng.randint(1, 3), rng.randint(1, 4))
    pads = ((rng.randint(0, 3), rng.randint(0, 2)), (rng.randint(0, 2), rng.randint(0, 3)))
    layout = rng.choice(("nhwc", "nchw"))
    channels = rng.choice((*range(1, 8), 8, 12, 16, 21, 32))
    sizes = (2, channels, rng.randint(8, 11), rng.randint(6, 12), 8)
    return convolution(layout, *sizes, *window, stride, (rng.randint(1, 2), 1), pads)


@pytest.mark.parametrize("seed", range(30))
def test_the_products_are_the_same(seed: int) -> None:
    shape = some(seed)
    of = found(shape)
    ahead, back = (
        implicit_gemm.forward(of.copied, taps_first=True),
        implicit_gemm.backward_weight(of.copied, taps_first=True),
    )
    view = GemmView(ahead.a.then(of.filter), seen(ahead.b, of), ahead.c)
    assert np.array_equal(products(view), products(implicit_gemm.forward(shape)))
    view = GemmView(back.a, seen(back.b, of), back.c.then(of.filter))
    assert np.array_equal(products(view), products(implicit_gemm.backward_weight(shape)))


def of_few(seed: int) -> Convolution:
    """A convolution of few filters that moves by one pixel."""
    rng = random.Random(seed)
    window, dilation = (rng.randint(1, 4), rng.randint(2, 5)), rng.randint(1, 2)
    most = dilation * (window[0] - 1), window[1] - 1
    pads = ((rng.randint(0, most[0]), rng.randint(0, 4)), (rng.randint(0, most[1]), rng.randint(0, 5)))
    sizes = (2, 8, rng.randint(8, 11), rng.randint(6, 12), rng.choice((*range(1, 8), 8, 9, 24, 32)))
    layout = rng.choice(("nhwc", "nchw"))
    return convolution(layout, *sizes, *window, (1, 1), (dilation, 1), pads)


@pytest.mark.parametrize("seed", range(30))
def test_taps_of_a_gradient_come_the_other_way_round(seed: int) -> None:
    shape = of_few(seed)
    of = found(shape, "output")
    (view,) = implicit_gemm.backward_data_v4r1(of.copied, taps_first=True)
    (plain,) = implicit_gemm.backward_data_v4r1(shape)
    assert np.array_equal(
        products(GemmView(view.a.then(of.filter), seen(view.b, of), view.c)), products(plain)
    )
    walks_over(view.b, of)


@pytest.mark.parametrize("seed", range(30))
def test_a_tensor_map_walks_over_rows_of_windows(seed: int) -> None:
    of = found(some(seed))
    walks_over(implicit_gemm.forward(of.copied, taps_first=True).b, of)


def walks_over(operand: Map, of: WindowRows) -> None:
    """Rows of windows come by a tensor map, each where it belongs."""
    step = next(s for s in (64, 32, 16) if of.row % s == 0)
    tile = SharedTile(step, 64, 2, "k", {64: 128, 32: 64, 16: 32}[step])  # type: ignore[arg-type]
    whole = operand.then(of.rows)
    form = access(whole, tile, F16)
    assert not hasattr(form, "reason"), form
    rows = dict(operand.upper)["gemmN"]
    assert brings(form, whole, tile, F16)[:, :, :rows].all()  # type: ignore[arg-type]


def test_the_first_layer_of_resnet() -> None:
    """Eight taps of four channels are 64 bytes; windows are two pixels, 16 bytes, apart."""
    of = stem()
    assert (of.channels, of.taps) == (4, 8)
    assert [d.size for d in of.packed] == [2, 27, 24, 4]
    ahead = implicit_gemm.forward(of.copied, taps_first=True).b.then(of.rows)
    form = access(ahead, SharedTile(32, 64, 2, "k", 64), F16)
    assert isinstance(form, Walk)
    assert form.sizes == (32, 9, 27, 2) and form.strides[:2] == (8, 24 * 4)
    assert (form.lower, form.upper, form.steps, form.channels) == ((0, 0), (0, -6), (1, 2), 32)


@pytest.mark.parametrize("copy", [stem().filter_copy, stem().image_copy], ids=["filter", "input"])
def test_work_items_move_every_element_once(copy: Boxes) -> None:
    moved = offsets(copy.written)
    assert np.array_equal(
        np.sort(moved[moved >= 0]), np.arange(np.prod([d.size for d in copy.written.lower]))
    )


def test_what_has_no_rows() -> None:
    assert window_rows(convolution("nhwc", 1, 33, 9, 9, 8, 3, 3), 2) is None
    assert window_rows(convolution("nhwc", 1, 3, 9, 9, 8, 1, 1), 2) is None
    assert window_rows(convolution("nhwc", 1, 3, 9, 9, 8, 3, 3, dilations=(1, 2)), 2) is None
    assert window_rows(convolution("nhwc grouped", 1, 3, 9, 9, 8, 3, 3, g=2), 2) is None
    assert window_rows(convolution("nhwc", 1, 9, 9, 9, 33, 3, 3), 2, "output") is None
    assert window_rows(convolution("nhwc", 1, 9, 9, 9, 3, 3, 3, (1, 2)), 2, "output") is None
    assert (
        window_rows(convolution("nhwc", 1, 9, 9, 9, 3, 3, 3, padding=((3, 0), (0, 0))), 2, "output") is None
    )


def test_control_padding_is_not_left_to_guards() -> None:
    of = stem()
    assert of.copied.padding == ((0, 0), (0, 0)) and not covers_once(of.placed)
