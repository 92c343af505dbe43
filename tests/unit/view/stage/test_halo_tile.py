"""HaloTile: a raster that TMA fills once, and every tap as wgmma reads it, from any row of an atom."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from imbrex.view.stage.halo_tile import HaloTile

from ..memory import Array, read, written

ELEMENTS = {1: np.uint8, 2: np.uint16}
INSTRUCTION_K = {1: 32, 2: 16}
NINE = ((3, 16), (3, 1))
TILES = [
    HaloTile(128, 160, NINE, 0, 64, 2, 128),
    HaloTile(128, 160, NINE, 0, 32, 2, 64),
    HaloTile(128, 160, NINE, 0, 16, 2, 32),
    HaloTile(64, 96, ((3, -16), (3, -1)), 34, 32, 2, 64),
    HaloTile(64, 80, ((3, 8), (3, 1)), 0, 128, 2, 128),
    HaloTile(448, 576, ((3, 64), (3, 1)), 0, 32, 2, 64),
    HaloTile(128, 200, ((2, 40), (5, 3)), 0, 32, 1, 32),
    HaloTile(64, 128, ((3, 8),), 0, 128, 1, 128),
    HaloTile(64, 64, (), 0, 32, 2, 64),
]


def stored(tile: HaloTile) -> tuple[Array, Array]:
    """Pixels (raster row, channel) of random elements, and shared memory with those that a box brings."""
    rng = np.random.default_rng(0)
    kind = ELEMENTS[tile.element_bytes]
    pixels = rng.integers(0, np.iinfo(kind).max, (tile.raster, tile.channels), kind)
    memory = np.zeros(tile.bytes, np.uint8)
    for block in tile.blocks:
        assert (block.d, block.d0, block.k) == (tile.loaded, 0, tile.row)
        part = pixels[:, block.k0 : block.k0 + block.k]
        written(memory, block.byte_offset, part, tile.swizzle)
    return pixels, memory


def rows_of(tile: HaloTile, tap: tuple[int, ...]) -> Array:
    """The raster row of each of the tile's pixels at a tap, by hand."""
    return tile.first + np.arange(tile.d) + sum(t * s for t, (_, s) in zip(tap, tile.taps, strict=True))


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_every_tap_is_a_view_of_the_raster(tile: HaloTile) -> None:
    pixels, memory = stored(tile)
    (element,), _ = tile.map.evaluate(np.indices((tile.k, tile.d)))
    found = memory.view(pixels.dtype)[element]
    taps = list(product(*(range(count) for count, _ in tile.taps)))
    assert tile.k == len(taps) * tile.channels
    for number, tap in enumerate(taps):
        want = pixels[rows_of(tile, tap)].T
        assert np.array_equal(found[number * tile.channels : (number + 1) * tile.channels], want), tap


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_an_instruction_reads_a_tap_from_any_row(tile: HaloTile) -> None:
    pixels, memory = stored(tile)
    step = INSTRUCTION_K[tile.element_bytes]
    (element,), _ = tile.map.evaluate(np.indices((tile.k, tile.d)))
    whole = memory.view(pixels.dtype)[element]
    begun: set[int] = set()
    for k0, d0 in product(range(0, tile.k, step), range(0, tile.d, 64)):
        begun.add(tile.start(k0, d0) // tile.row_bytes % 8)
        found = read(memory, tile.start(k0, d0), tile.descriptor, "k", (step, 64), pixels.dtype)
        assert np.array_equal(found, whole[k0 : k0 + step, d0 : d0 + 64]), (k0, d0)
    assert len(begun) > 1 or not any(s % 8 for _, s in tile.taps), "windows begin inside of atoms, too"


def test_what_is_no_tile() -> None:
    with pytest.raises(AssertionError, match="whole instructions"):
        HaloTile(96, 120, NINE, 0, 32, 2, 64)
    with pytest.raises(AssertionError, match="whole rows of 32"):
        HaloTile(64, 96, NINE, 0, 48, 2, 64)
