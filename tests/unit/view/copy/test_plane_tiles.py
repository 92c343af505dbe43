"""What goes through shared memory arrives where a transpose would put it; lanes meet in no bank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.view.neighbours import bank_conflicts

from imbrex.index.map import Dim, Map
from imbrex.index.query import vector_width
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.copy.channels_last import ChannelsLast
from imbrex.view.copy.plane_tiles import PlaneTiles, plane_tiles
from imbrex.view.copy.sampled import sampled

from ..points import offsets
from .test_channels_last import dims

ARRAYS = {
    "images of 7 x 7": ("n3 c64 hi7 wi7", 2),
    "the same of f32": ("n3 c64 hi7 wi7", 4),
    "the same of bytes": ("n3 c32 hi7 wi7", 1),
    "images of 14 x 14": ("n2 c64 hi14 wi14", 2),
    "filters": ("k5 c64 y3 x3", 2),
    "few channels": ("k5 c24 y3 x3", 2),
    "groups": ("n2 g3 c16 hi5 wi5", 2),
    "no image is whole": ("n1 c8 hi3 wi3", 2),
    "large planes": ("n2 c32 hi13 wi13", 2),
}
SPARE = 1 << 20


def found(name: str) -> PlaneTiles:
    text, size = ARRAYS[name]
    tiles = plane_tiles(ChannelsLast(dims(text), "c"), size, workitems=64)
    assert tiles is not None
    return tiles


def copied(tiles: PlaneTiles) -> np.ndarray:
    """What the launch leaves in the packed array, of an array that holds its own offsets; -1 for nothing."""
    read, put, taken, written = map(offsets, (tiles.read, tiles.tile.put, tiles.tile.taken, tiles.written))
    packed = np.full(np.prod([d.size for d in tiles.of.packed]), -1)
    for own, dest in zip(read, written, strict=True):
        shared = np.full(np.prod([d.size for d in tiles.tile.shared]), -SPARE)
        shared[put] = own
        stored = dest >= 0
        assert np.all(packed[dest[stored]] == -1), "an element is stored twice"
        packed[dest[stored]] = shared[taken][stored]
    return packed


@pytest.mark.parametrize("workitems", [64, 256])
@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_launch_transposes(name: str, count: int, workitems: int) -> None:
    tiles = found(name)
    tiles = replace(tiles, tile=replace(tiles.tile, tiles=count, workitems=workitems))
    assert np.array_equal(copied(tiles), offsets(tiles.of.placed).reshape(-1))


@pytest.mark.parametrize("workitems", [64, 256])
@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_launch_turns_back(name: str, count: int, workitems: int) -> None:
    tiles = found(name)
    tiles = replace(tiles, tile=replace(tiles.tile, tiles=count, workitems=workitems))
    read, put, taken, written = map(
        offsets, (tiles.written, tiles.tile.given, tiles.tile.taken_back, tiles.read)
    )
    assert len(np.unique(put)) == put.size, "two work items put at one place"
    array = np.full(np.prod([d.size for d in tiles.of.array]), -1)
    for own, dest in zip(read, written, strict=True):
        shared = np.full(np.prod([d.size for d in tiles.tile.shared_back]), -SPARE)
        shared[put] = own
        stored = dest >= 0
        assert np.all(array[dest[stored]] == -1), "an element is stored twice"
        array[dest[stored]] = shared[taken][stored]
    placed = offsets(tiles.of.placed).reshape(-1)
    assert np.array_equal(array[placed], np.arange(len(placed)))


@pytest.mark.parametrize("name", ARRAYS)
def test_no_two_work_items_put_at_one_place(name: str) -> None:
    put = offsets(found(name).tile.put).reshape(-1)
    assert np.all(put >= 0) and len(np.unique(put)) == len(put)


@pytest.mark.parametrize("name", ARRAYS)
def test_all_but_what_is_turned_is_16_bytes_wide(name: str) -> None:
    tiles = found(name)
    assert {vector_width(m, "slot") for m in (tiles.read, tiles.tile.put, tiles.written)} == {
        tiles.tile.slots
    }


def conflicts(map: Map, element_bytes: int, lanes: int = 32) -> int:
    """Extra cycles of the first warp's reads of one element each, over all slots."""
    at = offsets(map)[:lanes, 0] * element_bytes
    return sum(bank_conflicts(list(row), element_bytes, lanes_per_phase=lanes) for row in at.T)


@pytest.mark.parametrize("name", ["images of 7 x 7", "the same of f32", "images of 14 x 14", "filters"])
def test_lanes_that_read_turned_meet_in_no_bank(name: str) -> None:
    tiles = found(name)
    assert conflicts(tiles.tile.taken, ARRAYS[name][1]) == 0


def test_control_rows_of_an_even_length_do_meet() -> None:
    tiles = found("images of 14 x 14")
    plain = [lane % 8 * 196 * 16 + lane // 8 * 2 for lane in range(32)]
    assert bank_conflicts(plain, 2, lanes_per_phase=32) > 0
    assert tiles.tile.shared[1].size == 197 * 8


def test_lanes_store_whole_lines() -> None:
    tiles = found("images of 7 x 7")
    stored = offsets(tiles.written)[0, :32, 0].reshape(4, 64)
    assert np.array_equal(stored, stored[:, :1] + np.arange(64))


@pytest.mark.parametrize("size", [14, 28])
def test_windows_that_leave_out_rows_are_taken_from_whole_planes(size: int) -> None:
    half = size // 2
    strided = Convolution(
        dims("k8 c16 y1 x1"),
        dims(f"n2 c16 hi{size} wi{size}"),
        dims(f"n2 k8 ho{half} wo{half}"),
        (2, 2),
        (1, 1),
        ((0, 0), (0, 0)),
    )
    small = sampled(strided)
    assert small is not None
    tiles = plane_tiles(ChannelsLast(small.conv.input, "c"), 2, within=small.within)
    assert tiles is not None
    whole = np.arange(2 * 16 * size * size).reshape(2, 16, size, size)
    wanted = whole[:, :, ::2, ::2].transpose(0, 2, 3, 1)
    assert np.array_equal(copied(tiles), wanted.reshape(-1))


NARROW = {
    "boxes are wide": ("n2 c64 hi8 wi8", 2),
    "channels are no whole pieces": ("n2 c12 hi7 wi7", 2),
    "channels are last": ("n2 hi7 wi7 c64", 2),
    "groups are between": ("n2 c8 g3 hi7 wi7", 2),
    "planes have no room": ("n2 c64 hi55 wi55", 2),
    "an element is 16 bytes": ("n2 c64 hi7 wi7", 16),
}


@pytest.mark.parametrize("why", NARROW)
def test_others_stay_in_registers(why: str) -> None:
    text, size = NARROW[why]
    assert plane_tiles(ChannelsLast(dims(text), "c"), size) is None


def test_a_row_is_cut_no_shorter_than_a_sector() -> None:
    of = ChannelsLast((Dim("n", 2), Dim("c", 64), Dim("hi", 27), Dim("wi", 27)), "c")
    tiles = plane_tiles(of, 2)
    assert tiles is not None and tiles.tile.rows == 2
