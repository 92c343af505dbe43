"""Operands of convolutions: accesses bring what the maps read, in random convolutions of every kind."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from imbrex.dtype import F16
from imbrex.index.map import Map
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.gemm.product import GemmView
from imbrex.view.stage.shared_tile import SharedTile, Swizzle
from imbrex.view.tensor import Box, Refused, Walk, access

from .operands import LAYOUTS, brings, convolution

SEEDS = range(12)
EACH = 4


def random_convolution(rng: random.Random, layout: str) -> Convolution:
    while True:
        h, w, y, x = (rng.randint(*span) for span in ((1, 9), (1, 9), (1, 3), (1, 3)))
        dilations, strides = ((rng.randint(1, 2), rng.randint(1, 3)) for _ in range(2))
        pads = ((rng.randint(0, 2), rng.randint(0, 2)), (rng.randint(0, 2), rng.randint(0, 2)))
        if min(h + sum(pads[0]) - dilations[0] * (y - 1), w + sum(pads[1]) - dilations[1] * (x - 1)) > 0:
            break
    n, c, k = rng.randint(1, 3), rng.choice((8, 16, 32, 48, 64)), rng.choice((8, 16, 32, 64))
    return convolution(layout, n, c, h, w, k, y, x, strides, dilations, pads, rng.randint(2, 3))


def views(shape: Convolution, multiple: int) -> Iterator[tuple[str, GemmView]]:
    yield "forward", implicit_gemm.forward(shape, taps_first=True, channel_multiple=multiple)
    for view in implicit_gemm.backward_data_v4r1(shape, taps_first=True, channel_multiple=multiple):
        yield "backward data", view
    channels_last = shape.input[-1].name == "c"
    yield (
        "backward weight",
        implicit_gemm.backward_weight(shape, channels_last, multiple if channels_last else 1),
    )


def form_of(map: Map, swizzle: Swizzle, parts: int = 1) -> tuple[Box | Walk | Refused, SharedTile]:
    """Along whatever lies together in memory."""
    tile = SharedTile(32, 64, 2, "k", swizzle)
    found = access(map, tile, F16, parts)
    if isinstance(found, Refused):
        tile = replace(tile, major="d")
        found = access(map, tile, F16, parts)
    return found, tile


def assert_brings(form: Box | Walk, map: Map, tile: SharedTile, parts: int = 1) -> None:
    """The operand's elements, and zeros beyond the end of k; beyond its rows, anything."""
    rows = next(d.size for d in map.upper if d.name in ("gemmM", "gemmN"))
    assert brings(form, map, tile, F16, parts)[:, :, :rows].all(), (form, tile)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS[:: 1 if os.environ.get("IMBREX_TESTS") == "all" else 4])
def test_what_is_not_refused_is_the_operands(layout: str, seed: int) -> None:
    rng = random.Random(f"{layout} {seed}")
    for _ in range(EACH):
        shape = random_convolution(rng, layout)
        swizzle: Swizzle = rng.choice((32, 64))
        for _, view in views(shape, multiple=swizzle // 2):
            for map in (view.a, view.b):
                parts = rng.choice((1, 2))
                form, tile = form_of(map, swizzle, parts)
                if not isinstance(form, Refused):
                    assert_brings(form, map, tile, parts)


def test_channels_last_is_never_refused() -> None:
    """Any padding, stride and dilation; of groups those of whole rows of channels."""
    kinds = Counter[tuple[str, str, type]]()
    for layout in ("nhwc", "nhwc grouped"):
        for seed in SEEDS:
            rng = random.Random(f"{layout} {seed}")
            for _ in range(EACH):
                shape = random_convolution(rng, layout)
                sizes = dict(shape.filter)
                if "g" in sizes and (sizes["c"] % 32 or sizes["k"] % 32):
                    continue
                for direction, view in views(shape, multiple=32):
                    for operand, map in (("a", view.a), ("b", view.b)):
                        form, _ = form_of(map, 32)
                        assert not isinstance(form, Refused), (shape, direction, operand, form)
                        kinds[direction, operand, type(form)] += 1
    for direction in ("forward", "backward data", "backward weight"):
        assert kinds[direction, "b", Walk] > 20 and kinds[direction, "b", Box] > 10, kinds
        assert kinds[direction, "a", Box] > 40 and not kinds[direction, "a", Walk], kinds


SAME = ((1, 1), (1, 1))


def test_windows_of_each_direction() -> None:
    """Three by three, padded: the start pixels, and the taps, of backward data from the last one on."""
    shape = convolution("nhwc", 2, 64, 14, 14, 64, 3, 3, padding=SAME)
    tile = SharedTile(64, 128, 2, "k", 128)
    ahead, back = (
        access(v.b, tile, F16)
        for v in (implicit_gemm.forward(shape), *implicit_gemm.backward_data_v4r1(shape))
    )
    for form in (ahead, back):
        assert isinstance(form, Walk)
        assert (form.sizes, form.strides, form.base) == ((64, 14, 14, 2), (64, 14 * 64, 196 * 64), 0)
        assert (form.lower, form.upper, form.steps) == ((-1, -1), (-1, -1), (1, 1))
        assert (form.channels, form.pixels) == (64, 128)
    assert isinstance(ahead, Walk) and isinstance(back, Walk)
    taps = [
        [tuple(x.eval({"step": s}) for x in f.pieces[0].offsets) for s in range(9)] for f in (ahead, back)
    ]
    assert taps[0] == [(x, y) for y in range(3) for x in range(3)]
    assert taps[1] == taps[0][::-1]
    weight = access(implicit_gemm.backward_weight(shape).b, replace(tile, major="d"), F16)
    assert isinstance(weight, Walk) and (weight.channels, weight.pixels) == (64, 64)
    assert [[x.eval({"tile": 1}) for x in p.offsets] for p in weight.pieces] == [[2, 0], [0, 1]]


def test_a_stride_is_a_step_of_start_pixels() -> None:
    shape = convolution("nhwc", 2, 64, 15, 13, 64, 3, 3, (2, 2), padding=((0, 2), (1, 0)))
    form = access(implicit_gemm.forward(shape).b, SharedTile(64, 128, 2, "k", 128), F16)
    assert isinstance(form, Walk)
    assert (form.steps, form.lower, form.upper) == ((2, 2), (-1, 0), (-3, 0))


def test_one_by_one_is_a_box_or_a_view_of_every_other_pixel() -> None:
    tile = SharedTile(64, 128, 2, "k", 128)
    plain = access(implicit_gemm.forward(convolution("nhwc", 2, 64, 14, 14, 64, 1, 1)).b, tile, F16)
    assert isinstance(plain, Box) and plain.sizes == (64, 2 * 14 * 14)
    strided = access(implicit_gemm.forward(convolution("nhwc", 2, 64, 14, 14, 64, 1, 1, (2, 2))).b, tile, F16)
    assert isinstance(strided, Walk)
    assert (strided.sizes, strided.strides[0], strided.steps) == ((64, 7, 1, 14), 128, (1, 1))
    assert_brings(
        strided, implicit_gemm.forward(convolution("nhwc", 2, 64, 14, 14, 64, 1, 1, (2, 2))).b, tile
    )


def test_steps_that_end_between_taps_end_in_channels_that_do_not_exist() -> None:
    """Nine taps of 64 channels in steps of 128: the last half step is zeros, whatever the direction."""
    shape = convolution("nhwc", 1, 64, 5, 5, 64, 3, 3, padding=SAME)
    tile = SharedTile(128, 64, 2, "k", 128)
    for view in (implicit_gemm.forward(shape), *implicit_gemm.backward_data_v4r1(shape)):
        form = access(view.b, tile, F16)
        assert isinstance(form, Walk)
        assert all(x.bounds[0] >= 0 and x.bounds[1] <= 2 for p in form.pieces for x in p.offsets)
        assert_brings(form, view.b, tile)


def test_groups_are_in_the_channels_coordinate_or_in_the_images() -> None:
    tile = SharedTile(64, 64, 2, "k", 128)
    inside = access(
        implicit_gemm.forward(convolution("nhwc grouped", 2, 64, 5, 5, 64, 3, 3, g=2)).b, tile, F16
    )
    assert isinstance(inside, Walk) and inside.sizes == (128, 5, 5, 2)
    apart = access(implicit_gemm.forward(convolution("gnhwc", 2, 64, 5, 5, 64, 3, 3, g=2)).b, tile, F16)
    assert isinstance(apart, Walk) and apart.sizes == (64, 5, 5, 4)


@pytest.mark.parametrize(("side", "kind"), [(56, Box), (28, Refused), (32, Box), (7, Refused)])
def test_pixels_that_lie_together(side: int, kind: type) -> None:
    """NCHW, one by one: whole rows of the swizzle in an image, or none."""
    view = implicit_gemm.forward(convolution("nchw", 2, 64, side, side, 8, 1, 1))
    tile = SharedTile(64, 128, 2, "d", 128)
    form = access(view.b, tile, F16)
    assert isinstance(form, kind), form
    if isinstance(form, Box) and side == 32:
        assert_brings(form, view.b, tile)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (convolution("nhwc", 1, 20, 9, 9, 8, 3, 3), "64 neighbours along gemmK are not"),
        (convolution("nhwc", 1, 64, 300, 9, 8, 3, 3, (9, 1)), "a stride of 9 elements is more than 8"),
        (
            convolution("nhwc", 1, 64, 9, 9, 8, 3, 3, padding=((130, 130), (0, 0))),
            "a window that begins or ends -130 pixels from the image's edge",
        ),
        (convolution("nchw", 1, 64, 9, 9, 8, 3, 3), "64 neighbours along gemmK are not"),
        (
            convolution("ngchw, channels last", 2, 64, 9, 9, 8, 3, 3, g=2),
            "a group is neither whole rows of channels nor images of its own",
        ),
    ],
)
def test_what_is_refused_and_why(shape: Convolution, reason: str) -> None:
    found = access(implicit_gemm.forward(shape).b, SharedTile(64, 128, 2, "k", 128), F16)
    assert isinstance(found, Refused) and reason in found.reason, found


def test_channels_that_are_no_multiple_of_16_bytes_are_refused() -> None:
    view = implicit_gemm.forward(convolution("nhwc", 1, 20, 9, 9, 8, 3, 3), channel_multiple=64)
    found = access(view.b, SharedTile(64, 128, 2, "k", 128), F16)
    assert isinstance(found, Refused) and "a stride of 40 bytes is not a multiple of 16" in found.reason


def test_control_another_walk_brings_something_else() -> None:
    view = implicit_gemm.forward(convolution("nhwc", 2, 32, 5, 6, 32, 3, 3, (2, 1), padding=((1, 0), (2, 1))))
    tile = SharedTile(32, 64, 2, "k", 64)
    form = access(view.b, tile, F16)
    assert isinstance(form, Walk)
    assert_brings(form, view.b, tile)
    (piece,) = form.pieces
    for wrong in (
        replace(form, lower=(form.lower[0], form.lower[1] - 2)),
        replace(form, upper=(form.upper[0] + 1, form.upper[1])),
        replace(form, steps=(1, 1)),
        replace(form, sizes=(form.sizes[0], form.sizes[1] - 1, *form.sizes[2:])),
        replace(form, pieces=(replace(piece, offsets=piece.offsets[::-1]),)),
    ):
        with pytest.raises(AssertionError):
            assert_brings(wrong, view.b, tile)
