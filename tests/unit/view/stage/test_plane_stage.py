"""Lines of planes in shared memory: where each pixel lies, and how many lines are a group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from imbrex.index.map import Dim, Map
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.conv.weight_raster import WeightRaster
from imbrex.view.copy.channels_last import is_channels_last
from imbrex.view.stage.plane_stage import PlaneStage, line_of, lines_abreast
from imbrex.view.tensor import Box, Planes, Refused, plane_access

WIDTHS = {8: 2, 12: 4, 16: 2, 20: 4, 24: 2, 28: 4, 32: 2, 36: 4, 40: 2, 48: 1, 56: 2, 64: 1}
"""Pixels of 2 bytes -> lines until one begins at 32 bytes, and rows of shared memory are whole."""


@pytest.mark.parametrize(("width", "count"), WIDTHS.items())
def test_a_group_begins_at_a_sector(width: int, count: int) -> None:
    assert lines_abreast(8, width, 2) == count and count * width * 2 % 32 == 0
    assert count * line_of(width, 2) % 64 == 0


def test_planes_that_groups_do_not_divide() -> None:
    assert (lines_abreast(7, 56, 2), lines_abreast(6, 28, 2), lines_abreast(7, 28, 2)) == (1, 2, None)
    assert (
        lines_abreast(8, 72, 2) is None
        and lines_abreast(8, 14, 2) is None
        and lines_abreast(8, 30, 2) is None
    )


def stage(width: int, rows: int, streams: int = 1) -> PlaneStage:
    return PlaneStage(rows, 8, width, 64, 2, streams)


TILES = {
    "two of 56": stage(56, 2),
    "four of 28": stage(28, 4),
    "one of 64": stage(64, 1),
    "two groups of 16": stage(16, 4),
    "12": stage(12, 4),
}


@pytest.mark.parametrize("tile", TILES.values(), ids=TILES)
def test_pixels_of_lines_lie_together_and_apart_from_others(tile: PlaneStage) -> None:
    k, d = np.indices((tile.depth, tile.channels))
    (element,), exists = tile.map.evaluate([k, d])
    inside = k % tile.line < tile.width
    assert np.broadcast_to(exists, k.shape).all() and np.unique(element[inside]).size == inside.sum()
    byte = element * 2
    assert (byte[::8] % 16 == 0).all() or tile.width % 8, (
        "eight pixels are a piece, where lines are whole pieces"
    )
    assert (byte[::4] % 8 == 0).all() and (byte[3::4] - byte[::4] == 6).all()
    assert byte.min() >= 0 and byte.max() < tile.stored.bytes


@pytest.mark.parametrize("tile", TILES.values(), ids=TILES)
def test_lines_follow_one_another_in_a_group(tile: PlaneStage) -> None:
    """As in a plane: the rows of a group are a stretch of it."""
    line = np.arange(tile.rows)
    (of_line,), _ = tile.map.evaluate([line * tile.line, 0])
    (whole,), _ = tile.stored.map.evaluate([np.arange(tile.stored.k), 0])
    place = np.array([int(np.flatnonzero(whole == x)[0]) for x in of_line])
    assert (place % (tile.group_rows * tile.stored.row) == line % tile.abreast * tile.width).all()


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items())


def layer(height: int, width: int, n: int = 3) -> Convolution:
    return Convolution(
        dims(k=64, y=3, x=3, c=64),
        dims(n=n, c=64, hi=height, wi=width), dims(n=n, k=64, ho=height, wo=width),
        (1, 1), (1, 1), ((1, 1), (1, 1)),
    )  # fmt: skip


def asked(conv: Convolution, of: PlaneStage, shares: int = 1) -> Planes:
    view = WeightRaster(conv, of.rows, of.line, 64, shares, of.streams).view
    return Planes(view.b, of, "b")


class Half:
    bytes = 2


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize(("width", "rows"), [(56, 2), (28, 4), (12, 4), (64, 1)])
def test_boxes_are_rows_of_groups(width: int, rows: int, streams: int) -> None:
    of = stage(width, rows, streams)
    form = plane_access(asked(layer(8, width, n=4), of), Half())
    assert isinstance(form, Box), form
    assert form.sizes[0] == of.abreast * width and form.strides[0] == width * 8
    assert len(form.pieces) == rows // of.abreast * of.group_rows
    assert [p.byte_offset for p in form.pieces] == [i * 64 * 128 for i in range(len(form.pieces))]


def test_what_would_read_another_pixel_is_refused() -> None:
    of = stage(56, 2, 2)
    told = {
        "columns are not 3 x 3 taps": replace(asked(layer(8, 56), of), stage=replace(of, channels=32)),
        "at the tap": replace(asked(layer(8, 56), of), stage=replace(of, streams=1)),
        "planes are not groups of 2 lines of 56 pixels": replace(asked(layer(8, 48), stage(48, 2)), stage=of),
    }
    for reason, question in told.items():
        found = plane_access(question, Half())
        assert isinstance(found, Refused) and reason in found.reason, found


def test_channels_that_come_last_are_no_planes() -> None:
    conv = layer(8, 56)
    last = replace(conv, input=dims(n=3, hi=8, wi=56, c=64))
    assert is_channels_last(last.input, "c")
    found = plane_access(asked(last, stage(56, 2)), Half())
    assert isinstance(found, Refused) and "not along gemmK" in found.reason


@pytest.mark.parametrize(("streams", "shares"), [(1, 2), (2, 1), (2, 2), (3, 1)])
def test_shares_have_whole_images_in_turn(streams: int, shares: int) -> None:
    """Steps of one share: strips of as many images in turn, each of which is met once by all shares."""
    raster = WeightRaster(layer(4, 8, n=5), 2, 16, 64, shares, streams)
    view: Map = raster.view.a
    k = np.arange(dict(view.upper)["gemmK"])
    met = list[tuple[int, int]]()
    for share in range(shares):
        coords, exists = view.evaluate([share, k, 0])
        n, _, ho, _ = (np.broadcast_to(x, k.shape) for x in coords)
        steps = (n * 2 + ho // 2).reshape(raster.steps, -1)
        assert (steps == steps[:, :1]).all() and raster.steps % (2 * streams) == 0
        image, strip = steps[:, 0] // 2, steps[:, 0] % 2
        assert (strip == np.arange(raster.steps) // streams % 2).all()
        assert (image[streams:][strip[streams:] == 1] == image[:-streams][strip[streams:] == 1]).all()
        met += [(int(a), int(b)) for a, b in zip(n[exists], (ho * 8)[exists], strict=True)]
    assert len(set(met)) == 5 * 4 and len(met) == 5 * 4 * 8
