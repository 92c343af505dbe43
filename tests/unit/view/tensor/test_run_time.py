"""Tensor maps of an operand whose outermost size is told when a kernel runs, at every count."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.dtype import F16
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Embed, Merge, Pad, PassThrough, Prefix
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Box, Refused, Walk, access, store_access
from imbrex.view.tensor.check import offsets
from imbrex.view.tensor.tiling import INNER, ROW


def rows(most: int, k: int, names: tuple[str, str] = ("gemmK", "gemmM")) -> Map:
    """A matrix of up to `most` rows of k, seen along k first."""
    dims = (Dim("m", most), Dim("k", k))
    first = layer_over(dims, (Prefix(1), "m", "m"), (PassThrough(), "k", "k"))
    turned = layer_over(
        first.upper, (PassThrough(), names[0], "k"), (PassThrough(), names[1], "m"), order=list(names)
    )
    return Map((turned, first))


def test_a_box_is_open_along_its_rows() -> None:
    tile = SharedTile(64, 64, 2, "k", 128)
    found = access(rows(300, 72), tile, F16, tiles=5)
    assert isinstance(found, Box) and found.open == 1
    assert found.sizes == (72, 300) and found.at(7).sizes == (72, 7) and found.at(7).open is None


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 150])
def test_a_store_reaches_the_rows_that_exist(count: int) -> None:
    map = rows(150, 64, ("gemmN", "gemmM"))
    found = store_access(map, 64, 64, F16)
    assert isinstance(found, Box) and found.open == 1
    (piece,) = found.pieces
    row, inner = np.arange(64)[:, None], np.arange(64)
    env = {"batch": 0, "row": 0, "column": 0, ROW: row, INNER: inner}
    got = offsets(found.at(count), piece, env)
    want = np.where(row < count, row * 64 + inner, -1)
    assert np.array_equal(got, want)


def test_a_map_that_is_told_no_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: one of the greatest size would store rows that are not there."""
    monkeypatch.setattr(Box, "at", lambda self, count: self)
    refused = store_access(rows(150, 64, ("gemmN", "gemmM")), 64, 64, F16)
    assert isinstance(refused, Refused) and "is not the operand's element" in refused.reason


def test_neighbours_of_a_run_time_size_are_no_box() -> None:
    assert isinstance(access(rows(300, 72), SharedTile(64, 64, 2, "d", 128), F16, tiles=5), Refused)


def images(most: int, window: int) -> Map:
    """Up to `most` images of 3 x 4 pixels of 16 channels as rows, read at each tap of a square window."""
    pad = window // 2
    whole = (Dim("n", most), Dim("hi", 3), Dim("wi", 4), Dim("c", 16))
    first = layer_over(whole, (Prefix(1), "n", "n"), *((PassThrough(), d.name, d.name) for d in whole[1:]))
    padded = layer_over(
        first.upper,
        (PassThrough(), "n", "n"),
        (Pad(pad, pad), "hp", "hi"),
        (Pad(pad, pad), "wp", "wi"),
        (PassThrough(), "c", "c"),
        order=["n", "hp", "wp", "c"],
    )
    taps = layer_over(
        padded.upper,
        (PassThrough(), "n", "n"),
        (Embed((1, 1), 0), "y ho", "hp"),
        (Embed((1, 1), 0), "x wo", "wp"),
        (PassThrough(), "c", "c"),
        order=["n", "y", "ho", "x", "wo", "c"],
        y=window,
        x=window,
        ho=3,
        wo=4,
    )
    product = layer_over(
        taps.upper, (Merge(), "gemmK", "y x c"), (Merge(), "gemmN", "n ho wo"), order=["gemmK", "gemmN"]
    )
    return Map((product, taps, padded, first))


@pytest.mark.parametrize(("window", "kind"), [(1, Box), (3, Walk)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_images_are_read_at_every_count(window: int, kind: type, count: int) -> None:
    map = images(5, window)
    found = access(map, SharedTile(16, 32, 2, "k", 32), F16, tiles=2)
    assert isinstance(found, kind) and isinstance(found, Box | Walk) and found.open is not None
    told = found.at(count)
    assert told.open is None and told.sizes[found.open] == count * found.each
    (piece,) = found.pieces
    row, inner, pixels = np.arange(32)[:, None], np.arange(16), 12
    for tile in range(2):
        for step in range(window * window):
            env = {"batch": 0, "tile": tile, "step": step, "part": 0, ROW: row, INNER: inner}
            at = np.minimum(tile * 32 + row, 5 * pixels - 1)
            (*place,), exists = map.evaluate([step * 16 + inner, at], count)
            offset = ((place[0] * 3 + place[1]) * 4 + place[2]) * 16 + place[3]
            want = np.where(exists & (tile * 32 + row < count * pixels), offset, -1)
            assert np.array_equal(offsets(told, piece, env), want)
