"""Prefix: the first coordinates exist, as many as a kernel is told; one guard, whatever lies above it."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.index.expr import lin, param, var
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.query import linear, moves_as_vector, vector_width
from imbrex.index.rule import COUNT, Guard, Merge, Pad, PassThrough, Prefix, Unmerge, flaw, inverse

MOST, PIXELS = 6, 7


def images() -> Map:
    """Tiles of 4 over the pixels of images, of which a prefix exists."""
    dims = (Dim("n", MOST), Dim("p", PIXELS))
    prefix = layer_over(dims, (Prefix(1), "n", "n"), (PassThrough(), "p", "p"))
    merged = layer_over(dims, (Merge(), "pixel", "n p"))
    more = -MOST * PIXELS % 4
    padded = layer_over(merged.upper, (Pad(0, more), "pixel", "pixel"))
    tiled = layer_over(padded.upper, (Unmerge(), "tile lane", "pixel"), tile=11, lane=4)
    return Map((tiled, padded, merged, prefix))


def test_what_exists_at_every_point_and_count() -> None:
    map = images()
    tile, lane = np.indices((11, 4))
    for count in range(1, MOST + 1):
        coords, valid = map.evaluate([tile, lane], count)
        pixel = tile * 4 + lane
        assert (valid == (pixel < count * PIXELS)).all(), count
        assert (coords[0][valid] * PIXELS + coords[1][valid] == pixel[valid]).all()


def test_without_a_count_it_is_the_greatest() -> None:
    map = images()
    points = np.indices((11, 4))
    given, usual = map.evaluate(list(points), MOST), map.evaluate(list(points))
    assert (given[1] == usual[1]).all()
    assert not (map.evaluate(list(points), MOST - 1)[1] == usual[1]).all()


def test_pads_and_prefixes_leave_one_guard() -> None:
    offset, guards = linear(images())
    assert str(offset) == "4*tile + lane"
    assert guards == (Guard(offset, param(COUNT, 1, MOST) * PIXELS),)


def test_a_guard_splits_vectors_unless_the_count_cannot() -> None:
    dims = (Dim("n", 8), Dim("p", 4))
    layer = layer_over(dims, (Prefix(1), "n", "n"), (PassThrough(), "p", "p"))
    map = Map((layer_over(dims, (Merge(), "x", "n p")), layer))
    assert vector_width(map, "x") == 4, "whole rows exist or do not"
    lane = var("lane", 4)
    rows = Guard(lane + var("t", 2) * 4, param(COUNT, 1, 8))
    assert not moves_as_vector(rows.index, [rows], lane, 4)
    least = Guard(lane + var("t", 2) * 4, param(COUNT, 8, 9))
    assert moves_as_vector(least.index, [least], lane, 4)


def test_a_prefix_of_all_that_a_point_reaches_needs_no_guard() -> None:
    layer = layer_over((Dim("n", 9),), (Prefix(5), "n", "n"))
    assert not layer.at([var("n", 5)]).guards
    assert layer.at([var("n", 6)]).guards


def test_its_sizes_and_its_way_back() -> None:
    assert flaw(Prefix(3), (8,), (8,)) is None
    assert flaw(Prefix(3), (8,), (9,)) is not None
    for least in (0, 9):
        assert flaw(Prefix(least), (8,), (8,)) == f"needs at least one coordinate and at most 8, got {least}"
    assert inverse(Prefix(3), (8,), (8,)) is None, "what does not exist has no way back"


@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_guard_of_a_multiple_evaluates(count: int) -> None:
    (guard,) = images().symbolic.guards
    assert lin(guard.size).eval({COUNT: count}) == count * PIXELS
