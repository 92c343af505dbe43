"""Tensor maps of an operand whose outermost size is told when a kernel runs, at every count."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.dtype import F16
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import PassThrough, Prefix
from imbrex.view.stage.shared_tile import SharedTile
from imbrex.view.tensor import Box, Refused, access, store_access
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
