"""HaloTile: taps as columns that wgmma reads out of one raster, from any row of an atom."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from imbrex.view.stage.halo_tile import PIXELS, HaloTile
from imbrex.view.stage.shared_tile import Swizzle

from ..memory import Array, read, written

Taps = tuple[tuple[int, int], ...]


def windows(taps: Taps, pixels: int = 48, loaded: int = 80, row: Swizzle = 128, first: int = 0) -> HaloTile:
    return HaloTile(pixels, loaded, taps, first, row // 2, 2, row, PIXELS)


TILES = [
    replace(windows(((3, 16), (3, 1))), columns=192),
    replace(windows(((3, 15), (3, 1)), pixels=240, loaded=270), columns=192),
    replace(windows(((3, 8), (3, 1)), pixels=64), columns=192),
    replace(windows(((3, 18), (3, 2)), row=64), columns=96),
    replace(windows(((2, 17), (2, 1)), row=32), columns=32),
    replace(windows(((3, 1),)), columns=192),
    replace(windows(((3, 11),)), columns=64),
]


def raster(tile: HaloTile) -> tuple[Array, Array]:
    """Pixels (raster row, channel), and shared memory with all of them."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 1 << 16, (tile.raster, tile.channels), np.uint16)
    memory = np.zeros(tile.bytes, np.uint8)
    written(memory, 0, pixels, tile.swizzle)
    return pixels, memory


def wanted(tile: HaloTile, pixels: Array) -> Array:
    """The tile (k, d), by hand."""
    shifts = np.zeros(1, int)
    for count, step in tile.taps:
        shifts = (shifts[:, None] + np.arange(count) * step).reshape(-1)
    rows = tile.first + np.arange(tile.k)
    return np.concatenate([pixels[rows + shift] for shift in shifts], axis=1)


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_every_tap_is_a_view_of_the_raster(tile: HaloTile) -> None:
    pixels, memory = raster(tile)
    (element,), _ = tile.map.evaluate(np.indices((tile.k, tile.d)))
    assert np.array_equal(memory.view(np.uint16)[element], wanted(tile, pixels))


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_an_instruction_reads_its_taps(tile: HaloTile) -> None:
    pixels, memory = raster(tile)
    want = wanted(tile, pixels)
    for k in range(0, tile.k, PIXELS):
        for d in range(0, tile.d, tile.columns):
            found = read(
                memory, tile.start(k, d), tile.descriptor, tile.major, (PIXELS, tile.columns), np.uint16
            )
            assert np.array_equal(found, want[k : k + PIXELS, d : d + tile.columns]), (k, d)


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_consumers_begin_evenly_apart(tile: HaloTile) -> None:
    starts = [tile.start(0, d) for d in range(0, tile.d, tile.columns)]
    assert len(set(np.diff(starts).tolist())) <= 1


def test_the_tail_is_what_no_box_brings() -> None:
    tile = replace(windows(((3, 30), (3, 1)), pixels=240, loaded=300), columns=192)
    assert tile.tail_bytes == (304 - 300) * 128
    assert tile.bytes - tile.tail_bytes == 300 * 128
    assert replace(windows(((3, 1),)), columns=192).tail_bytes == 0


REASONS = {
    "single taps of a window": (windows(((3, 16), (3, 1))), 64, "the taps of 64 columns are not evenly"),
    "taps are two rows of three": (windows(((2, 16), (3, 1))), 128, "the taps of 128 columns are not evenly"),
    "columns cut a tap": (windows(((3, 16), (3, 1))), 96, "not instructions of 96 with whole taps of 64"),
    "too many channels": (
        HaloTile(48, 80, ((3, 1),), 0, 128, 2, 128, PIXELS),
        128,
        "128 channels of a pixel are not one row of 64",
    ),
    "a byte": (HaloTile(64, 96, ((3, 1),), 0, 128, 1, 128), 128, "16-bit types only"),
}


@pytest.mark.parametrize(("of", "columns", "reason"), REASONS.values(), ids=REASONS)
def test_what_no_descriptor_says(of: HaloTile, columns: int, reason: str) -> None:
    assert re.search(reason, of.uneven(columns) or "")
    with pytest.raises(AssertionError, match=reason):
        replace(of, columns=columns)
