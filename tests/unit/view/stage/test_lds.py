"""LDS layouts: one to one, packs stay whole, rows in turn, and what direct copies fill."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from imbrex.index import query
from imbrex.index.map import Dim, Map
from imbrex.view.mma import instruction, wave
from imbrex.view.mma.wave import WaveTiles
from imbrex.view.stage import lds
from imbrex.view.stage.lds import LdsLayout

DIMS = (Dim("k", 32), Dim("m", 64))
LAYOUTS = [
    LdsLayout("plain", 8),
    LdsLayout("xor", 8, (1, 1)),
    LdsLayout("xor", 8, (1, 2, 16)),
    LdsLayout("xor", 8, (2, 1, 8)),
    LdsLayout("padded", 8, (8,)),
    LdsLayout("tiled", 8, (32,)),
]
TILES = WaveTiles.of(instruction("mfma_f32_32x32x8_f16"), (64, 64), (64, 32), 8, 2)
assert TILES is not None
TURNED = wave.interleaved(DIMS, TILES, "m")


def offsets(map: Map) -> Any:
    coords, valid = map.evaluate(list(np.indices([d.size for d in map.upper])))
    assert np.all(valid)
    flat: Any = 0
    for coord, dim in zip(coords, map.lower, strict=True):
        flat = flat * dim.size + coord
    return np.broadcast_to(flat, [d.size for d in map.upper])


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("turned", [(), TURNED], ids=["plain", "turned"])
def test_one_to_one(layout: LdsLayout, turned: tuple[Any, ...]) -> None:
    stored = lds.stored(DIMS, layout, turned)
    found = offsets(stored)
    assert np.unique(found).size == 32 * 64 and query.is_injective(stored)
    assert prod(d.size for d in stored.lower) == layout.elements(32, 64) > found.max()
    assert query.vector_width(stored, "k", 8) == 8, "a pack lies together"


@pytest.mark.parametrize("numbers", [(), (4, 2, 1), (1, 4, 1, 2), (2, 2, 8), (1, 1)], ids=str)
def test_rows_of_k_are_one_to_one_and_keep_packs(numbers: tuple[int, ...]) -> None:
    """Neighbours along m together, which direct copies fill in order."""
    stored = lds.stored(DIMS, LdsLayout("xor" if numbers else "plain", 8, numbers, "d"))
    found = offsets(stored)
    assert np.array_equal(np.sort(found.reshape(-1)), np.arange(32 * 64))
    assert np.array_equal(found // 64, np.arange(32)[:, None] + np.zeros_like(found)), (
        "a row of k is 64 places"
    )
    assert query.vector_width(stored, "m", 8) == 8, "a pack lies together"
    wanted = Map(lds.linear(stored.lower, 64, 8)).then(stored.inverse())
    assert query.vector_width(wanted.then(Map(_rows_of_m())), "element") == 8


def _rows_of_m() -> tuple[Any, ...]:
    """A matrix whose rows lie along m."""
    from imbrex.index.map import layer_over
    from imbrex.index.rule import PassThrough

    return (layer_over((Dim("k", 32), Dim("m", 64)), *((PassThrough(), n, n) for n in "km")),)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_fragment_of_turned_rows_reads_as_one_of_plain_rows(layout: LdsLayout) -> None:
    """Rows in turn are stored in the order of the tiles, so that reading them costs what it costs without."""
    plain = Map(wave.fragment(DIMS, _straight(), "m")).then(lds.stored(DIMS, layout))
    assert TILES is not None
    turned = Map(wave.fragment(DIMS, TILES, "m")).then(lds.stored(DIMS, layout, TURNED))
    assert query.linear(turned) == query.linear(plain)
    unturned = Map(wave.fragment(DIMS, TILES, "m")).then(lds.stored(DIMS, layout))
    assert query.linear(unturned) != query.linear(plain)


def _straight() -> WaveTiles:
    found = WaveTiles.of(instruction("mfma_f32_32x32x8_f16"), (64, 64), (64, 32), 8)
    assert found is not None
    return found


def test_tiles_are_in_the_order_of_the_lanes() -> None:
    """With tiles of the instruction's rows, a wave's read is 64 packs next to one another."""
    tiles = _straight()
    read = Map(wave.fragment(DIMS, tiles, "m")).then(lds.stored(DIMS, LdsLayout("tiled", 8, (32,))))
    offset = query.linear(read)[0]
    per_lane = offset.subs({"workitem": query.var("workitem", 64)})
    assert query.pointer_step(per_lane, "workitem", 64).const == 8


@pytest.mark.parametrize("layout", [x for x in LAYOUTS if x.kind != "padded"], ids=str)
@pytest.mark.parametrize("vector", [2, 8])
def test_direct_copies_fill_lds_in_the_order_of_lanes(layout: LdsLayout, vector: int) -> None:
    stored = lds.stored(DIMS, layout, TURNED)
    places = Map(lds.linear(stored.lower, 128, vector))
    filled = offsets(places)
    assert np.array_equal(np.sort(filled.reshape(-1)), np.arange(32 * 64))
    lanes = filled.reshape(2, 64, -1, vector)
    assert np.all(np.diff(lanes, axis=1) == vector), "each lane writes right after the one before it"
    wanted = places.then(stored.inverse())
    (k, m), valid = wanted.evaluate(list(np.indices([d.size for d in wanted.upper])))
    assert np.all(valid) and np.array_equal(offsets(stored)[k, m], filled)
    assert query.vector_width(wanted.then(Map(_rows())), "element") == vector


def _rows() -> tuple[Any, ...]:
    """A matrix whose rows lie along k."""
    from imbrex.index.map import layer_over
    from imbrex.index.rule import PassThrough

    return (layer_over((Dim("m", 64), Dim("k", 32)), *((PassThrough(), n, n) for n in "km")),)


def test_padded_rows_cannot_be_filled_in_order() -> None:
    stored = lds.stored(DIMS, LdsLayout("padded", 8, (8,)))
    _, guards = query.linear(Map(lds.linear(stored.lower, 64, 8)).then(stored.inverse()))
    assert guards, "places of the pads belong to no element"
