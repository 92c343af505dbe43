"""A packed array is NumPy's transpose, with zeros where channels were added; each element is moved once."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.index.map import Dim
from imbrex.index.query import vector_width
from imbrex.view.copy.boxes import Boxes
from imbrex.view.copy.channels_last import ChannelsLast, is_channels_last

from ..points import offsets

ARRAYS = {
    "nchw": ("n2 c10 hi3 wi5", "c"),
    "nothing before": ("k17 c3 y2 x2", "k"),
    "groups": ("n2 g3 c8 hi4 wi4", "c"),
    "groups after the channel": ("n2 c8 g3 hi4 wi4", "c"),
    "fastest already": ("n2 hi3 wi3 c11", "c"),
    "one position": ("n3 c9 hi1 wi1", "c"),
    "one element": ("n1 c1 hi1 wi1", "c"),
    "many channels": ("k2 c70 y3 x3", "c"),
}


def dims(text: str) -> tuple[Dim, ...]:
    """`n2 c10` as dims."""
    names = [(word.rstrip("0123456789"), word) for word in text.split()]
    return tuple(Dim(name, int(word.removeprefix(name))) for name, word in names)


def found(name: str, multiple: int = 8) -> ChannelsLast:
    text, channel = ARRAYS[name]
    return ChannelsLast(dims(text), channel, multiple)


def transposed(of: ChannelsLast) -> np.ndarray:
    """What should lie at each place of the packed array: an offset in the array, -1 for zeros."""
    sizes = [d.size for d in of.array]
    place = [d.name for d in of.array].index(of.channel)
    moved = np.moveaxis(np.arange(np.prod(sizes)).reshape(sizes), place, -1)
    names = [d.name for d in of.array if d.name != of.channel]
    if "g" in names and not is_channels_last(of.array, of.channel):
        moved = np.moveaxis(moved, names.index("g"), 0)
    added = of.packed[-1].size - sizes[place]
    return np.pad(moved, [(0, 0)] * (moved.ndim - 1) + [(0, added)], constant_values=-1)


@pytest.mark.parametrize("multiple", [1, 8, 16])
@pytest.mark.parametrize("name", ARRAYS)
def test_the_packed_array_is_the_transpose(name: str, multiple: int) -> None:
    of = found(name, multiple)
    assert np.array_equal(offsets(of.placed), transposed(of))
    assert of.packed[-1].size % multiple == 0


@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ARRAYS)
def test_work_items_move_every_element_once(name: str, element_bytes: int) -> None:
    of = found(name, 1)
    items = of.items(element_bytes, workitems=64)
    moved = offsets(items.map).reshape(-1)
    assert np.array_equal(np.sort(moved[moved >= 0]), np.arange(np.prod([d.size for d in of.packed])))
    assert [d.size for d in items.map.upper] == [items.workgroups, 64, items.other, items.slots]


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
def test_both_sides_are_16_bytes_wide(element_bytes: int) -> None:
    pack = 16 // element_bytes
    of = ChannelsLast(dims("n2 c64 hi16 wi17"), "c", pack)
    items = of.items(element_bytes)
    assert (items.other, items.slots) == (pack, pack)
    assert vector_width(items.map, "slot") == pack
    assert vector_width(items.map.then(of.placed), "other") == pack


def test_control_positions_that_hold_no_whole_pack_are_read_one_by_one() -> None:
    of = ChannelsLast(dims("n2 c64 hi7 wi7"), "c", 8)
    items = of.items(2)
    assert items.other == 1 and vector_width(items.map, "slot") == 8
    assert vector_width(items.map.then(of.placed), "slot") == 1


def test_a_wave_reads_and_writes_rows_of_128_bytes() -> None:
    of = ChannelsLast(dims("n1 c64 hi16 wi16"), "c", 8)
    items = of.items(2)
    wave = offsets(items.map)[0, :64].reshape(8, 8, 8, 8)  # inner lane, channel lane, other, slot
    for row in np.moveaxis(wave, 2, 1).reshape(64, 64):
        assert np.array_equal(row, row[0] + np.arange(64))
    read = offsets(items.map.then(of.placed))[0, :64].reshape(8, 8, 8, 8)
    for row in read.transpose(1, 3, 0, 2).reshape(64, 64):
        assert np.array_equal(row, row[0] + np.arange(64))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("multiple", [1, 8, 16, 64])
def test_spread_pixels_begin_whole_steps_apart(name: str, multiple: int) -> None:
    of = found(name)
    copy = Boxes(of.placed, of.items(2), below=of.spread(multiple))
    *pixels, channels = (d.size for d in of.packed)
    apart = -(-channels // multiple) * multiple
    assert [d.size for d in copy.written.lower] == [*pixels, apart]
    places = np.arange(np.prod(pixels))[:, None] * apart + np.arange(channels)
    moved = offsets(copy.written)
    assert np.array_equal(np.sort(moved[moved >= 0]), places.ravel()), "once, and nothing between"
    assert bool(of.spread(multiple)) == (apart != channels)


def test_dims_of_one_element_do_not_count() -> None:
    assert is_channels_last(dims("k4 c8 y1 x1"), "c")
    assert not is_channels_last(dims("k4 c8 y1 x2"), "c")
