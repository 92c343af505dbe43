"""What a workgroup's work items have is added up, each value once; shares of all workgroups, too."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.index.map import Map
from imbrex.view.work.fold import LANES, MOST_VALUES, Level, Total, levels

from ..points import Ints, offsets


def folded(given: Ints, lanes: int, workitems: int) -> Ints:
    """given: by work item and place.  What the last level has, by work item and turn."""
    count, places = workitems // lanes, given.shape[1]
    steps = list(levels(count, places * lanes, workitems))
    memory = np.full(steps[0].elements, -1, np.int64)
    memory[offsets(Map(steps[0].first(lanes, places)))] = given
    total = given
    for level, after in zip(steps, [*steps[1:], None], strict=True):
        total = memory[offsets(Map(level.read()))].sum(axis=2)
        if after is not None:
            memory = np.full(after.elements, -1, np.int64)
            memory[offsets(Map(after.written(level.turns)))] = total
    return total


@pytest.mark.parametrize(
    ("lanes", "places", "workitems"),
    [(32, 18, 256), (1, 9, 256), (1, 49, 256), (4, 3, 64), (2, 1, 256), (8, 5, 8)],
)
def test_each_value_is_added_once(lanes: int, places: int, workitems: int) -> None:
    given = np.random.default_rng(places).integers(0, 1000, (workitems, places))
    total = folded(given, lanes, workitems)
    cells = np.arange(places * lanes)
    wanted = given.reshape(workitems // lanes, lanes, places).sum(axis=0).T.ravel()
    assert np.array_equal(total[cells % workitems, cells // workitems], wanted)


def test_no_work_item_adds_more_than_it_must() -> None:
    steps = list(levels(256, 9, 256))
    assert [(s.values, s.parts) for s in steps] == [(16, 16), (16, 1)]
    assert all(s.values <= MOST_VALUES for s in steps)


@pytest.mark.parametrize(("shares", "cells"), [(1, 40), (7, 64), (33, 100), (8, 5)])
def test_shares_are_added_once_and_stored_once(shares: int, cells: int) -> None:
    total = Total(shares, cells, 128)
    read = offsets(Map(total.read()))
    assert read.shape[:2] == (total.workgroups, total.workitems)
    assert np.array_equal(np.sort(read[read >= 0]), np.arange(shares * cells))
    stored = offsets(Map(total.stored()))
    assert np.array_equal(np.sort(stored[stored >= 0]), np.arange(cells))
    parts = read.reshape(total.workgroups, total.level.count, LANES, total.values)
    columns = np.where(parts >= 0, parts % cells, -1).max(axis=(1, 3))
    assert np.array_equal(columns, stored[:, :LANES, 0])


def test_a_level_that_is_not_the_last_stores_nothing() -> None:
    with pytest.raises(AssertionError):
        Level(256, 16, 9, 256).stored(())
