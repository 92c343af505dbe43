"""Every second row and column arrives where a transpose would put it; rows that nobody wants are not read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from imbrex.index.query import vector_width
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.copy.plane_tiles import PlaneTiles, line_tiles
from imbrex.view.copy.sampled import sampled

from ..points import offsets
from .test_channels_last import dims
from .test_plane_tiles import copied

SIZES = {
    "28 x 28": (28, 28, 2, 2),
    "56 x 56": (56, 56, 2, 2),
    "by 2 x 3": (8, 24, 2, 3),
    "rows alone": (8, 8, 2, 1),
    "rows begin anywhere": (14, 14, 2, 2),
}
SERVED = [name for name in SIZES if name != "rows begin anywhere"]


def found(name: str, channels: int = 32, element_bytes: int = 2) -> PlaneTiles | None:
    height, width, down, across = SIZES[name]
    pads = ((0, 0), (0, 0))
    ho, wo = height // down, width // across
    arrays = dims(f"n2 c{channels} hi{height} wi{width}"), dims(f"n2 k8 ho{ho} wo{wo}")
    small = sampled(Convolution(dims(f"k8 c{channels} y1 x1"), *arrays, (down, across), (1, 1), pads))
    assert small is not None and small.within is not None
    return line_tiles(ChannelsLast(small.conv.input, "c"), element_bytes, small.within, workitems=64)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", SERVED)
def test_a_launch_transposes(name: str, count: int) -> None:
    tiles, (height, width, down, across) = found(name), SIZES[name]
    assert tiles is not None
    whole = np.arange(2 * 32 * height * width).reshape(2, 32, height, width)
    wanted = whole[:, :, ::down, ::across].transpose(0, 2, 3, 1)
    tiles = replace(tiles, tile=replace(tiles.tile, tiles=count))
    assert np.array_equal(copied(tiles), wanted.reshape(-1))


@pytest.mark.parametrize("name", SERVED)
def test_pieces_are_16_bytes_and_of_rows_that_are_wanted(name: str) -> None:
    tiles, (height, width, down, across) = found(name), SIZES[name]
    assert tiles is not None
    assert {vector_width(m, "slot") for m in (tiles.read, tiles.tile.put, tiles.written)} == {8}
    read = offsets(tiles.read)
    used = -(-(across * (width // across - 1) + 1) // 8)
    assert (read >= 0).sum() == 2 * 32 * (height // down) * used * 8


def test_control_rows_that_begin_anywhere_are_read_whole() -> None:

    assert found("rows begin anywhere") is None
    assert found("28 x 28", channels=12) is None


WHOLE = {
    "8 x 8": ("n3 c64 hi8 wi8", 2),
    "28 x 28": ("n2 c64 hi28 wi28", 2),
    "of f32": ("n2 c32 hi6 wi6", 4),
    "of bytes": ("n1 c64 hi4 wi12", 1),
    "groups": ("n2 g3 c32 hi4 wi6", 2),
    "nothing before": ("k64 c5 y4 x4", 2),
}


@pytest.mark.parametrize("workitems", [64, 256])
@pytest.mark.parametrize("name", WHOLE)
def test_planes_of_whole_pieces_are_transposed(name: str, workitems: int) -> None:
    text, size = WHOLE[name]
    of = ChannelsLast(dims(text), "k" if text.startswith("k") else "c")
    tiles = line_tiles(of, size, workitems=workitems)
    assert tiles is not None
    assert np.array_equal(copied(tiles), offsets(of.placed).reshape(-1))
    assert {vector_width(m, "slot") for m in (tiles.read, tiles.tile.put, tiles.written)} == {16 // size}


def test_a_workgroup_has_enough_to_do() -> None:
    """Lines of a plane, or some tiles where its own are few."""
    large, small = (line_tiles(ChannelsLast(dims(t), "c"), 2) for t in ("n8 c64 hi28 wi28", "n8 c64 hi1 wi8"))
    assert large is not None and (large.tile.inside[0].size, large.tile.tiles) == (14, 1)
    assert small is not None and (small.tile.inside[0].size, small.tile.tiles) == (1, 8)


@pytest.mark.parametrize(
    "array", ["n2 c64 hi7 wi7", "n2 c24 hi8 wi8", "n2 c20 hi8 wi8", "n2 hi8 wi8 c64", "n2 c64 g2 hi8 wi8"]
)
def test_others_are_not_copied_so(array: str) -> None:
    assert line_tiles(ChannelsLast(dims(array), "c"), 2) is None
